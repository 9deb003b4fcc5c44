import { everyReplicaOf, everywhere, requireMajority } from './cluster.ts';
import type { Storage } from './storage.ts';

export interface WriterRow {
  readonly writer: string;
  readonly low: number;
  readonly isOpen: boolean;
  /** Rises by two with each publication, and by one when another server closes the row. */
  readonly version: bigint;
  /** After this many milliseconds without a publication it has nothing in flight. */
  readonly goneAfterMs: number;
  readonly host: string;
  readonly pid: number;
}

/**
 * The newest row of each writer of the last 30 days. Rejects with EngineError, also without a majority of a
 * cluster's nodes.
 */
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

/** Every later `readWriters` sees the row. */
export async function putWriter(storage: Storage, row: WriterRow): Promise<void> {
  const { low, isOpen: is_open, version, goneAfterMs: gone_after, ...rest } = row;
  await storage.insertRows('watermarks', [
    { ...rest, low: String(low), is_open, version: String(version), gone_after },
  ]);
}

export const reachedBy = (rows: readonly WriterRow[]): number =>
  rows.reduce((most, { low }) => Math.max(most, low), 0);

export async function closeWriter(storage: Storage, row: WriterRow): Promise<void> {
  await putWriter(storage, { ...row, isOpen: false, version: row.version + 1n });
}

export async function areServersWriting(storage: Storage, withinMs: number): Promise<boolean> {
  const [row] = await storage.rows<{ servers: string }>(
    `SELECT count() AS servers FROM watermarks FINAL
     WHERE is_open AND written > now() - toIntervalMillisecond({withinMs:UInt32})`,
    { withinMs },
  );
  return row !== undefined && row.servers !== '0';
}
