import type { Parameters, Settings, Storage } from '../storage/storage.ts';
import { limits } from './limits.ts';

/** Which rows are meant: a condition with its parameters. */
export interface Scope {
  readonly where: string;
  readonly parameters: Parameters;
}

/** The key of an event, as texts. */
type EventKey = readonly string[];

/** Rows behind `after` up to and with `upto`, in the order of the key; undefined: from the first one, to the last. */
export interface Slice {
  readonly after: EventKey | undefined;
  readonly upto: EventKey | undefined;
}

/**
 * The order of the table answers all that is asked here. Projections would be taken for the rows of an organization, and
 * lead to each of them alone.
 */
const readSettings: Settings = {
  optimize_use_projections: 0,
  max_threads: 2,
  max_execution_time: Math.ceil(limits.backupQueryMsMax / 1000),
  max_bytes_before_external_group_by: limits.backupSpillBytes,
};
/** Types that every release of the engine reads alike, a few megabytes at a time. */
export const sendSettings: Settings = {
  ...readSettings,
  low_cardinality_allow_in_native_format: 0,
  max_threads: 1,
  max_block_size: 16_384,
  output_format_parallel_formatting: 0,
};
export const reading = { settings: readSettings, timeoutMs: limits.backupQueryMsMax };

/** The columns that the table of events is in the order of: how each travels as text, and is made of that. */
const key = [
  { text: 'toString(org)', name: 'org', value: (parameter: string) => `{${parameter}:UUID}` },
  {
    text: 'toString(toUnixTimestamp64Micro(time))',
    name: 'time',
    value: (parameter: string) => `fromUnixTimestamp64Micro({${parameter}:Int64}, 'UTC')`,
  },
  { text: 'toString(seq)', name: 'seq', value: (parameter: string) => `{${parameter}:UInt64}` },
] as const;
const rowsPerSlice = 131_072;

/** Behind a place of the key (`>`), or up to it (`<`, the place included); the engine finds such rows by its index. */
function beside(sign: '>' | '<', prefix: string, at = 0): string {
  const column = key[at];
  if (column === undefined) return sign === '<' ? '1' : '0';
  const value = column.value(`${prefix}${at}`);
  const rest = beside(sign, prefix, at + 1);
  return `(${column.name} ${sign} ${value} OR (${column.name} = ${value} AND ${rest}))`;
}

const parametersOf = (prefix: string, place: EventKey | undefined): Parameters =>
  Object.fromEntries((place ?? []).map((value, at) => [`${prefix}${at}`, value]));

/** The rows of a scope that are in a slice. */
export function within(scope: Scope, { after, upto }: Slice): Scope {
  const conditions = [
    scope.where,
    ...(after === undefined ? [] : [beside('>', 'after')]),
    ...(upto === undefined ? [] : [beside('<', 'upto')]),
  ];
  return {
    where: conditions.join(' AND '),
    parameters: { ...scope.parameters, ...parametersOf('after', after), ...parametersOf('upto', upto) },
  };
}

/** The bounds of slices of events of a scope, as they are now; the last has what is left, which may be none. */
export async function* boundsOf(storage: Storage, scope: Scope): AsyncGenerator<Slice, void, undefined> {
  const columns = key.map(({ text }, at) => `${text} AS k${at}`).join(', ');
  const order = key.map(({ name }) => name).join(', ');
  let after: EventKey | undefined;
  for (;;) {
    const rest = within(scope, { after, upto: undefined });
    const [row] = await storage.rows<Record<string, string>>(
      `SELECT ${columns} FROM events WHERE ${rest.where} ORDER BY ${order} LIMIT 1 OFFSET {skip:UInt64}`,
      { ...rest.parameters, skip: rowsPerSlice - 1 },
      reading,
    );
    const upto = row === undefined ? undefined : key.map((_, at) => row[`k${at}`] ?? '');
    yield { after, upto };
    if (upto === undefined) return;
    after = upto;
  }
}

/** A hash of rows that does not depend on their order. */
export function hashOf(columns: readonly string[]): string {
  return `groupBitXor(cityHash64(tuple(${columns.join(', ')})))`;
}
