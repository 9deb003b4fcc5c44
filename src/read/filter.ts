import {
  filterNames,
  type FilterName,
  filterOf,
  type FilterValue,
  listValues,
  type ListWay,
  type Match,
  readPresence,
  searchTexts,
  searchWords,
} from '../base/events/event-filters.ts';
import { limits as baseLimits } from '../base/limits.ts';
import { limits } from './limits.ts';
import { parseRfc3339Micros } from '../base/time/timestamp.ts';
import type { QueryParameters } from './parameters.ts';
import { wordsCondition } from './words.ts';

/** Parts are optional and combined with AND. */
export interface AuditFilter {
  /** Unix microseconds, inclusive. */
  readonly fromMicros?: number;
  readonly toMicros?: number;
  /** Unix microseconds: earlier events have expired and are hidden. */
  readonly cutOffMicros?: number | undefined;
  /** By filter: the value, one of several, none of several. Texts are lower-case, as the columns are. */
  readonly is?: ByFilter<FilterValue>;
  readonly in?: ByFilter<readonly FilterValue[]>;
  readonly not?: ByFilter<readonly FilterValue[]>;
  /**
   * Words, or phrases with spaces, that all occur in the shown event, in any case. Set, if empty, with
   * `notWords`.
   */
  readonly words?: readonly string[];
  readonly notWords?: readonly string[];
  readonly side?: Side;
  readonly sinceSeq?: string;
  /** Nothing can match, for example another organization's `orgId`. */
  readonly nothing?: true;
}

/** One side of a position in the order of pages. `seq` divides the events at `micros` (Unix microseconds). */
export interface Side {
  readonly of: 'older' | 'newer';
  readonly micros: number;
  readonly seq: string;
}

type ByFilter<T> = Readonly<Partial<Record<FilterName, T>>>;

export type EventSchema = 'ocsf';

export interface PageRequest {
  readonly filter: AuditFilter;
  readonly schema?: EventSchema;
  readonly limit: number;
  readonly offset: number;
}

/** `id` is a lower-case UUID. */
export interface OrganizationNames {
  readonly id: string;
  readonly slug: string;
}

/** Reads query parameters leniently: an invalid value counts as absent (contract: Read parameters). */
export function readPageRequest(parameters: QueryParameters, organization: OrganizationNames): PageRequest {
  return {
    filter: readFilter(parameters, organization),
    ...readSchema(parameters),
    limit: readLimit(parameters, limits.pageLimitDefault, limits.pageLimitMax),
    offset: readOffset(parameters),
  };
}

export function readSchema(parameters: QueryParameters): { readonly schema?: EventSchema } {
  const schema = parameters.read('schema', (text) => ['default', 'ocsf'].find((one) => one === text));
  return schema === 'ocsf' ? { schema } : {};
}

export function readFilter(parameters: QueryParameters, organization: OrganizationNames): AuditFilter {
  const phrases = parameters.read('q.phrase', searchTexts) ?? [];
  const words = [...(parameters.read('q', searchWords) ?? []), ...phrases];
  const notWords = parameters.read('q.not', searchTexts) ?? [];
  return {
    ...readColumnFilter(parameters, organization),
    ...(words.length + notWords.length > 0 && { words }),
    ...(notWords.length > 0 && { notWords }),
  };
}

/** As `readFilter` without words, for counts that do not read texts. */
export function readColumnFilter(parameters: QueryParameters, organization: OrganizationNames): AuditFilter {
  const own = readOrganization(parameters, organization);
  const { is, within, not, isPossible } = readColumns(parameters);
  return {
    ...readTimeRange(parameters),
    ...(Object.keys(is).length > 0 && { is }),
    ...(Object.keys(within).length > 0 && { in: within }),
    ...(Object.keys(not).length > 0 && { not }),
    ...(own && isPossible ? {} : { nothing: true as const }),
  };
}

function readOrganization(parameters: QueryParameters, { id, slug }: OrganizationNames): boolean {
  const isOwn = (text: string): boolean => [id, slug].includes(text.toLowerCase());
  const one = parameters.read('orgId', isOwn) ?? true;
  const among = parameters.read('orgId.in', (list) => listValues(list, isOwn)) ?? [];
  const not = parameters.read('orgId.not', (list) => listValues(list, isOwn)) ?? [];
  return one && (among.length === 0 || among.includes(true)) && !not.includes(true);
}

/** Values that no event has are left out of lists; `isPossible` is false if only such values remain. */
function readColumns(parameters: QueryParameters) {
  const is: { [K in FilterName]?: FilterValue } = {};
  const within: { [K in FilterName]?: readonly FilterValue[] } = {};
  const not: { [K in FilterName]?: readonly FilterValue[] } = {};
  let isPossible = true;
  for (const name of filterNames) {
    const { match } = filterOf(name);
    const read = (text: string): FilterValue | undefined => match.read(text);
    const listed = (way: ListWay): readonly FilterValue[] =>
      parameters.read(`${name}.${way}`, (list) => listValues(list, read)) ?? [];
    const real = (values: readonly FilterValue[]) => values.filter((one) => one !== match.none);
    const one = parameters.read(name, read);
    const [among, others] = [listed('in'), real(listed('not'))];
    const [first, ...more] = real(among);
    if (one === match.none && one !== undefined) isPossible = false;
    else if (one !== undefined) is[name] = one;
    if (among.length > 0 && first === undefined) isPossible = false;
    else if (first !== undefined && more.length === 0 && one === undefined) is[name] = first;
    else if (first !== undefined) within[name] = [first, ...more];
    const { absent } = match;
    const presence = absent === undefined ? undefined : parameters.read(`${name}.is`, readPresence);
    if (presence === 'none' && (is[name] ?? within[name]) !== undefined) isPossible = false;
    else if (presence === 'none' && absent !== undefined) within[name] = [absent];
    if (presence === 'any' && absent !== undefined) others.push(absent);
    if (others.length > 0) not[name] = others;
  }
  return { is, within, not, isPossible };
}

export function readTimeRange(parameters: QueryParameters): Pick<AuditFilter, 'fromMicros' | 'toMicros'> {
  const fromMicros = parameters.read('startTime', time);
  const toMicros = parameters.read('endTime', time);
  return { ...(fromMicros !== undefined && { fromMicros }), ...(toMicros !== undefined && { toMicros }) };
}

export interface RowsRequest {
  readonly filter: AuditFilter;
  readonly limit: number;
  readonly offset: number;
}

const seqMax = (1n << 64n) - 1n;

/**
 * Page filters, a position (`from`, `before` or `after`; the first given counts), and `since`. Invalid values count as absent.
 */
export function readRowsRequest(parameters: QueryParameters, organization: OrganizationNames): RowsRequest {
  const filter = readFilter(parameters, organization);
  const [from, before, after] = ['from', 'before', 'after'].map((name) => parameters.read(name, readPlace));
  const sinceSeq = parameters.read('since', readSeq);
  const place = from ?? before ?? after;
  // A search begins at the newest event and finds the rows next to a position last, so it cannot skip any.
  const hasOffset = place !== after || place === undefined || filter.words === undefined;
  return {
    filter: {
      ...(place === undefined
        ? filter
        : onSide(filter, place, { isOlder: place !== after, isIn: place === from })),
      ...(sinceSeq !== undefined && { sinceSeq: String(sinceSeq) }),
    },
    limit: readLimit(parameters, limits.pageLimitDefault, limits.pageLimitMax),
    offset: hasOffset ? readOffset(parameters) : 0,
  };
}

/** A position in the order of pages; without `seq`, after all events of its instant. */
interface Place {
  readonly micros: number;
  readonly seq: bigint | undefined;
}

/** `2026-05-12T09:30:00.250118Z~4629700416936869888`: time and order number of an event; or a time alone. */
export function readPlace(text: string): Place | undefined {
  const [instant = '', number, ...more] = text.split('~');
  const micros = time(instant);
  const seq = number === undefined ? undefined : readSeq(number);
  if (micros === undefined || more.length > 0 || (number !== undefined && seq === undefined))
    return undefined;
  return { micros, seq };
}

function readSeq(text: string): bigint | undefined {
  const value = /^\d{1,20}$/.test(text) ? BigInt(text) : undefined;
  return value === undefined || value > seqMax ? undefined : value;
}

/** The time range does most of it, and has an index. `isIn`: includes the event at the position. */
export function onSide(
  filter: AuditFilter,
  { micros, seq = seqMax }: Place,
  { isOlder, isIn }: { readonly isOlder: boolean; readonly isIn: boolean },
): AuditFilter {
  const { fromMicros = micros, toMicros = micros } = filter;
  const bound = isIn && seq < seqMax ? seq + 1n : seq;
  return isOlder
    ? { ...filter, toMicros: Math.min(toMicros, micros), side: { of: 'older', micros, seq: String(bound) } }
    : {
        ...filter,
        fromMicros: Math.max(fromMicros, micros),
        side: { of: 'newer', micros, seq: String(bound) },
      };
}

/** Clamped to just outside the range of events, so that any year fits the engine's type. */
function time(text: string): number | undefined {
  const micros = parseRfc3339Micros(text.replace(/ (?=\d\d:\d\d$)/, '+'));
  if (micros === undefined) return undefined;
  return Math.max(baseLimits.eventTimeMicrosMin - 1, Math.min(baseLimits.eventTimeMicrosMax + 1, micros));
}

export function parseLimit(text: string): number | undefined {
  return /^0*[1-9]\d*$/.test(text) ? Number(text) : undefined;
}

export function readLimit<T>(parameters: QueryParameters, otherwise: T, max: number): number | T {
  return parameters.readCapped('limit', parseLimit, max) ?? otherwise;
}

export function readOffset(parameters: QueryParameters): number {
  const offset = parameters.read('offset', (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : undefined;
    return Number.isSafeInteger(value) ? value : undefined;
  });
  return offset ?? 0;
}

export function hasColumnFilter({ is, in: within, not, words, sinceSeq }: AuditFilter): boolean {
  return [is, within, not, words, sinceSeq].some((one) => one !== undefined);
}

export function hasIndexedFilter({ is = {}, in: within = {}, sinceSeq }: AuditFilter): boolean {
  if (sinceSeq !== undefined) return true;
  return filterNames.some(
    (name) => filterOf(name).isIndexed && (is[name] !== undefined || within[name] !== undefined),
  );
}

/** Undefined: any. */
export function earliestOf({ fromMicros, cutOffMicros }: AuditFilter): number | undefined {
  if (fromMicros === undefined || cutOffMicros === undefined) return fromMicros ?? cutOffMicros;
  return Math.max(fromMicros, cutOffMicros);
}

export function timesOf(filter: AuditFilter): { from: number; to: number } {
  const { eventTimeMicrosMin: from, eventTimeMicrosMax: to } = baseLimits;
  return { from: earliestOf(filter) ?? from, to: filter.toMicros ?? to };
}

export interface Where {
  readonly sql: string;
  readonly parameters: Readonly<Record<string, Parameter>>;
}

type Parameter = string | number | readonly (FilterValue | bigint)[];

/** Values are parameters only. */
export function whereClause(organization: string, filter: AuditFilter): Where {
  const conditions = ['org = {org:UUID}'];
  const parameters: Record<string, Parameter> = { org: organization };
  const addTime = (condition: string, name: string, value: number | undefined): void => {
    if (value === undefined) return;
    conditions.push(condition);
    parameters[name] = value;
  };
  if (filter.nothing) conditions.push('0');
  addTime("time >= fromUnixTimestamp64Micro({from:Int64}, 'UTC')", 'from', earliestOf(filter));
  addTime("time <= fromUnixTimestamp64Micro({to:Int64}, 'UTC')", 'to', filter.toMicros);
  if (filter.side !== undefined) {
    const { of, micros, seq } = filter.side;
    const beyond = of === 'older' ? '<' : '>';
    conditions.push(
      `(time ${beyond} fromUnixTimestamp64Micro({side:Int64}, 'UTC') OR ` +
        `(time = fromUnixTimestamp64Micro({side:Int64}, 'UTC') AND seq ${beyond} {side_seq:UInt64}))`,
    );
    Object.assign(parameters, { side: micros, side_seq: seq });
  }
  if (filter.sinceSeq !== undefined) {
    conditions.push('seq >= {since_seq:UInt64}');
    parameters['since_seq'] = filter.sinceSeq;
  }
  for (const name of filterNames) {
    const { column, match } = filterOf(name);
    const { [name]: one } = filter.is ?? {};
    if (one !== undefined) conditions.push(valuesCondition(column, match, column, [one], parameters));
    const { [name]: among = [] } = filter.in ?? {};
    if (among.length > 0) conditions.push(valuesCondition(column, match, `${column}_in`, among, parameters));
    const { [name]: others = [] } = filter.not ?? {};
    if (others.length > 0)
      conditions.push(valuesCondition(column, match, `${column}_not`, others, parameters, 'NOT '));
  }
  const { sql, parameters: ofWords } = wordsCondition(filter.words ?? [], filter.notWords);
  return { sql: [...conditions, ...sql].join(' AND '), parameters: { ...parameters, ...ofWords } };
}

/**
 * One of the values, or none of them; parameter names begin with `prefix`. Never `NOT (… AND …)`
 * (storage/README.md, Conditions).
 */
function valuesCondition(
  column: string,
  { how, type, absent }: Pick<Match, 'how' | 'type' | 'absent'>,
  prefix: string,
  values: readonly FilterValue[],
  parameters: Record<string, Parameter>,
  not: '' | 'NOT ' = '',
): string {
  const single = values.length === 1;
  const bind = (name: string, value: string): string => {
    parameters[name] = value;
    return `{${name}:${type}}`;
  };
  if (how === 'equal' && !single) {
    parameters[prefix] = type === 'Int64' ? values.map((one) => BigInt(one as string)) : values;
    return `(${column} ${not}IN {${prefix}:Array(${type})})`;
  }
  const each = values.map((value, index) => {
    const name = single ? prefix : `${prefix}${index}`;
    if (typeof value !== 'string')
      return `${column} ${not}BETWEEN ${bind(`${name}_first`, value.first)} AND ${bind(`${name}_last`, value.last)}`;
    if (how === 'member' && value === absent) return `${not}empty(${column})`;
    return (
      not + (how === 'member' ? `has(${column}, ${bind(name, value)})` : `${column} = ${bind(name, value)}`)
    );
  });
  return `(${each.join(not ? ' AND ' : ' OR ')})`;
}
