import { Attempts, eventsOfAll } from './attempts.ts';
import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { eventColumns } from '../base/events/event-columns.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import type { SegmentInsert, SegmentSink } from '../base/events/segment-insert.ts';
import { rowsPerSegmentMax, segmentSeqRange } from '../base/events/sequence.ts';
import type { Settings, Storage } from './storage.ts';

const sent = Object.entries(eventColumns);
const columns = sent.map(([name]) => name).join(', ');
const structure = sent.map(([name, type]) => `${name} ${type.replaceAll("'", "\\'")}`).join(', ');

/**
 * A segment is one block of one month of recording, so it becomes one part: stored whole or not at all. The
 * engine's own deduplication is off (README.md, Exactly once).
 */
const insertSettings: Settings = {
  min_insert_block_size_rows: rowsPerSegmentMax,
  min_insert_block_size_bytes: 0,
  max_insert_threads: 1,
  max_execution_time: Math.ceil(limits.insertMsMax / 1000),
};

/** ClickHouse errors that may mean content that can never be stored. */
const contentErrors = new Set([6, 26, 27, 32, 33, 38, 41, 53, 70, 72, 117, 128, 131, 190, 321, 349]);

/**
 * After any doubt (error, time-out, restart) it sends only the rows that earlier INSERTs did not store (`attempts.ts`), under a
 * new number. `name` separates writers with their own numbers.
 */
export function createSegmentInsert(storage: Storage, log: Logger, name = 'segment'): SegmentSink {
  const attempts = new Attempts(storage, name);
  return async (segment) => {
    try {
      if (segment.rows > 0) await store(storage, log, segment, attempts);
      return 'stored';
    } catch (error) {
      // Only a second attempt may condemn a segment: a broken connection can look like bad content.
      const isFirst = segment.earlier.length === 0;
      if (!isOfContent(error) || isFirst || (await isReadable(storage, segment))) throw error;
      log.error(
        { segment: segment.segment, ...errorFacts(error) },
        'The engine cannot read the content of a segment',
      );
      return 'refused';
    }
  };
}

function isOfContent(error: unknown): error is EngineError {
  return error instanceof EngineError && contentErrors.has(error.engineCode ?? -1);
}

/**
 * Whether the engine can read the content, without storing it. A cluster node that dies gives the same
 * errors.
 */
async function isReadable(storage: Storage, { body }: SegmentInsert): Promise<boolean> {
  const none = `INSERT INTO events (${columns}) SELECT ${columns} FROM input('${structure}') WHERE seq = 0 FORMAT Native`;
  try {
    await storage.insertNative(none, body(1), { settings: insertSettings, timeoutMs: limits.insertMsMax });
    return true;
  } catch (error) {
    if (isOfContent(error)) return false;
    throw error;
  }
}

async function store(
  storage: Storage,
  log: Logger,
  segment: SegmentInsert,
  attempts: Attempts,
): Promise<void> {
  const { rows, earlier, isDamaged } = segment;
  const found = new Map<number, number>();
  for (const number of earlier) found.set(number, await storage.checked(() => attempts.rowsStored(number)));
  const present = [...found.values()].reduce((sum, one) => sum + one, 0);
  if (present === rows && !isDamaged) return;
  if (present > rows && !isDamaged)
    throw new Error(`Segment ${segment.segment} has ${present} rows stored of ${rows}`);
  const stored = earlier.filter((number) => (found.get(number) ?? 0) > 0);
  if (present > 0) {
    const facts = { segment: segment.segment, present, rows };
    log.warn(facts, 'Completing a partly stored segment');
  }
  const number = await segment.take(stored);
  const source =
    stored.length === 0
      ? ''
      : `SELECT ${columns} FROM input('${structure}') WHERE ${absentFrom(storage, stored)} `;
  await attempts.during(number, (queryId) =>
    storage.insertNative(`INSERT INTO events (${columns}) ${source}FORMAT Native`, segment.body(number), {
      queryId,
      settings: insertSettings,
      timeoutMs: limits.insertMsMax,
    }),
  );
}

/** A row has the same index under each number. */
function absentFrom(storage: Storage, numbers: readonly number[]): string {
  const events = storage.cluster === undefined ? 'events' : eventsOfAll(storage.cluster);
  const ranges = numbers.map((number) => {
    const { first, last } = segmentSeqRange(number);
    return `seq BETWEEN ${first} AND ${last}`;
  });
  const row = `bitAnd(seq, ${rowsPerSegmentMax - 1})`;
  return `${row} NOT IN (SELECT ${row} FROM ${events} WHERE ${ranges.join(' OR ')})`;
}

/** The newest number in the table, or passed by the trees of evidence. Rejects with EngineError. */
export async function newestStored(storage: Storage): Promise<number> {
  const [row] = await storage.rows<{ newest: string }>(
    `SELECT toString(bitShiftRight(greatest((SELECT max(seq) FROM events),
       (SELECT max(watermark) FROM evidence_progress)), 20)) AS newest`,
  );
  return Number(row?.newest ?? 0);
}
