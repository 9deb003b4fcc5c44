import { randomBytes } from 'node:crypto';
import type { DamageRegister } from '../base/observability/damage.ts';
import type { Logger } from '../base/observability/log.ts';
import { Lease } from '../storage/lease.ts';
import type { Storage } from '../storage/storage.ts';
import { parseSeed, signerKey } from '../tlog/note.ts';
import { Builder } from './builder.ts';
import { CheckpointTable } from './checkpoint-table.ts';
import { EvidenceReader } from './evidence-reader.ts';
import { limits } from './limits.ts';
import { LogKey } from './log-key.ts';
import { TileTable } from './tile-table.ts';

export interface EvidenceOptions {
  readonly storage: Storage;
  /** UUID of this process among those that share the engine; undefined without others. */
  readonly instance: string | undefined;
  readonly serviceName: string;
  readonly keys: { readonly current: string; readonly previous: string | undefined };
  readonly watermark: () => Promise<bigint>;
  readonly retentionCutOff: (organization: string) => number | undefined;
  readonly intervalMs: number;
  readonly damage: DamageRegister;
  readonly log: Logger;
}

export const newEvidenceKey = (serviceName: string): string => signerKey(serviceName, randomBytes(32));

function seedIn(text: string): Buffer {
  const seed = parseSeed(text);
  if (seed === undefined)
    throw new Error('The key that signs evidence must have the form PRIVATE+KEY+name+id+key');
  return seed;
}

/** `stop` signs for the last events. Throws if a key is malformed. */
export function openEvidence(options: EvidenceOptions): { reader: EvidenceReader; stop(): Promise<void> } {
  const { storage, keys, serviceName, instance, intervalMs, log } = options;
  const previousSeed = keys.previous === undefined ? undefined : seedIn(keys.previous);
  const key = new LogKey({ name: serviceName, seed: seedIn(keys.current), previousSeed });
  const shared = {
    ...options,
    tiles: new TileTable(storage),
    checkpoints: new CheckpointTable(storage),
    key,
  };
  // The node that is asked may lack what another server has added; the lease needs most of them.
  const [tiles, checkpoints] = [new TileTable(storage, 'every'), new CheckpointTable(storage, 'every')];
  // Two builders would add the same, but one that stood still must not overwrite newer tiles.
  const lease =
    instance === undefined ? undefined : new Lease({ storage, name: 'trees', owner: instance, log });
  const builder = new Builder({ ...shared, tiles, checkpoints, ...limits, intervalMs, lease });
  const signsWithinMs = (organization: string): number | undefined =>
    builder.signs(organization) ? intervalMs : undefined;
  return { reader: new EvidenceReader({ ...shared, signsWithinMs }), stop: () => builder.stop() };
}
