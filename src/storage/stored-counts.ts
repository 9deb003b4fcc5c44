import { limits } from './limits.ts';
import { dayOf, Ledger, type MissingRows, type StoredCount } from './ledger.ts';
import type { Parameters, Storage } from './storage.ts';

/** One thread, as nobody waits for it, and time enough for a table of any size. */
const options = { settings: { max_threads: 1 }, timeoutMs: limits.ledgerQueryMsMax };

interface Row {
  readonly partition: string;
  readonly day: string;
  readonly n: string;
}

const countOf = ({ partition, day, n }: Row): StoredCount => ({ partition, expires: day, rows: Number(n) });

async function countsOf(
  storage: Storage,
  query: string,
  parameters: Parameters,
  signal: AbortSignal | undefined,
): Promise<StoredCount[]> {
  const rows = await storage.rows<Row>(query, parameters, {
    ...options,
    ...(signal !== undefined && { signal }),
  });
  return rows.map(countOf);
}

/** What the table has in (`after`, `to`], and whether that is all that it has after `after`. */
export async function countStored(
  storage: Storage,
  after: bigint,
  to: bigint,
  signal?: AbortSignal,
): Promise<{ readonly counts: StoredCount[]; readonly isAll: boolean }> {
  const rows = await storage.rows<Row & { readonly later: string }>(
    `SELECT _partition_id AS partition, toString(expires) AS day, countIf(seq <= {to:UInt64}) AS n, count() - n AS later
     FROM events WHERE seq > {after:UInt64} GROUP BY partition, expires`,
    { after: String(after), to: String(to) },
    { ...options, ...(signal !== undefined && { signal }) },
  );
  return {
    counts: rows.filter(({ n }) => n !== '0').map(countOf),
    isAll: rows.every(({ later }) => later === '0'),
  };
}

/** Rows that are known to be lost. */
function countAcknowledgedLosses(storage: Storage, signal: AbortSignal | undefined): Promise<StoredCount[]> {
  return countsOf(
    storage,
    'SELECT partition, toString(expires) AS day, sum(rows) AS n FROM acknowledged_losses FINAL GROUP BY partition, expires',
    {},
    signal,
  );
}

/** Rows that the service has removed, or unless `isDone` is about to, before the day that they were recorded with. */
function countRemoved(
  storage: Storage,
  today: string,
  isDone: boolean,
  signal: AbortSignal | undefined,
): Promise<StoredCount[]> {
  return countsOf(
    storage,
    `SELECT partition, toString(expires) AS day, sum(rows) AS n FROM removals FINAL
     WHERE expires > {today:Date} AND done >= {isDone:Bool} GROUP BY partition, expires`,
    { today, isDone },
    signal,
  );
}

/**
 * The ledger of a table that has none yet, as after a restore: with the rows that are known to be gone, since each comparison takes
 * them for gone. Else as many could be lost unseen.
 */
export async function beginLedger(storage: Storage, nowMs: number, signal: AbortSignal): Promise<Ledger> {
  const ledger = new Ledger();
  const removed = await countRemoved(storage, dayOf(nowMs), true, signal);
  ledger.advance(0n, [...(await countAcknowledgedLosses(storage, signal)), ...removed]);
  return ledger;
}

/** Holds the ledger against the table. `nowMs`: by which the ledger forgets days that are over. */
export async function compareWithTable(
  storage: Storage,
  ledger: Ledger,
  nowMs: number,
  signal?: AbortSignal,
): Promise<{ readonly missing: MissingRows[]; readonly raised: number }> {
  const losses = await countAcknowledgedLosses(storage, signal);
  const { counts: table } = await countStored(storage, 0n, ledger.through, signal);
  // After the table: a removal is written down before its rows go.
  const today = dayOf(nowMs);
  const removed = await countRemoved(storage, today, false, signal);
  return ledger.compare(table, [...losses, ...removed], today);
}

/**
 * Acknowledges lost rows, from when on they count as known. `part` is the one that was taken out, or empty where
 * rows are gone without a trace. Resolves when that is durable.
 */
export async function acknowledgeLoss(
  storage: Storage,
  id: string,
  part: string,
  missing: readonly MissingRows[],
): Promise<void> {
  const counts = missing.flatMap((one) => one.counts);
  await storage.insertRows(
    'acknowledged_losses',
    counts.map(({ partition, expires, rows }) => ({ id, part, partition, expires, rows })),
  );
}

/** Holes of rows that would still be there, the newest first. */
export interface AcknowledgedLoss {
  readonly id: string;
  readonly part: string;
  readonly partition: string;
  readonly rows: number;
  /** `YYYY-MM-DD HH:MM:SS`, UTC */
  readonly recorded: string;
}

export async function listAcknowledgedLosses(storage: Storage): Promise<AcknowledgedLoss[]> {
  const rows = await storage.rows<Omit<AcknowledgedLoss, 'rows'> & { readonly n: string }>(
    `SELECT toString(id) AS id, any(part) AS part, partition, sum(rows) AS n,
       toString(toStartOfSecond(max(recorded))) AS recorded
     FROM acknowledged_losses FINAL WHERE expires > today() GROUP BY id, partition ORDER BY max(acknowledged_losses.recorded) DESC, partition`,
  );
  return rows.map(({ n, ...loss }) => ({ ...loss, rows: Number(n) }));
}
