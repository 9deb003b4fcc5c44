import type { ControlTableName } from './control-rows.ts';
import { limits } from './limits.ts';
import { quoteString } from './quote.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import type { Storage } from './storage.ts';

/** A part that the engine has set aside by itself, as it could not be loaded or merged. */
export interface QuarantinedPart {
  /** The name of its folder below `detached`: the reason, then the part, such as `broken-on-start_202611_4_4_0`. */
  readonly name: string;
  readonly reason: string;
  readonly partition: string;
}

/** Parts that an operator has taken out have no reason, and are not among them. */
export function quarantinedParts(storage: Storage, signal?: AbortSignal): Promise<QuarantinedPart[]> {
  return storage.rows<QuarantinedPart>(
    `SELECT name, reason, ifNull(partition_id, '') AS partition FROM system.detached_parts
     WHERE database = currentDatabase() AND table = 'events' AND reason != '' ORDER BY name`,
    {},
    signal === undefined ? {} : { signal },
  );
}

export interface ActivePart {
  readonly name: string;
  readonly partition: string;
  readonly rows: number;
  readonly bytes: number;
}

/** What a table is made of now. */
export async function activeParts(
  storage: Storage,
  table: 'events' | ControlTableName = 'events',
): Promise<ActivePart[]> {
  const rows = await storage.rows<Record<'name' | 'partition_id' | 'rows' | 'bytes', string>>(
    `SELECT name, partition_id, rows, bytes_on_disk AS bytes FROM system.parts
     WHERE database = currentDatabase() AND table = {table:String} AND active ORDER BY name`,
    { table },
  );
  return rows.map((row) => ({
    name: row.name,
    partition: row.partition_id,
    rows: Number(row.rows),
    bytes: Number(row.bytes),
  }));
}

/** Those of the names that a table of the service still is made of. */
export async function stillActive(
  storage: Storage,
  names: readonly string[],
  signal: AbortSignal,
): Promise<Set<string>> {
  const rows = await storage.rows<{ name: string }>(
    'SELECT name FROM system.parts WHERE database = currentDatabase() AND active AND has({names:Array(String)}, name)',
    { names },
    { signal },
  );
  return new Set(rows.map(({ name }) => name));
}

/** NO_SUCH_DATA_PART: it was merged with others in the meantime. */
const noSuchPart = 232;

/**
 * Reads a whole part and compares it with its sums.
 *
 * @returns the engine's words about what is wrong; undefined when the part is whole, or not there any more
 */
export async function checkPart(
  storage: Storage,
  name: string,
  table: 'events' | ControlTableName = 'events',
): Promise<string | undefined> {
  try {
    const [result] = await storage.rows<{ is_passed: number; message: string }>(
      `CHECK TABLE ${table} PART ${quoteString(name)} SETTINGS check_query_single_value_result = 0`,
      {},
      { timeoutMs: limits.partCheckMsMax },
    );
    return result === undefined || result.is_passed === 1 ? undefined : result.message;
  } catch (error) {
    if (error instanceof EngineError && error.engineCode === noSuchPart) return undefined;
    throw error;
  }
}

/** Takes a part out of the table; its files stay below `detached`. */
export function detachPart(
  storage: Storage,
  name: string,
  table: 'events' | ControlTableName = 'events',
): Promise<void> {
  return storage.command(`ALTER TABLE ${table} DETACH PART ${quoteString(name)}`);
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
      { timeoutMs: limits.partCheckMsMax },
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
