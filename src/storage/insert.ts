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
 * A segment is one block, and its rows belong to one month of recording, whatever times its events have: so it becomes
 * one part, which is there whole or not at all.
 *
 * Not here: the engine's own deduplication, which the table has switched off (0001_events.sql). Its memory of a block
 * can outlive the block in a crash, and would then drop the very rows that are missing. Asking the table is the only
 * answer that counts.
 */
const insertSettings: Settings = {
  min_insert_block_size_rows: rowsPerSegmentMax,
  min_insert_block_size_bytes: 0,
  max_insert_threads: 1,
  // Nobody waits for an attempt longer than that, and whoever cannot ask for it knows that it has ended.
  max_execution_time: Math.ceil(limits.insertMsMax / 1000),
};

/** Exceptions that can tell that the content itself cannot be stored, whenever it is sent (ClickHouse error numbers). */
const contentErrors = new Set([6, 26, 27, 32, 33, 38, 41, 53, 70, 72, 117, 128, 131, 190, 321, 349]);

/**
 * Stores segments exactly once. A first attempt is a plain INSERT. After any doubt (an error, a time-out, a restart
 * of this process or of the engine) earlier attempts are ended, the table is asked by `seq` range (`attempts.ts`), and
 * only rows that are absent are sent.
 *
 * `name` tells those apart that number segments each for itself: the log, and each command. Where there is a `condition` of
 * the engine's, nothing is stored once that does not hold any more.
 */
export function createSegmentInsert(
  storage: Storage,
  log: Logger,
  name = 'segment',
  condition?: string,
): SegmentSink {
  const attempts = new Attempts(storage);
  return async (segment) => {
    const queryId = `${storage.database}-${name}-${segment.number}`;
    try {
      if (segment.rows > 0) await store(storage, log, segment, { queryId, attempts, condition });
      attempts.settled(segment.number);
      return 'stored';
    } catch (error) {
      // Only a second look may condemn a segment: what looks like bad content can be a connection cut short.
      if (!isOfContent(error) || !segment.doubtful || (await isReadable(storage, segment))) throw error;
      log.error(
        { segment: segment.number, ...errorFacts(error) },
        'the engine cannot read the content of a segment',
      );
      attempts.settled(segment.number);
      return 'refused';
    }
  };
}

function isOfContent(error: unknown): error is EngineError {
  return error instanceof EngineError && contentErrors.has(error.engineCode ?? -1);
}

/**
 * Whether the engine can read the content, of which it stores nothing here. The same numbers come from a node of a cluster
 * that dies while it takes its share of a segment.
 */
async function isReadable(storage: Storage, { body }: SegmentInsert): Promise<boolean> {
  const none = `INSERT INTO events (${columns}) SELECT ${columns} FROM input('${structure}') WHERE seq = 0 FORMAT Native`;
  try {
    await storage.insertNative(none, body, { settings: insertSettings, timeoutMs: limits.insertMsMax });
    return true;
  } catch (error) {
    if (isOfContent(error)) return false;
    throw error;
  }
}

interface Attempt {
  readonly queryId: string;
  readonly attempts: Attempts;
  readonly condition: string | undefined;
}

async function store(
  storage: Storage,
  log: Logger,
  segment: SegmentInsert,
  { queryId, attempts, condition }: Attempt,
): Promise<void> {
  const options = { queryId, settings: insertSettings, timeoutMs: limits.insertMsMax };
  let query =
    condition === undefined
      ? `INSERT INTO events (${columns}) FORMAT Native`
      : `INSERT INTO events (${columns}) SELECT ${columns} FROM input('${structure}') WHERE ${condition} FORMAT Native`;
  if (segment.doubtful) {
    const present = await storage.checked(() => attempts.rowsStored(segment.number, queryId));
    if (present === segment.rows && !segment.isDamaged) return;
    if (present > segment.rows && !segment.isDamaged)
      throw new Error(`segment ${segment.number} has ${present} rows of ${segment.rows} stored`);
    // On a cluster each shard has a part of its own.
    if (present > 0) {
      log.warn(
        { segment: segment.number, present, rows: segment.rows },
        'completing a segment that was stored in part',
      );
      const { first, last } = segmentSeqRange(segment.number);
      const stored = storage.cluster === undefined ? 'events' : eventsOfAll(storage.cluster);
      query =
        `INSERT INTO events (${columns}) SELECT ${columns} FROM input('${structure}') WHERE seq NOT IN ` +
        `(SELECT seq FROM ${stored} WHERE seq BETWEEN ${first} AND ${last}) FORMAT Native`;
    }
  }
  attempts.sending(segment.number);
  await storage.insertNative(query, segment.body, options);
}

/** Rows of a stretch of the order that are stored, ends included. Rejects with EngineError. */
export async function storedRowsBetween(storage: Storage, first: bigint, last: bigint): Promise<number> {
  const from = storage.cluster === undefined ? 'events' : eventsOfAll(storage.cluster);
  // A row has several replicas.
  const [row] = await storage.rows<{ present: string }>(
    `SELECT uniqExact(seq) AS present FROM ${from} WHERE seq BETWEEN {first:UInt64} AND {last:UInt64}`,
    { first, last },
  );
  return Number(row?.present ?? 0);
}

/** Rows of a segment that are stored, for one that nobody sends any more. Rejects with EngineError. */
export function storedRowsOf(storage: Storage, segment: number): Promise<number> {
  const { first, last } = segmentSeqRange(segment);
  return storedRowsBetween(storage, BigInt(first), BigInt(last));
}
