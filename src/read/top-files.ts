import type { Answer } from '../contract/document.ts';
import { foldCase } from '../base/events/fold-case.ts';
import { limits } from '../storage/limits.ts';
import type { Storage } from '../storage/storage.ts';
import { type AuditFilter, type Where, whereClause } from './filter.ts';
import { type Seen, seenColumns, seenTimes } from './seen.ts';

export type TopFiles = Answer<'TopFiles'>['data'];

/** Rejects with EngineError. `organization` is a lower-case UUID; `limit` bounds the list. */
export type TopFilesReader = (
  organization: string,
  filter: AuditFilter,
  limit: number,
  signal: AbortSignal,
) => Promise<TopFiles>;

const spilling = { max_bytes_before_external_group_by: limits.readSpillBytes };

/**
 * 0 unless it is a safe integer. `enrichments` come before any text of `extra` that could look like them, and the quotation marks
 * cannot match within a string.
 */
const pair = '{"name":"fileSize","value":"';
const sizeAt = `position(ocsf, '${pair}')`;
const isEnrichment = `${sizeAt} BETWEEN 1 AND position(ocsf, '}],"extra_map":')`;
const digits = `substringIndex(substring(ocsf, ${sizeAt} + ${pair.length}, 21), '"', 1)`;
const size = `toUInt64OrZero(if(${isEnrichment}, ${digits}, ''))`;
const bytes = `sum(toUInt128(if(size > ${Number.MAX_SAFE_INTEGER}, 0, size)))`;

interface Row extends Seen {
  readonly name: string;
  readonly hash: string;
  readonly total: string;
  readonly bytes: string;
}

/**
 * By bytes moved. Sizes are only in the texts, as a column would make INSERTs an eighth slower; so this takes three times as long
 * as top-values.ts.
 */
export function createTopFilesReader(storage: Storage): TopFilesReader {
  return async (organization, filter, limit, signal) => {
    const where = whereClause(organization, filter);
    const rows = await storage.rows<Row>(
      `SELECT name, sipHash64(name) AS hash, count() AS total, ${bytes} AS bytes, ${seenColumns}
       FROM (SELECT arrayJoin(names) AS name, ${size} AS size, time FROM events WHERE ${where.sql} AND notEmpty(names))
       GROUP BY name ORDER BY bytes DESC, total DESC, name LIMIT {top:UInt64}`,
      { ...where.parameters, top: limit },
      { settings: spilling, signal },
    );
    const asSent = await readNames(storage, where, rows, signal);
    return rows.map((row) => ({
      name: asSent.get(row.name) ?? row.name,
      count: Number(row.total),
      bytes: Math.min(Number(row.bytes), Number.MAX_SAFE_INTEGER),
      ...seenTimes(row),
    }));
  };
}

async function readNames(
  storage: Storage,
  where: Where,
  rows: readonly Row[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const newest = rows.map(({ last }) => BigInt(last));
  const hashes = rows.map(({ hash }) => BigInt(hash));
  const found = await storage.rows<{ target: string; file: string }>(
    `SELECT target_name AS target, file_name AS file FROM events
     WHERE ${where.sql} AND time IN (SELECT fromUnixTimestamp64Micro(arrayJoin({newest:Array(Int64)}), 'UTC'))
       AND hasAny(arrayMap(name -> sipHash64(name), names), {hashes:Array(UInt64)})
     ORDER BY time, seq`,
    { ...where.parameters, newest, hashes },
    { signal },
  );
  return new Map(found.flatMap(({ target, file }) => [target, file]).map((name) => [foldCase(name), name]));
}
