import type { Settings } from '../storage/storage.ts';
import { type AuditFilter, hasIndexedFilter } from './filter.ts';

const bufferedReadMemoryBytesMax = 256 * 1024 * 1024;

/** Newest first, then last written first; `seq` is unique, so the order is total. */
export const newestFirst = 'ORDER BY org DESC, time DESC, seq DESC';
export const oldestFirst = 'ORDER BY org, time, seq';

/**
 * By default the engine lets every projection whose key begins with `org` filter a query, which reads a position for each event
 * of the organization.
 */

const inKeyOrder: Settings = { max_threads: 1, optimize_use_projection_filtering: 0 };

/** If a projection has more matching rows than this in a part, reading the part in order is quicker. */
export const byProjection: Settings = {
  max_threads: 1,
  min_table_rows_to_use_projection_index: 0,
  max_projection_rows_to_use_projection_index: 20_000,
};

/** In the order of ingest, from its projection, a granule at a time: the end may be millions of rows away. */
export const feedOrder: Settings = {
  max_threads: 1,
  max_block_size: 1024,
  read_in_order_use_buffering: 0,
  optimize_use_projection_filtering: 0,
};

/**
 * Formatted by the reading thread, as passing thousands of events to others costs a quarter more. For a page of 1000, several
 * threads are quicker at the same cost.
 */
export const feedChunk: Settings = { ...byProjection, output_format_parallel_formatting: 0 };

/** A few known events of any size, without a pipeline that buffers several blocks. */
export const sliceOfPage: Settings = {
  ...byProjection,
  max_block_size: 64,
  read_in_order_use_buffering: 0,
  output_format_parallel_formatting: 0,
};

/** For a condition on texts: the default block of 65,000 events may exceed a read's memory. */
export const throughTexts = ({ words }: AuditFilter): Settings =>
  words === undefined ? {} : { max_block_size: 64 };

export const fewTexts: Settings = {
  max_block_size: 16,
  read_in_order_use_buffering: 0,
  query_plan_optimize_lazy_materialization: 0,
};

/** The engine gathers all rows of a page before the first, so a page that is too large fails early. */
export const bufferedRead: Settings = { max_memory_usage: bufferedReadMemoryBytesMax };

export const choosePlan = (filter: AuditFilter): Settings =>
  hasIndexedFilter(filter) ? byProjection : inKeyOrder;

/**
 * A granule of each part at a time. The defaults take 1.2 GB instead of 22 MB for 3 million events of 740 bytes. A part takes up to
 * 2.6 MB, or 36 MB with texts of 100 KB. Smaller blocks take less memory, but more time (bench/notes.md).
 */
export const streamSettings: Settings = {
  max_threads: 1,
  max_block_size: 1024,
  read_in_order_use_buffering: 0,
  output_format_parallel_formatting: 0,
  query_plan_optimize_lazy_materialization: 0,
};
