import type { Settings } from '../storage/storage.ts';
import { type AuditFilter, hasIndexedFilter } from './filter.ts';

/** The engine's memory for what is to be held. */
const heldReadMemoryBytesMax = 256 * 1024 * 1024;

/** Newest first, then last written first: a total order, since `seq` is unique. */
export const newestFirst = 'ORDER BY org DESC, time DESC, seq DESC';
export const oldestFirst = 'ORDER BY org, time, seq';

/**
 * How the engine is to find rows. Left to itself it lets every projection whose key begins with `org` filter a query,
 * which reads a position for each event of the organization.
 */

/** By the primary key: organization, then time. */
const inKeyOrder: Settings = { max_threads: 1, optimize_use_projection_filtering: 0 };

/**
 * By a projection that knows the few rows in question. Bounded by part: where a projection names more rows than this
 * in a part, as one that is ordered by something else does, reading the part in order finds a page sooner.
 */
export const byProjection: Settings = {
  max_threads: 1,
  min_table_rows_to_use_projection_index: 0,
  max_projection_rows_to_use_projection_index: 20_000,
};

/** The order of ingest, straight from its projection, a granule at a time: its end may be millions of rows away. */
export const feedOrder: Settings = {
  max_threads: 1,
  max_block_size: 1024,
  read_in_order_use_buffering: 0,
  optimize_use_projection_filtering: 0,
};

/**
 * Thousands of events of a range of the order of ingest, which nobody waits for yet: put together by the thread that reads them, as handing them to others
 * costs a quarter more. A page of 1000 costs the same either way, and comes sooner from several threads.
 */
export const feedChunk: Settings = { ...byProjection, output_format_parallel_formatting: 0 };

/**
 * A few events that are known by their order numbers, however large they are: as they come, without a pipeline that holds
 * several blocks of them.
 */
export const sliceOfPage: Settings = {
  ...byProjection,
  max_block_size: 64,
  read_in_order_use_buffering: 0,
  output_format_parallel_formatting: 0,
};

/** For a condition on texts: those of 65,000 events, which the engine else takes at once, may be more than a read may hold. */
export const throughTexts = ({ words }: AuditFilter): Settings =>
  words === undefined ? {} : { max_block_size: 64 };

/** Where the texts of all rows together are more than a read may hold: of a few at a time. */
export const fewTexts: Settings = {
  max_block_size: 16,
  read_in_order_use_buffering: 0,
  query_plan_optimize_lazy_materialization: 0,
};

/**
 * What is to be held as a whole has not more than this of the engine's memory: the engine gathers all rows of a page before
 * it hands out the first, so one that is too large is known before it costs much.
 */
export const heldWhole: Settings = { max_memory_usage: heldReadMemoryBytesMax };

export function planOf(filter: AuditFilter): Settings {
  return hasIndexedFilter(filter) ? byProjection : inKeyOrder;
}

/**
 * Settings under which the engine reads its parts backwards side by side, a granule of each at a time, and hands rows
 * on as they come. With its defaults it holds a thousand times as much: 1.2 GB against 22 MB for 3 million events of
 * 740 bytes. What remains is some 70 KB for each part, and there are a few parts for each month that has events.
 */
export const streamSettings: Settings = {
  max_threads: 1,
  max_block_size: 1024,
  read_in_order_use_buffering: 0,
  output_format_parallel_formatting: 0,
  // With a limit the engine would gather all rows before it hands out the first.
  query_plan_optimize_lazy_materialization: 0,
};
