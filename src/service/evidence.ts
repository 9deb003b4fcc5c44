import { evidenceKeys } from '../config/secrets.ts';
import { newEvidenceKey, openEvidence } from '../evidence/evidence.ts';
import type { EvidenceReader } from '../evidence/evidence-reader.ts';
import type { IngestOrder } from '../ingest/ingest-order.ts';
import type { ServiceStorage } from '../storage/open-storage.ts';
import type { Base } from './base.ts';

/** The trees of evidence: built from what is stored, so after all that writes, and ended before it. */
export async function startEvidence(
  { config, log, damage, stops }: Base,
  stored: ServiceStorage,
  order: IngestOrder,
  retentionCutOff: (organization: string) => number | undefined,
): Promise<EvidenceReader> {
  const { serviceName, evidenceIntervalMs: intervalMs, evidenceDir: mirrorDirectory } = config;
  const { evidenceWitnesses: witnesses } = config;
  const { storage, instance } = stored;
  const keys = await evidenceKeys(config, log, () => newEvidenceKey(serviceName));
  const watermark = async () => (await order.watermarks()).ofAll;
  const own = { storage, instance, serviceName, keys, intervalMs, mirrorDirectory, witnesses };
  const evidence = openEvidence({ ...own, watermark, retentionCutOff, damage, log });
  stops.add(() => evidence.stop());
  return evidence.reader;
}
