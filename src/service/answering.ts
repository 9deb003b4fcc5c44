import { removeServerFile, writeServerFile } from '../base/files/server-file.ts';
import { systemClock as clock } from '../base/time/clock.ts';
import type { Directory } from '../control/directory.ts';
import type { IngestDirectory } from '../control/ingest-directory.ts';
import { KeyUses } from '../control/key-uses.ts';
import { PasswordLinks } from '../control/password-links.ts';
import { PasswordThrottle } from '../control/password-throttle.ts';
import { RetentionPreview } from '../control/retention-preview.ts';
import { SealedSecrets } from '../control/sealed-secret.ts';
import { Sessions } from '../control/sessions.ts';
import type { EvidenceReader } from '../evidence/evidence-reader.ts';
import { serve, type Serving } from '../http/serve.ts';
import { createReaders, type ReadersOptions } from '../read/readers.ts';
import { Ocsf110Pool } from '../read/ocsf110/pool.ts';
import { Attempts } from '../sign-on/attempt.ts';
import { Providers } from '../sign-on/providers.ts';
import { limits as storageLimits } from '../storage/limits.ts';
import type { ServiceStorage } from '../storage/open-storage.ts';
import type { openCounts } from './background.ts';
import type { Base } from './base.ts';
import type { Writing } from './writing.ts';

interface Answering {
  readonly envelope: ReadersOptions['envelope'];
  readonly stored: ServiceStorage;
  readonly directory: Directory;
  readonly organizations: IngestDirectory;
  readonly writing: Writing;
  readonly counts: Awaited<ReturnType<typeof openCounts>>;
  readonly evidence: EvidenceReader;
  readonly retentionCutOff: ReadersOptions['retentionCutOff'];
  /** Of sessions, and of names in Redis. */
  readonly secret: string;
  /** Ends requests that only wait. */
  readonly stopping: AbortSignal;
  readonly accessLogTo: number | string;
}

export async function startAnswering(
  { config, log, damage, stops }: Base,
  parts: Answering,
): Promise<Serving> {
  const { directory, organizations, evidence, retentionCutOff, secret, stopping, envelope } = parts;
  const { rateCounter, accounts, limitsShared } = parts.counts;
  const { storage, engineWrites } = parts.stored;
  const { ingest, order } = parts.writing;
  const passwords = new PasswordThrottle({ accounts });
  stopping.addEventListener('abort', () => passwords.stop());
  const keyUses = new KeyUses({ storage, clock, log });
  keyUses.start();
  stops.add(() => keyUses.stop());
  const pool = new Ocsf110Pool(config, log);
  stops.add(() => pool.close());
  const serving = await serve({
    config,
    log,
    clock,
    stops,
    accessLogTo: parts.accessLogTo,
    announce: (address) => writeServerFile(config.dataDir, address, log),
    ingest,
    read: createReaders({ storage, pool, envelope, clock, secret, order, retentionCutOff, stopping }),
    evidence,
    directory,
    organizationOf: (id) => organizations.organization(id),
    sessions: new Sessions({ secret, ttlMs: config.sessionTtlMs, clock, directory }),
    retention: new RetentionPreview({ storage, directory, clock, defaultDays: config.retentionDays }),
    keyUses,
    rateCounter,
    passwords,
    passwordLinks: new PasswordLinks({ secret, clock, directory }),
    providers: new Providers({ service: config.oidc, secrets: new SealedSecrets(secret) }),
    attempts: new Attempts(secret, clock),
    readiness: {
      engineReachable: () => storage.ping(storageLimits.readinessMsMax),
      engineTakesWrites: () => engineWrites.takesWrites(),
      logFailure: ingest.logFailure,
      controlDataTakesWrites: () => storage.takesControlWrites(storageLimits.readinessMsMax),
      limitsShared,
      damage: () => damage.list(),
    },
  });
  stops.add(() => removeServerFile(config.dataDir));
  return serving;
}
