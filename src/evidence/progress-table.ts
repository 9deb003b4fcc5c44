import type { Storage } from '../storage/storage.ts';

/** How far all trees have come. */
export interface Progress {
  /** Every event below this place of the order of ingest is in its tree. */
  readonly settled: bigint;
  /** Events below this place were in the table before the first tree was begun, */
  readonly begunBefore: bigint;
  /** which was then (Unix microseconds). */
  readonly begunMicros: number;
}

interface Row {
  readonly settled: string;
  readonly begun_before: string;
  readonly begun_micros: string;
}

/** Undefined where no tree has been begun. Rejects with EngineError. */
export async function readProgress(storage: Storage): Promise<Progress | undefined> {
  const [row] = await storage.readRows<Row>(
    `SELECT settled, begun_before, toUnixTimestamp64Micro(begun) AS begun_micros FROM evidence_progress
     ORDER BY settled DESC LIMIT 1`,
  );
  if (row === undefined) return undefined;
  return {
    settled: BigInt(row.settled),
    begunBefore: BigInt(row.begun_before),
    begunMicros: Number(row.begun_micros),
  };
}

export async function writeProgress(storage: Storage, progress: Progress): Promise<void> {
  await storage.command(
    `INSERT INTO evidence_progress SELECT 1, {settled:UInt64}, {begunBefore:UInt64},
       fromUnixTimestamp64Micro({begunMicros:Int64}, 'UTC')`,
    { ...progress },
  );
}
