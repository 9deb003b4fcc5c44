import { everyReplicaOf, everywhere, requireMajority } from './cluster.ts';
import { limits } from './limits.ts';
import { quoteString } from './quote.ts';
import type { Storage } from './storage.ts';

/** A row of the table `watermarks`: who writes events to an engine that several processes share. */
export interface WriterRow {
  /** UUID of a server's data directory, or of a command. */
  readonly writer: string;
  /** All below it is stored, or never will be, and nothing that the writer stores later is below it. */
  readonly low: number;
  /** It may store something. */
  readonly isOpen: boolean;
  /** Rises by two with each sign of life; by one, when another says that the writer is gone. */
  readonly version: bigint;
  /** After so many milliseconds without a sign of life nothing of it is under way any more. */
  readonly goneAfterMs: number;
  readonly host: string;
  readonly pid: number;
}

/** The newest row of each writer of the last 30 days. Rejects with EngineError, also where most nodes of a cluster do not answer. */
export async function readWriters(storage: Storage, signal?: AbortSignal): Promise<WriterRow[]> {
  type Row = Record<'writer' | 'low' | 'version', string> &
    Pick<WriterRow, 'isOpen' | 'goneAfterMs' | 'host' | 'pid'>;
  await requireMajority(storage);
  const rows = await storage.rows<Row>(
    `SELECT toString(w.writer) AS writer, toString(argMax(w.low, w.version)) AS low, argMax(w.is_open, w.version) AS isOpen,
       argMax(w.gone_after, w.version) AS goneAfterMs, argMax(w.host, w.version) AS host, argMax(w.pid, w.version) AS pid,
       toString(max(w.version)) AS version
     FROM ${everyReplicaOf(storage, 'watermarks')} AS w GROUP BY w.writer`,
    {},
    { settings: everywhere, ...(signal && { signal }) },
  );
  return rows.map(({ low, version, ...row }) => ({ ...row, low: Number(low), version: BigInt(version) }));
}

/** Resolves when every later `readWriters` sees the row. */
export async function putWriter(storage: Storage, row: WriterRow): Promise<void> {
  const { low, isOpen: is_open, version, goneAfterMs: gone_after, ...rest } = row;
  await storage.insertRows('watermarks', [
    { ...rest, low: String(low), is_open, version: String(version), gone_after },
  ]);
}

/**
 * For the WHERE of a statement: whether a writer has given a sign of life within its lease, and nobody has closed its row,
 * at the moment at which the engine begins. The clock is the engine's alone.
 */
export const hasLease = (storage: Storage, writer: string): string =>
  `(SELECT argMax(is_open AND written > now() - toIntervalMillisecond(${limits.writerLeaseMs}), version)
    FROM ${everyReplicaOf(storage, 'watermarks')} WHERE writer = ${quoteString(writer)})`;

/** The highest number of all rows: what begins above it is above every watermark that was told before. */
export const reachedBy = (rows: readonly WriterRow[]): number =>
  rows.reduce((most, { low }) => Math.max(most, low), 0);

/** Says of a writer that is gone that nobody waits for it any more. Its own next sign of life counts more. */
export async function closeWriter(storage: Storage, row: WriterRow): Promise<void> {
  await putWriter(storage, { ...row, isOpen: false, version: row.version + 1n });
}

/** True when a server has given a sign of life within the last `withinMs`: those that run do each second. */
export async function areServersWriting(storage: Storage, withinMs: number): Promise<boolean> {
  const [row] = await storage.rows<{ servers: string }>(
    `SELECT count() AS servers FROM watermarks FINAL
     WHERE is_open AND written > now() - toIntervalMillisecond({withinMs:UInt32})`,
    { withinMs },
  );
  return row !== undefined && row.servers !== '0';
}
