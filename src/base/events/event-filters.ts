import { isIPv4, isIPv6 } from 'node:net';
import { foldCase } from './fold-case.ts';

/**
 * What events can be filtered by, in one place: the parameters of requests, the options of commands, the conditions of
 * queries and what the self-audit of an export says follow from it, and `npm run check` holds the documents against it.
 * src/read/README.md says what a filter more takes.
 */
interface EventFilter {
  /** The column of the table of events. */
  readonly column: string;
  /** Whether the column has an index or a projection of its own. */
  readonly isIndexed: boolean;
  readonly match: Match;
  /** For the command line. */
  readonly option: { readonly flag: string; readonly value: string; readonly meaning: string };
}

/** How a text becomes a value of the column. */
export interface Match {
  /** `equal`: the column is the value. `member`: the column is a list that has it. `range`: between two addresses. */
  readonly how: 'equal' | 'member' | 'range';
  /** The type of the engine. */
  readonly type: 'String' | 'Int64' | 'UUID' | 'IPv6';
  /** Undefined where the text cannot be meant. */
  read(text: string): FilterValue | undefined;
  /** What `read` takes, in words. */
  readonly allowed: string;
  /** All that it takes, where these are few. */
  readonly values?: readonly string[];
  /** Stands in the table for events without a value, so that no event has it. */
  readonly none?: string;
  /** The same as a value of conditions; undefined where every event has a value. Of a list it stands for an empty one. */
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
    option: option('ip', 'address', 'where it came from: an address, or a range as CIDR'),
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

/** `NAME.is`: whether events have a value at all, for filters that not every event has a value of. */
export const presences = ['none', 'any'] as const;
export type Presence = (typeof presences)[number];
export const readPresence = (text: string): Presence | undefined => presences.find((one) => one === text);
export const optionalFilterNames = filterNames.filter((name) => filterOf(name).match.absent !== undefined);

/** `in`: one of the values; `not`: none of them. Each filter can be given by its name, and by name and way. */
export const listWays = ['in', 'not'] as const;
export type ListWay = (typeof listWays)[number];

export const listValuesMax = 20;

/** The texts of a list: between commas, each percent-encoded. A broken encoding stays as text; empty ones are none. */
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

/** The values of a list, which `read` takes each; undefined where it does not take one, or there are too many. */
export function listValues<T>(list: string, read: (text: string) => T | undefined): T[] | undefined {
  const values = listTexts(list).map(read);
  if (values.length > listValuesMax) return undefined;
  return values.every((one) => one !== undefined) ? values : undefined;
}

/** The words of a search: as they stand in the parameter, between white space. */
export const searchWordsMax = 10;
/**
 * A pattern for the engine has up to a hundred bytes for each character of a word, and it takes no more than 128 KiB. What
 * texts cost that repeat themselves grows with the word's length.
 */
export const searchWordCharactersMax = 255;

/** The words to look for, as they are written; undefined where there are too many, or one is too long. */
export function searchWords(given: string): string[] | undefined {
  return searchable([...new Set(given.split(/\s+/).filter(Boolean))]);
}

/** The same of the texts in a list, such as `q.phrase`: white space belongs to them. */
export function searchTexts(list: string): string[] | undefined {
  return searchable([...new Set(listTexts(list))]);
}

function searchable(texts: string[]): string[] | undefined {
  const isLong = texts.some(({ length }) => length > searchWordCharactersMax);
  return isLong || texts.length > searchWordsMax ? undefined : texts;
}

/** Names of parameters that select events, of which the self-audit of an export tells. */
export const selectingParameters: readonly string[] = [
  'startTime',
  'endTime',
  ...[...filterNames, 'orgId'].flatMap((name) => [name, ...listWays.map((way) => `${name}.${way}`)]),
  ...optionalFilterNames.map((name) => `${name}.is`),
  'q',
  'q.phrase',
  'q.not',
];

/** First and last address, both as IPv6 in eight groups; an IPv4 address is the IPv6 one that maps it. */
interface IpRange {
  readonly first: string;
  readonly last: string;
}

const bitsOfAll = 128n;
const mappedPrefix = 0xffffn << 32n;

/**
 * The addresses that a text means: one, or all of a range written as CIDR; undefined where it is neither. The unspecified
 * address is none: in the table it stands for events without one.
 */
function parseIpRange(text: string): IpRange | undefined {
  const range = numbersOf(text);
  if (range === undefined || range.last === 0n) return undefined;
  return { first: addressText(range.first || 1n), last: addressText(range.last) };
}

function numbersOf(text: string): { readonly first: bigint; readonly last: bigint } | undefined {
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
  // A zone names an interface of some machine.
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
