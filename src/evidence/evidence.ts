import { randomBytes } from 'node:crypto';
import type { DamageRegister } from '../base/observability/damage.ts';
import type { Logger } from '../base/observability/log.ts';
import { Lease } from '../storage/lease.ts';
import type { Storage } from '../storage/storage.ts';
import { seedOf, signerKey } from '../tlog/note.ts';
import { Builder } from './builder.ts';
import { CheckpointTable } from './checkpoint-table.ts';
import { EvidenceReader } from './evidence-reader.ts';
import { limits } from './limits.ts';
import { LogKey } from './log-key.ts';
import { TileTable } from './tile-table.ts';

export interface EvidenceOptions {
  readonly storage: Storage;
  /** UUID of this process among those that share the engine; undefined where it has one of its own. */
  readonly instance: string | undefined;
  /** Names the log of each organization, with its id. */
  readonly serviceName: string;
  readonly keys: { readonly current: string; readonly previous: string | undefined };
  readonly watermark: () => Promise<bigint>;
  /** Before which time (Unix microseconds) an organization's events have expired; undefined: none is. */
  readonly retentionCutOff: (organization: string) => number | undefined;
  /** Between turns of the builder. */
  readonly intervalMs: number;
  readonly damage: DamageRegister;
  readonly log: Logger;
}

/** A new private key. */
export function newEvidenceKey(serviceName: string): string {
  return signerKey(serviceName, randomBytes(32));
}

function seedIn(text: string): Buffer {
  const seed = seedOf(text);
  if (seed === undefined)
    throw new Error('the key that signs evidence is not of the form PRIVATE+KEY+name+id+key');
  return seed;
}

/** Begins to build the trees of evidence; `stop` signs for the last events. Throws where a key is none. */
export function openEvidence(options: EvidenceOptions): { reader: EvidenceReader; stop(): Promise<void> } {
  const { storage, keys, serviceName, instance, intervalMs, log } = options;
  const previousSeed = keys.previous === undefined ? undefined : seedIn(keys.previous);
  const key = new LogKey({ name: serviceName, seed: seedIn(keys.current), previousSeed });
  const tiles = new TileTable(storage);
  const shared = { ...options, tiles, checkpoints: new CheckpointTable(storage), key };
  // What two builders would add is the same; but one that stood still must not write what another has gone beyond.
  const lease =
    instance === undefined ? undefined : new Lease({ storage, name: 'trees', owner: instance, log });
  const builder = new Builder({ ...shared, ...limits, intervalMs, lease });
  const signsWithinMs = (organization: string): number | undefined =>
    builder.signs(organization) ? intervalMs : undefined;
  return {
    reader: new EvidenceReader({ ...shared, signsWithinMs }),
    stop: () => builder.stop(),
  };
}
