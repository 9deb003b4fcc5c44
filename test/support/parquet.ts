import { strict as assert } from 'node:assert';
import { decompress } from 'fzstd';
import { parquetMetadataAsync, parquetReadObjects } from 'hyparquet';

/** Reads OCSF Parquet as other programs do. */

/** The rows of a Parquet file, by column. */
export function rowsOfParquet(bytes: Uint8Array): Promise<Record<string, unknown>[]> {
  return parquetReadObjects({
    file: Uint8Array.from(bytes).buffer,
    compressors: { ZSTD: (page) => decompress(page) },
    useOffsetIndex: true,
  });
}

/** Events as in NDJSON: without nulls, `unmapped` parsed, 64-bit numbers too. */
export async function eventsOfParquet(bytes: Uint8Array): Promise<unknown[]> {
  const rows = await rowsOfParquet(bytes);
  return rows.map((row) => {
    const event = withoutNulls(row) as Record<string, unknown>;
    assert.equal(typeof event['unmapped'], 'string');
    return { ...event, unmapped: JSON.parse(event['unmapped'] as string) as unknown };
  });
}

/** Events in each row group, the columns' codecs, and the writer. */
export async function groupsOfParquet(bytes: Uint8Array): Promise<{
  readonly rows: readonly number[];
  readonly codecs: ReadonlySet<string | undefined>;
  readonly writer: string | undefined;
}> {
  const { row_groups: groups, created_by: writer } = await parquetMetadataAsync(
    Uint8Array.from(bytes).buffer,
  );
  return {
    rows: groups.map((one) => Number(one.num_rows)),
    writer,
    codecs: new Set(groups.flatMap(({ columns }) => columns.map((one) => one.meta_data?.codec))),
  };
}

function withoutNulls(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}
