import type { Readable } from 'node:stream';
import { toReadable } from '../base/bytes/byte-flow.ts';
import { onShard } from '../storage/cluster.ts';
import type { Settings, Storage } from '../storage/storage.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import { exportWhere, type ExportRequest } from './export.ts';
import { csvAliases, csvNames, typedColumns } from './export-csv.ts';
import { newestFirst, streamSettings, throughTexts } from './plans.ts';

/** Small, as the engine buffers each row group. */
const parquetSettings: Settings = {
  max_threads: 2,
  query_plan_execute_functions_after_sorting: 0,
  output_format_parquet_compression_method: 'zstd',
  output_format_parquet_row_group_size: 65_536,
  output_format_parquet_row_group_size_bytes: 64 * 1024 * 1024,
  output_format_parquet_parallel_encoding: 0,
  // The engine's default, pinned.
  enable_shared_storage_snapshot_in_query: 1,
};

const thrownByQuery = 395;

export function hasOtherRows(error: unknown): boolean {
  return error instanceof EngineError && error.engineCode === thrownByQuery;
}

/**
 * Newest first; the columns of the CSV export, typed. The query compares its number of events with `rows` on its snapshot, and
 * fails (see `hasOtherRows`) if they differ.
 */
export async function streamParquet(
  storage: Storage,
  organization: string,
  request: Pick<ExportRequest, 'filter' | 'seqMax'> & { readonly rows: number },
  signal: AbortSignal,
): Promise<Readable> {
  const where = exportWhere(organization, request);
  const check = `throwIf((SELECT count() FROM events WHERE ${where.sql}) != {rows_expected:UInt64}) = 0`;
  // Named outside only: inside, `time` would replace the column in the condition and the order.
  const names = csvNames.map((name, index) => `c${index} AS \`${name}\``).join(', ');
  const rows =
    `SELECT ${names} FROM (WITH ${csvAliases} SELECT ${typedColumns.join(', ')} FROM events ` +
    `WHERE ${where.sql} AND ${check} ${newestFirst})`;
  const query = `${onShard(storage, rows)} FORMAT Parquet`;
  const parameters = { ...where.parameters, rows_expected: request.rows };
  const settings = { ...streamSettings, ...parquetSettings, ...throughTexts(request.filter) };
  return toReadable(await storage.flow(query, parameters, { settings, signal }));
}
