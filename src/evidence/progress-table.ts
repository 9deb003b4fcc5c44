import type { Storage } from '../storage/storage.ts';

/** How far the trees have come. */
export interface Progress {
  /** Every event below this place of the order of ingest is in its tree, but for those of organizations in `stopped`. */
  readonly watermark: bigint;
  /** Organizations whose trees stand still, and below which place their events are in them. */
  readonly stopped: ReadonlyMap<string, bigint>;
  /** Events below this place were in the table before the first tree was begun, */
  readonly begunBefore: bigint;
  /** which was then (Unix microseconds). */
  readonly begunMicros: number;
}

interface ProgressRow {
  readonly watermark: string;
  readonly begun_before: string;
  readonly begun_micros: string;
}

/** Every event of an organization below this place is in its tree; 0 where no tree has been begun. */
export function watermarkOf(progress: Progress | undefined, organization: string): bigint {
  return progress?.stopped.get(organization) ?? progress?.watermark ?? 0n;
}

/** Undefined where no tree has been begun. Rejects with EngineError. */
export async function readProgress(storage: Storage): Promise<Progress | undefined> {
  const [row] = await storage.readRows<ProgressRow>(
    `SELECT watermark, begun_before, toUnixTimestamp64Micro(begun) AS begun_micros FROM evidence_progress
     ORDER BY watermark DESC LIMIT 1`,
  );
  if (row === undefined) return undefined;
  // Behind the progress: a tree is stopped before that goes on, and has caught up with it before it is not stopped.
  const stopped = await storage.readRows<{ org: string; place: string }>(
    'SELECT toString(org) AS org, toString(watermark) AS place FROM evidence_stopped FINAL WHERE stopped',
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

/** Says that the tree of an organization stands still at a place, or, where `stopped` is false, that it has gone on. */
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
