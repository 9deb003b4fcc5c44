import { isIPv4, isIPv6 } from 'node:net';
import { foldCase } from './fold-case.ts';

/**
 * Parameters, command options, query conditions and the self-audit of exports follow from this table.
 * src/read/README.md explains how to add a filter.
 */
interface EventFilter {
  readonly column: string;
  readonly isIndexed: boolean;
  readonly match: Match;
  readonly option: { readonly flag: string; readonly value: string; readonly meaning: string };
}

export interface Match {
  /** `equal`: the column is the value. `member`: the list contains it. `range`: between two addresses. */
  readonly how: 'equal' | 'member' | 'range';
  /** The engine's type. */
  readonly type: 'String' | 'Int64' | 'UUID' | 'IPv6';
  /** Undefined if the text is invalid. */
  read(text: string): FilterValue | undefined;
  readonly allowed: string;
  readonly values?: readonly string[];
  /** Stands for events without a value; no event has it. */
  readonly none?: string;
  /** That value in conditions; undefined if every event has a value. For a list it means an empty one. */
  readonly absent?: FilterValue;
}

export type FilterValue = string | IpRange;

const text: Match = { how: 'equal', type: 'String', allowed: 'a text', read: foldCase, absent: '' };
const texts: Match = { ...text, how: 'member' };
const nilUuid = '00000000-0000-0000-0000-000000000000';
const uuid: Match = {
  how: 'equal',
  type: 'UUID',
  allowed: 'a UUID',
  none: nilUuid,
  absent: nilUuid,
  read: (given) =>
    /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(given) ? given.toLowerCase() : undefined,
};
const code: Match = {
  how: 'equal',
  type: 'Int64',
  allowed: 'a whole number',
  read: (given) => {
    const value = /^-?\d{1,19}$/.test(given) ? BigInt(given) : undefined;
    return value === undefined || value !== BigInt.asIntN(64, value) ? undefined : String(value);
  },
};
const addresses: Match = {
  how: 'range',
  type: 'IPv6',
  allowed: 'an address, or a range such as 10.0.0.0/8',
  absent: { first: '::', last: '::' },
  read: parseIpRange,
};

function oneOf(names: readonly string[]): Match {
  const read = (given: string) => names.find((name) => foldCase(name) === foldCase(given));
  return { how: 'equal', type: 'String', allowed: names.join(', '), values: names, read };
}

const option = (flag: string, value: string, meaning: string): EventFilter['option'] => ({
  flag,
  value,
  meaning,
});

const eventFilters = {
  actor: {
    column: 'actor_email',
    isIndexed: true,
    match: text,
    option: option('actor', 'email', "the actor's e-mail address"),
  },
  userId: {
    column: 'actor_id',
    isIndexed: true,
    match: text,
    option: option('user-id', 'id', "the actor's id"),
  },
  fileName: {
    column: 'names',
    isIndexed: true,
    match: texts,
    option: option('file-name', 'name', "the sender's file or the target's name"),
  },
  fileHash: {
    column: 'file_hash',
    isIndexed: true,
    match: texts,
    option: option('file-hash', 'hash', "the sender's hash or extra.fileHash"),
  },
  flowId: {
    column: 'flow_id',
    isIndexed: true,
    match: uuid,
    option: option('flow-id', 'uuid', 'the events of one workflow'),
  },
  ip: {
    column: 'src_ip',
    isIndexed: false,
    match: addresses,
    option: option('ip', 'address', 'source address, or a range as CIDR'),
  },
  activity: {
    column: 'activity_id',
    isIndexed: false,
    match: code,
    option: option('activity', 'code', 'the code of the activity'),
  },
  severity: {
    column: 'severity',
    isIndexed: false,
    match: oneOf(['Informational', 'Medium', 'High']),
    option: option('severity', 'name', 'Informational, Medium or High'),
  },
  status: {
    column: 'status',
    isIndexed: false,
    match: oneOf(['Success', 'Failure']),
    option: option('status', 'name', 'Success or Failure'),
  },
} as const satisfies Readonly<Record<string, EventFilter>>;

export type FilterName = keyof typeof eventFilters;
export type FilterColumn = (typeof eventFilters)[FilterName]['column'];

export const filterNames = Object.keys(eventFilters) as FilterName[];
export const filterOf = (name: FilterName): EventFilter => eventFilters[name];

/** `NAME.is`: events with or without a value, for filters that not every event has. */
export const presences = ['none', 'any'] as const;
export type Presence = (typeof presences)[number];
export const readPresence = (text: string): Presence | undefined => presences.find((one) => one === text);
export const optionalFilterNames = filterNames.filter((name) => filterOf(name).match.absent !== undefined);

/** `in`: one of the values; `not`: none of them. */
export const listWays = ['in', 'not'] as const;
export type ListWay = (typeof listWays)[number];

export const listValuesMax = 20;

/** Comma-separated, percent-encoded values. A broken encoding stays as text. */
function listTexts(list: string): string[] {
  return list
    .split(',')
    .filter((one) => one !== '')
    .map((one) => {
      try {
        return decodeURIComponent(one);
      } catch {
        return one;
      }
    });
}

export function listValues<T>(list: string, read: (text: string) => T | undefined): T[] | undefined {
  const values = listTexts(list).map(read);
  if (values.length > listValuesMax) return undefined;
  return values.every((one) => one !== undefined) ? values : undefined;
}

export const searchWordsMax = 10;
/** The engine accepts patterns up to 128 KiB, with up to a hundred bytes a character. */
export const searchWordCharactersMax = 255;

export function searchWords(given: string): string[] | undefined {
  return searchable([...new Set(given.split(/\s+/).filter(Boolean))]);
}

/** Like `searchWords`, for a list such as `q.phrase`. */
export const searchTexts = (list: string): string[] | undefined => searchable([...new Set(listTexts(list))]);

function searchable(texts: string[]): string[] | undefined {
  const isLong = texts.some(({ length }) => length > searchWordCharactersMax);
  return isLong || texts.length > searchWordsMax ? undefined : texts;
}

export const selectingParameters: readonly string[] = [
  'startTime',
  'endTime',
  ...[...filterNames, 'orgId'].flatMap((name) => [name, ...listWays.map((way) => `${name}.${way}`)]),
  ...optionalFilterNames.map((name) => `${name}.is`),
  'q',
  'q.phrase',
  'q.not',
];

/** First and last IPv6 address in eight groups; IPv4 is mapped. */
interface IpRange {
  readonly first: string;
  readonly last: string;
}

const bitsOfAll = 128n;
const mappedPrefix = 0xffffn << 32n;

/** An address or CIDR range. The unspecified address stands for events without one. */
function parseIpRange(text: string): IpRange | undefined {
  const range = parseRange(text);
  if (range === undefined || range.last === 0n) return undefined;
  return { first: addressText(range.first || 1n), last: addressText(range.last) };
}

function parseRange(text: string): { readonly first: bigint; readonly last: bigint } | undefined {
  const [address = '', bits, ...more] = text.split('/');
  const number = addressNumber(address);
  const most = isIPv4(address) ? 32 : 128;
  if (number === undefined || more.length > 0) return undefined;
  if (bits === undefined) return { first: number, last: number };
  if (!/^(?:0|[1-9]\d{0,2})$/.test(bits) || Number(bits) > most) return undefined;
  const inRange = (1n << BigInt(most - Number(bits))) - 1n;
  const last = number | inRange;
  return { first: last ^ inRange, last };
}

function addressNumber(text: string): bigint | undefined {
  if (isIPv4(text)) return mappedPrefix | numberOfIpv4(text);
  // A zone names a local interface.
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const whole = text.replace(/\d+\.\d+\.\d+\.\d+$/, (ipv4) => {
    const number = numberOfIpv4(ipv4);
    return `${(number >> 16n).toString(16)}:${(number & 0xffffn).toString(16)}`;
  });
  const [before = [], after = []] = whole.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

function numberOfIpv4(text: string): bigint {
  return text.split('.').reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
}

function addressText(number: bigint): string {
  const groups: string[] = [];
  for (let shift = bitsOfAll - 16n; shift >= 0n; shift -= 16n)
    groups.push(((number >> shift) & 0xffffn).toString(16));
  return groups.join(':');
}
