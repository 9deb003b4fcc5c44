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

/** Which events of an organization are asked for; every part may be absent, all that are given must hold. */
export interface AuditFilter {
  /** Unix microseconds, both inclusive. */
  readonly fromMicros?: number;
  readonly toMicros?: number;
  /** Unix microseconds: events before it have expired by the organization's retention, and nobody is shown them. */
  readonly cutOffMicros?: number | undefined;
  /** By filter: the value, one of the values, none of the values. Texts are lower-cased, as the columns are. */
  readonly is?: ByFilter<FilterValue>;
  readonly in?: ByFilter<readonly FilterValue[]>;
  readonly not?: ByFilter<readonly FilterValue[]>;
  /** All of them stand in the shown event, in any case; phrases are words with spaces. Given, if empty, where `notWords` is. */
  readonly words?: readonly string[];
  /** None of them stands there. */
  readonly notWords?: readonly string[];
  /** What is on one side of a place in the order of pages. */
  readonly side?: Side;
  /** Order numbers from this one on. */
  readonly sinceSeq?: string;
  /** What no event has is asked for, such as an `orgId` that is not the caller's. */
  readonly nothing?: true;
}

/** One side of a place. Among the events at `micros` (Unix microseconds) the order number `seq` divides the sides. */
export interface Side {
  readonly of: 'older' | 'newer';
  readonly micros: number;
  readonly seq: string;
}

type ByFilter<T> = Readonly<Partial<Record<FilterName, T>>>;

/** The form of events that a reader asks for; where it is absent, the default one. */
export type EventSchema = 'ocsf';

export interface PageRequest {
  readonly filter: AuditFilter;
  readonly schema?: EventSchema;
  readonly limit: number;
  readonly offset: number;
}

/** Whose events are read; `id` is a lower-case UUID. */
export interface OrganizationNames {
  readonly id: string;
  readonly slug: string;
}

/**
 * The request that query parameters describe (contract: Read parameters). Nothing is ever an error: what is invalid
 * is as if it had not been given.
 */
export function readPageRequest(parameters: QueryParameters, organization: OrganizationNames): PageRequest {
  return {
    filter: readFilter(parameters, organization),
    ...readSchema(parameters),
    limit: readLimit(parameters, limits.pageLimitDefault, limits.pageLimitMax),
    offset: readOffset(parameters),
  };
}

/** The form of events that is asked for: `ocsf`, or the default for anything else. */
export function readSchema(parameters: QueryParameters): { readonly schema?: EventSchema } {
  const schema = parameters.read('schema', (text) => ['default', 'ocsf'].find((one) => one === text));
  return schema === 'ocsf' ? { schema } : {};
}

/** The filters of query parameters, without paging; `organization` is the caller's. */
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

/** The same but for words: what is counted as a whole cannot be read from texts. */
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

/** Whether the caller's organization is among those that are asked for. */
function readOrganization(parameters: QueryParameters, { id, slug }: OrganizationNames): boolean {
  const isOwn = (text: string): boolean => [id, slug].includes(text.toLowerCase());
  const one = parameters.read('orgId', isOwn) ?? true;
  const among = parameters.read('orgId.in', (list) => listValues(list, isOwn)) ?? [];
  const not = parameters.read('orgId.not', (list) => listValues(list, isOwn)) ?? [];
  return one && (among.length === 0 || among.includes(true)) && !not.includes(true);
}

/** Conditions on columns. Values that no event has are left out of lists; `isPossible` tells that others were wanted. */
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
    // A list of one is what has an index.
    else if (first !== undefined && more.length === 0 && one === undefined) is[name] = first;
    else if (first !== undefined) within[name] = [first, ...more];
    const { absent } = match;
    const presence = absent === undefined ? undefined : parameters.read(`${name}.is`, readPresence);
    // What has a value of those wanted has one.
    if (presence === 'none' && (is[name] ?? within[name]) !== undefined) isPossible = false;
    else if (presence === 'none' && absent !== undefined) within[name] = [absent];
    if (presence === 'any' && absent !== undefined) others.push(absent);
    if (others.length > 0) not[name] = others;
  }
  return { is, within, not, isPossible };
}

/** `startTime` and `endTime` alone. */
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
 * The request for rows of a list: the filters of pages; `from`, `before` or `after` a place, of which the first that is
 * given counts; and `since` an order number. Invalid ones are as if they had not been given.
 */
export function readRowsRequest(parameters: QueryParameters, organization: OrganizationNames): RowsRequest {
  const filter = readFilter(parameters, organization);
  const [from, before, after] = ['from', 'before', 'after'].map((name) => parameters.read(name, readPlace));
  const sinceSeq = parameters.read('since', readSeq);
  const place = from ?? before ?? after;
  // A search begins at the newest event, so it knows the rows next to a place last: none can be passed over before.
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

/** A place in the order of pages, after all events of its instant where it names none. */
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

/** The range of time says the most of it, and has an index. `isIn`: the event at the place belongs to it. */
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

/** Clamped to just outside of what an event can have, so that any year fits the engine's type. */
function time(text: string): number | undefined {
  // A plus sign that nobody encoded arrives as a space.
  const micros = parseRfc3339Micros(text.replace(/ (?=\d\d:\d\d$)/, '+'));
  if (micros === undefined) return undefined;
  return Math.max(baseLimits.eventTimeMicrosMin - 1, Math.min(baseLimits.eventTimeMicrosMax + 1, micros));
}

/** Rows wanted, however many digits there are; undefined when the text is no positive integer. */
export function parseLimit(text: string): number | undefined {
  return /^0*[1-9]\d*$/.test(text) ? Number(text) : undefined;
}

export function readLimit<T>(parameters: QueryParameters, otherwise: T, max: number): number | T {
  return parameters.readCapped('limit', parseLimit, max) ?? otherwise;
}

/** Rows to skip; 0 when the text is no safe integer. */
export function readOffset(parameters: QueryParameters): number {
  const offset = parameters.read('offset', (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : undefined;
    return Number.isSafeInteger(value) ? value : undefined;
  });
  return offset ?? 0;
}

/** Whether anything but the time decides which of an organization's events match. */
export function hasColumnFilter({ is, in: within, not, words, sinceSeq }: AuditFilter): boolean {
  return [is, within, not, words, sinceSeq].some((one) => one !== undefined);
}

/** Whether a column decides that has an index or a projection of its own. */
export function hasIndexedFilter({ is = {}, in: within = {}, sinceSeq }: AuditFilter): boolean {
  if (sinceSeq !== undefined) return true;
  return filterNames.some(
    (name) => filterOf(name).isIndexed && (is[name] !== undefined || within[name] !== undefined),
  );
}

/** The earliest time that can match, Unix microseconds, by the filter and by retention; undefined: any. */
export function earliestOf({ fromMicros, cutOffMicros }: AuditFilter): number | undefined {
  if (fromMicros === undefined || cutOffMicros === undefined) return fromMicros ?? cutOffMicros;
  return Math.max(fromMicros, cutOffMicros);
}

/** The range of times that can match, Unix microseconds, both inclusive. */
export function timesOf(filter: AuditFilter): { from: number; to: number } {
  const { eventTimeMicrosMin: from, eventTimeMicrosMax: to } = baseLimits;
  return { from: earliestOf(filter) ?? from, to: filter.toMicros ?? to };
}

export interface Where {
  /** An SQL condition over columns of `events`. */
  readonly sql: string;
  readonly parameters: Readonly<Record<string, Parameter>>;
}

type Parameter = string | number | readonly (FilterValue | bigint)[];

/** The condition for one organization's events that match; values only as parameters. */
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
 * The condition that a column has one of the values, or none of them; they become parameters that begin with `prefix`.
 * No `NOT (… AND …)`: see storage/README.md, Conditions.
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
