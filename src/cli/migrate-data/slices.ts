import type { Parameters, Settings, Storage } from '../../storage/storage.ts';
import { limits } from '../limits.ts';
import type { KeyColumn, MovedTable } from './tables.ts';

/** Which rows of a table are meant, beside a slice: a condition with its parameters. */
export interface Scope {
  readonly where: string;
  readonly parameters: Parameters;
}

/** The key of a row, as texts. */
type Place = readonly string[];

/** Rows behind `after` up to and with `upto`, in the order of the key; undefined: from the first one, to the last. */
export interface Slice {
  readonly after: Place | undefined;
  readonly upto: Place | undefined;
}

/** How many rows there are, and hashes of all of them that do not depend on their order. */
export interface Digest {
  readonly rows: number;
  readonly mark: string;
}

/**
 * The order of the table answers all that is asked here. Projections would be taken for the rows of an organization, and
 * lead to each of them alone.
 */
export const readSettings: Settings = {
  optimize_use_projections: 0,
  max_threads: 2,
  max_execution_time: Math.ceil(limits.moveQueryMsMax / 1000),
  max_bytes_before_external_group_by: limits.moveSpillBytes,
};
export const reading = { settings: readSettings, timeoutMs: limits.moveQueryMsMax };

const asText = ({ name, type }: KeyColumn): string =>
  type === 'Micros' ? `toString(toUnixTimestamp64Micro(${name}))` : `toString(${name})`;

function asValue({ type }: KeyColumn, parameter: string): string {
  return type === 'Micros'
    ? `fromUnixTimestamp64Micro({${parameter}:Int64}, 'UTC')`
    : `{${parameter}:${type}}`;
}

/** Behind a place of the key (`>`), or up to it (`<`, the place included); the engine finds such rows by its index. */
function beside(key: readonly KeyColumn[], sign: '>' | '<', prefix: string, at = 0): string {
  const column = key[at];
  if (column === undefined) return sign === '<' ? '1' : '0';
  const value = asValue(column, `${prefix}${at}`);
  const rest = beside(key, sign, prefix, at + 1);
  return `(${column.name} ${sign} ${value} OR (${column.name} = ${value} AND ${rest}))`;
}

const parametersOf = (prefix: string, place: Place | undefined): Parameters =>
  Object.fromEntries((place ?? []).map((value, at) => [`${prefix}${at}`, value]));

/** The rows of a scope that are in a slice. */
export function within(table: MovedTable, scope: Scope, { after, upto }: Slice): Scope {
  const conditions = [
    scope.where,
    ...(after === undefined ? [] : [beside(table.key, '>', 'after')]),
    ...(upto === undefined ? [] : [beside(table.key, '<', 'upto')]),
  ];
  return {
    where: conditions.join(' AND '),
    parameters: { ...scope.parameters, ...parametersOf('after', after), ...parametersOf('upto', upto) },
  };
}

export const fromTable = ({ name, isReplacing }: MovedTable): string =>
  `${name}${isReplacing ? ' FINAL' : ''}`;

/** The bounds of slices of `rowsPerSlice` rows of a scope, as they are now; the last has what is left, which may be none. */
export async function* boundsOf(
  storage: Storage,
  table: MovedTable,
  scope: Scope,
): AsyncGenerator<Slice, void, undefined> {
  const columns = table.key.map((column, at) => `${asText(column)} AS k${at}`).join(', ');
  const order = table.key.map(({ name }) => name).join(', ');
  let after: Place | undefined;
  for (;;) {
    const rest = within(table, scope, { after, upto: undefined });
    const [row] = await storage.rows<Record<string, string>>(
      `SELECT ${columns} FROM ${fromTable(table)} WHERE ${rest.where} ORDER BY ${order} LIMIT 1 OFFSET {skip:UInt64}`,
      { ...rest.parameters, skip: table.rowsPerSlice - 1 },
      reading,
    );
    const upto = row === undefined ? undefined : table.key.map((_, at) => row[`k${at}`] ?? '');
    yield { after, upto };
    if (upto === undefined) return;
    after = upto;
  }
}

/** The same as scopes. */
export async function* slicesOf(
  storage: Storage,
  table: MovedTable,
  scope: Scope,
): AsyncGenerator<Scope, void, undefined> {
  for await (const slice of boundsOf(storage, table, scope)) yield within(table, scope, slice);
}

/** The hash of a row: of what tells it from others, or of all that is moved of it. */
export function markOf({ key, columns, isReplacing }: MovedTable, what: 'place' | 'content'): string {
  // Rows that replace each other can differ in anything, and are few or small.
  const names = what === 'content' || isReplacing ? columns : key.map(({ name }) => name);
  return `groupBitXor(cityHash64(tuple(${names.join(', ')})))`;
}

export async function digestOf(storage: Storage, table: MovedTable, scope: Scope): Promise<Digest> {
  // Names that no column has: an alias takes the place of a column.
  const [row] = await storage.rows<Record<'row_count' | 'row_mark', string>>(
    `SELECT toString(count()) AS row_count, toString(${markOf(table, 'place')}) AS row_mark
     FROM ${fromTable(table)} WHERE ${scope.where}`,
    scope.parameters,
    reading,
  );
  return { rows: Number(row?.row_count ?? 0), mark: row?.row_mark ?? '0' };
}
