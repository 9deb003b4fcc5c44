import { everyReplicaOf, everywhere } from '../storage/cluster.ts';
import type { Storage } from '../storage/storage.ts';

export interface Progress {
  /** Events below this `seq` are in their trees, except for organizations in `stopped`. */
  readonly watermark: bigint;
  /** Stopped organizations, and the `seq` below which their trees are complete. */
  readonly stopped: ReadonlyMap<string, bigint>;
  /** Events below this `seq` existed before the first tree, */
  readonly begunBefore: bigint;
  /** which was begun at this time (Unix microseconds). */
  readonly begunMicros: number;
}

interface ProgressRow {
  readonly watermark: string;
  readonly begun_before: string;
  readonly begun_micros: string;
}

/** Events of the organization below this `seq` are in its tree; 0 without a tree. */
export function watermarkOf(progress: Progress | undefined, organization: string): bigint {
  return progress?.stopped.get(organization) ?? progress?.watermark ?? 0n;
}

/** Undefined without trees. `every`: on all replicas, for whoever adds to trees. Rejects with EngineError. */
export async function readProgress(
  storage: Storage,
  reads: 'any' | 'every' = 'any',
): Promise<Progress | undefined> {
  const from = (table: string): string => (reads === 'any' ? table : everyReplicaOf(storage, table));
  const [row] = await storage.readRows<ProgressRow>(
    `SELECT watermark, begun_before, toUnixTimestamp64Micro(begun) AS begun_micros
     FROM ${from('evidence_progress')} ORDER BY watermark DESC LIMIT 1`,
    {},
    { settings: everywhere },
  );
  if (row === undefined) return undefined;
  // Read after the progress: a tree is stopped before progress advances, and resumed after it has caught up.
  const stopped = await storage.readRows<{ org: string; place: string }>(
    `SELECT toString(org) AS org, toString(argMax(s.watermark, s.version)) AS place
     FROM ${from('evidence_stopped')} AS s GROUP BY s.org HAVING argMax(s.stopped, s.version)`,
    {},
    { settings: everywhere },
  );
  return {
    watermark: BigInt(row.watermark),
    stopped: new Map(stopped.map(({ org, place }) => [org, BigInt(place)])),
    begunBefore: BigInt(row.begun_before),
    begunMicros: Number(row.begun_micros),
  };
}

export async function writeProgress(
  storage: Storage,
  { watermark, begunBefore, begunMicros }: Omit<Progress, 'stopped'>,
): Promise<void> {
  await storage.command(
    `INSERT INTO evidence_progress SELECT 1, {watermark:UInt64}, {begunBefore:UInt64},
       fromUnixTimestamp64Micro({begunMicros:Int64}, 'UTC')`,
    { watermark, begunBefore, begunMicros },
  );
}

export async function writeStopped(
  storage: Storage,
  organization: string,
  { watermark, stopped }: { readonly watermark: bigint; readonly stopped: boolean },
): Promise<void> {
  await storage.command(
    `INSERT INTO evidence_stopped SELECT {organization:UUID}, {watermark:UInt64}, {stopped:Bool},
       greatest(toUInt64(toUnixTimestamp64Micro(now64(6))),
         (SELECT max(version) + 1 FROM evidence_stopped WHERE org = {organization:UUID}))`,
    { organization, watermark, stopped },
  );
}
