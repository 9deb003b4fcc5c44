import { isDamage } from './exception.ts';
import { limits } from './limits.ts';
import { quoteIdentifier, quoteString } from './quote.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import type { Storage } from './storage.ts';

const partCheckMsMax = 1_800_000;

export interface QuarantinedPart {
  readonly table: string;
  /** Its folder in `detached`: the reason, then the part, such as `broken-on-start_202611_4_4_0`. */
  readonly name: string;
}

export function quarantinedParts(storage: Storage): Promise<QuarantinedPart[]> {
  return storage.rows<QuarantinedPart>(
    `SELECT table, name FROM system.detached_parts
     WHERE database = currentDatabase() AND reason != '' ORDER BY table, name`,
  );
}

export interface ActivePart {
  readonly table: string;
  readonly name: string;
  readonly partition: string;
  readonly rows: number;
  readonly bytes: number;
}

export async function activeParts(storage: Storage, table?: string): Promise<ActivePart[]> {
  const rows = await storage.rows<Record<'table' | 'name' | 'partition_id' | 'rows' | 'bytes', string>>(
    `SELECT table, name, partition_id, rows, bytes_on_disk AS bytes FROM system.parts
     WHERE database = currentDatabase() AND ({table:String} = '' OR table = {table:String}) AND active
     ORDER BY table, name`,
    { table: table ?? '' },
  );
  return rows.map((row) => ({
    table: row.table,
    name: row.name,
    partition: row.partition_id,
    rows: Number(row.rows),
    bytes: Number(row.bytes),
  }));
}

export async function stillActive(storage: Storage, names: readonly string[]): Promise<Set<string>> {
  const rows = await storage.rows<{ name: string }>(
    'SELECT name FROM system.parts WHERE database = currentDatabase() AND active AND has({names:Array(String)}, name)',
    { names },
  );
  return new Set(rows.map(({ name }) => name));
}

/** NO_SUCH_DATA_PART: it was merged meanwhile. */
const noSuchPart = 232;

type PartOf = Pick<ActivePart, 'table' | 'name'>;

/** Verifies the checksums of a part. True also if it no longer exists. */
export async function isPartWhole(storage: Storage, { table, name }: PartOf): Promise<boolean> {
  try {
    const [result] = await storage.rows<{ is_passed: number }>(
      `CHECK TABLE ${quoteIdentifier(table)} PART ${quoteString(name)} SETTINGS check_query_single_value_result = 0`,
      {},
      { timeoutMs: partCheckMsMax },
    );
    return result === undefined || result.is_passed === 1;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    if (error.engineCode === noSuchPart) return true;
    if (isDamage(error)) return false;
    throw error;
  }
}

export async function damagedParts(storage: Storage, table: string): Promise<ActivePart[]> {
  const damaged: ActivePart[] = [];
  for (const part of await activeParts(storage, table))
    if (!(await isPartWhole(storage, part))) damaged.push(part);
  return damaged;
}

/** Reads skip it and use the events themselves. */
export interface BrokenProjection {
  readonly table: string;
  readonly part: string;
  readonly partition: string;
  readonly name: string;
}

export function brokenProjections(storage: Storage): Promise<BrokenProjection[]> {
  return storage.rows<BrokenProjection>(
    `SELECT table, parent_name AS part, partition_id AS partition, name FROM system.projection_parts
     WHERE database = currentDatabase() AND active AND is_broken ORDER BY table, part, name`,
  );
}

/** Rebuilds broken projections. Rejects with EngineError if the events cannot be read either. */
export async function remakeProjections(
  storage: Storage,
  broken: readonly BrokenProjection[],
): Promise<void> {
  for (const { table, partition, name } of broken) {
    const of = quoteIdentifier(table);
    try {
      await storage.command(
        `ALTER TABLE ${of} MATERIALIZE PROJECTION ${quoteIdentifier(name)} IN PARTITION ID ${quoteString(partition)}`,
        {},
        { settings: { mutations_sync: 1 }, timeoutMs: limits.removalMsMax },
      );
    } catch (error) {
      // The engine would retry it for ever, and later mutations would wait.
      await storage.command(
        `KILL MUTATION WHERE database = currentDatabase() AND table = ${quoteString(table)}
         AND command LIKE '%MATERIALIZE PROJECTION%'`,
      );
      throw error;
    }
  }
}

export function detachPart(storage: Storage, { table, name }: PartOf): Promise<void> {
  return storage.command(`ALTER TABLE ${quoteIdentifier(table)} DETACH PART ${quoteString(name)}`);
}

export interface PartShare {
  readonly organizationId: string;
  readonly events: number;
  readonly seqMin: bigint;
  readonly seqMax: bigint;
}

/**
 * The organizations of a damaged part, from two narrow columns that are mostly intact; undefined if they are
 * not.
 */
export async function sharesOfPart(storage: Storage, name: string): Promise<PartShare[] | undefined> {
  try {
    const rows = await storage.rows<Record<'id' | 'n' | 'first' | 'last', string>>(
      `SELECT toString(org) AS id, count() AS n, min(seq) AS first, max(seq) AS last
       FROM events WHERE _part = {name:String} GROUP BY org ORDER BY id`,
      { name },
      { timeoutMs: partCheckMsMax },
    );
    return rows.map(({ id, n, first, last }) => ({
      organizationId: id,
      events: Number(n),
      seqMin: BigInt(first),
      seqMax: BigInt(last),
    }));
  } catch (error) {
    if (error instanceof EngineError && error.damagedPart !== undefined) return undefined;
    throw error;
  }
}
