import { isDamage } from './exception.ts';
import { limits } from './limits.ts';
import { quoteIdentifier, quoteString } from './quote.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import type { Storage } from './storage.ts';

/** How long reading one part whole may take. */
const partCheckMsMax = 1_800_000;

/** A part that the engine has set aside by itself, as it could not be loaded or merged. */
export interface QuarantinedPart {
  readonly table: string;
  /** The name of its folder below `detached`: the reason, then the part, such as `broken-on-start_202611_4_4_0`. */
  readonly name: string;
}

/** Of all tables. Parts that an operator has taken out have no reason, and are not among them. */
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

/** The parts of one table, or of all tables of the service; views have none. */
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

/** Those of the names that a table of the service still is made of. */
export async function stillActive(storage: Storage, names: readonly string[]): Promise<Set<string>> {
  const rows = await storage.rows<{ name: string }>(
    'SELECT name FROM system.parts WHERE database = currentDatabase() AND active AND has({names:Array(String)}, name)',
    { names },
  );
  return new Set(rows.map(({ name }) => name));
}

/** NO_SUCH_DATA_PART: it was merged with others in the meantime. */
const noSuchPart = 232;

type PartOf = Pick<ActivePart, 'table' | 'name'>;

/** Reads a whole part and compares it with its sums. True also when it is not there any more. */
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

/** Those parts of a table that are not whole. */
export async function damagedParts(storage: Storage, table: string): Promise<ActivePart[]> {
  const damaged: ActivePart[] = [];
  for (const part of await activeParts(storage, table))
    if (!(await isPartWhole(storage, part))) damaged.push(part);
  return damaged;
}

/** A projection of a part that a full disk or a power cut has cut short. Reads pass over it, and look at the events themselves. */
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

/** Makes broken projections anew from the events. Rejects with EngineError where these cannot be read either. */
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
      // The engine would try it again and again, and no later mutation would run.
      await storage.command(
        `KILL MUTATION WHERE database = currentDatabase() AND table = ${quoteString(table)}
         AND command LIKE '%MATERIALIZE PROJECTION%'`,
      );
      throw error;
    }
  }
}

/** Takes a part out of the table; its files stay below `detached`. */
export function detachPart(storage: Storage, { table, name }: PartOf): Promise<void> {
  return storage.command(`ALTER TABLE ${quoteIdentifier(table)} DETACH PART ${quoteString(name)}`);
}

/** Events of one organization in a part. */
export interface PartShare {
  readonly organizationId: string;
  readonly events: number;
  readonly seqMin: bigint;
  readonly seqMax: bigint;
}

/**
 * Whose events are in a part. Only two narrow columns are read, which are mostly whole when a part is damaged;
 * undefined when they are not.
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
