import { foldCase } from '../../src/base/events/fold-case.ts';
import { BlockList, isIP, isIPv4 } from 'node:net';
import type { Draw } from '../simulator/draw.ts';
import { dayMicros } from '../simulator/model.ts';

/** Filters of events, drawn, and what they select by the plainest reading of the contract. */

const filterNames = [
  'actor',
  'userId',
  'fileName',
  'fileHash',
  'flowId',
  'ip',
  'activity',
  'severity',
  'status',
  'orgId',
] as const;
type FilterName = (typeof filterNames)[number];

/** What filters look at, as it is written. */
export interface Facts {
  readonly micros: number;
  readonly values: Readonly<Record<FilterName, readonly string[]>>;
  /** The audit event as it is shown. */
  readonly audit: string;
}

/** What is drawn beside the values of events: mostly what no event has. */
const others: Readonly<Record<FilterName, readonly string[]>> = {
  actor: ['nobody@x.example', ' '],
  userId: ['id-9'],
  fileName: ['none.txt'],
  fileHash: ['ff'],
  flowId: ['00000000-0000-0000-0000-000000000000', '3e9cf1d2-4c56-4d0f-8f57-0c7f2e6a1b90'],
  ip: ['198.51.100.1', '0.0.0.0/0', '::/0', '192.0.2.64/26', '2001:DB8::/32', '::ffff:192.0.2.0/120'],
  activity: ['5', '-7', '9007199254740991'],
  severity: ['Informational', 'Medium', 'High'],
  status: ['Success', 'Failure'],
  orgId: ['another'],
};

/** The text at a path; anything else counts as absent, and so does the empty text. */
function at(value: unknown, ...path: readonly string[]): string[] {
  let found = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null) return [];
    found = (found as Record<string, unknown>)[name];
  }
  return typeof found === 'string' && found !== '' ? [found] : [];
}

/** `audit`: the event as it is shown. `source`: as it is stored; where nobody knows it, an empty object. */
export function factsOf(
  organization: { readonly id: string; readonly slug: string },
  audit: string,
  source: string,
): Facts {
  const shown = JSON.parse(audit) as { readonly time: number; readonly activity_id: number };
  const { message } = JSON.parse(source) as { readonly message?: unknown };
  const target = at(message, 'target');
  const values = {
    actor: at(shown, 'actor', 'user', 'email_addr'),
    userId: at(message, 'actor', 'id'),
    fileName: [...at(message, 'sender', 'file'), ...target, ...at(message, 'target', 'name')],
    fileHash: [...at(message, 'sender', 'hash'), ...at(message, 'extra', 'fileHash')],
    flowId: at(shown, 'flow_id'),
    ip: at(shown, 'src_endpoint', 'ip'),
    activity: [String(shown.activity_id)],
    severity: at(shown, 'severity'),
    status: at(shown, 'status'),
    orgId: [organization.id, organization.slug],
  };
  return { micros: shown.time, values, audit };
}

type Selects = (facts: Facts) => boolean;

/** Whether a text is an address of somebody: a zone names an interface of some machine, and `::` stands for none. */
const isAddress = (text: string): boolean => isIP(text) > 0 && !text.includes('%') && !/^[0:]+$/.test(text);

/** An address as one of IPv6: an IPv4 address is the one that maps it. */
const mapped = (address: string): string => (isIPv4(address) ? `::ffff:${address}` : address);

/** Whether an event comes from an address or a range. */
function comesFrom(range: string): Selects {
  const [first = '', bits] = range.split('/');
  const list = new BlockList();
  list.addSubnet(mapped(first), bits === undefined ? 128 : Number(bits) + (isIPv4(first) ? 96 : 0), 'ipv6');
  return ({ values: { ip } }) => ip.some((one) => isAddress(one) && list.check(mapped(one), 'ipv6'));
}

/** Whether an event has a value. */
function has(name: FilterName, value: string): Selects {
  if (name === 'ip') return comesFrom(value);
  const folded = foldCase(value);
  return ({ values }) => values[name].some((one) => foldCase(one) === folded);
}

/** Whether an event has any value. An address counts where it is one. */
function hasAny(name: FilterName): Selects {
  return ({ values }) => values[name].some((one) => name !== 'ip' || isAddress(one));
}

/** What differs in events as they are shown. */
function varying(audit: string): object {
  const { actor, metadata, ...rest } = JSON.parse(audit) as Record<string, Record<string, unknown>>;
  const texts = Object.entries(rest).filter(([name]) => !/^(category|class|type)_/.test(name));
  const { log_provider, log_version } = metadata ?? {};
  return {
    ...Object.fromEntries(texts),
    actor: { user: actor?.['user'] },
    metadata: { log_provider, log_version },
  };
}

/** The values in an event, as texts: without the names of members. */
function valuesIn(value: unknown): string[] {
  return typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(valuesIn)
    : [String(value)];
}

function hasWords(words: readonly string[]): Selects {
  const wanted = words.map(foldCase);
  return ({ audit }) => {
    // Enrichments have the values of extra_map once more, beside their names.
    const texts = valuesIn({ ...varying(audit), enrichments: undefined }).map(foldCase);
    return wanted.every((word) => texts.some((text) => text.includes(word)));
  };
}

/** In other letters, where these are the same in any case. */
function recased(draw: Draw, text: string): string {
  const other = draw.pick([text, text.toUpperCase(), text.toLowerCase()]);
  return other.toLowerCase() === text.toLowerCase() ? other : text;
}

const valueCharactersMax = 100;

/** A value of any event, or another one. */
function drawValue(draw: Draw, name: FilterName, all: readonly Facts[]): string {
  const found = draw
    .pick(all)
    .values[name].filter((one) => one.length <= valueCharactersMax && (name !== 'ip' || isAddress(one)));
  const value = draw.chance(0.2) ? undefined : draw.pickAny(found);
  if (value === undefined) return draw.pick(others[name]);
  if (name !== 'ip') return recased(draw, value);
  const bits = isIPv4(value) ? ['', '/24', '/30', '/32'] : ['', '/32', '/126', '/127'];
  // A zone names an interface of some machine, and no range.
  return value.includes('%')
    ? draw.pick(others.ip)
    : draw.pick([value, mapped(value), value + draw.pick(bits)]);
}

const listOf = (values: readonly string[]): string =>
  values.map((one) => one.replaceAll('%', '%25').replaceAll(',', '%2C')).join(',');

interface Filter {
  readonly name: string;
  readonly value: string;
  readonly selects: Selects;
}

/** One value, one of several, or none of them. */
function valueFilter(draw: Draw, all: readonly Facts[]): Filter {
  const name = draw.pick(filterNames);
  const way = draw.pick(['', '', '.in', '.not', '.not']);
  const values = Array.from({ length: way === '' ? 1 : draw.int(1, 6) }, () => drawValue(draw, name, all));
  const each = values.map((value) => has(name, value));
  return {
    name: `${name}${way}`,
    value: way === '' ? (values[0] ?? '') : listOf(values),
    selects: (facts) => each.some((selects) => selects(facts)) !== (way === '.not'),
  };
}

/** Events without a value, or the others; of values that the shown event has, as nobody knows every source event. */
function presenceFilter(draw: Draw): Filter {
  const name = draw.pick(['actor', 'flowId', 'ip'] as const);
  const value = draw.pick(['none', 'any']);
  const has = hasAny(name);
  return { name: `${name}.is`, value, selects: (facts) => has(facts) === (value === 'any') };
}

/**
 * Whether each character has one form in either case. The engine looks for words letter by letter: of other letters only
 * the sigma at the end of Greek words is found in any case.
 */
function isPlainWord(word: string): boolean {
  return Array.from(word).every((one) => {
    const [lower, upper] = [one.toLowerCase(), one.toUpperCase()];
    const isOne = lower.length === one.length && upper.length === one.length;
    return one === 'ς' || (isOne && upper.toLowerCase() === lower && !/[\u0307Ǆ-ǌǱ-ǳ]/u.test(one));
  });
}

/** Words of a text that any event shows, in any case; sometimes one that none has. */
function wordFilter(draw: Draw, all: readonly Facts[]): Filter {
  const { values, audit } = draw.pick(all);
  const { message, extra_map: extra } = JSON.parse(audit) as { message: string; extra_map?: object };
  const texts = [message, ...values.actor, ...values.fileName, ...values.ip, ...Object.values(extra ?? {})];
  const found = texts
    .filter((one) => typeof one === 'string')
    .flatMap((one) => one.split(/\s+/))
    // The event of an export has its filters: with the mark of another event it would pass for that.
    .filter((one) => !one.includes('sim='))
    .filter((one) => one.length > 2 && one.length <= valueCharactersMax && isPlainWord(one));
  const words = Array.from({ length: draw.int(1, 2) }, () =>
    draw.chance(0.1) ? 'none-of-them' : recased(draw, draw.pickAny(found) ?? 'done'),
  );
  const way = draw.pick(['q', 'q', 'q.phrase', 'q.not']);
  if (way === 'q') return { name: 'q', value: words.join(' '), selects: hasWords(words) };
  // Two words as they stand beside each other in a message, or in the other order.
  const pair = message.split(' ').slice(0, 2).filter(isPlainWord);
  const phrase = recased(draw, draw.pick([pair, pair.toReversed()]).join(' '));
  const usable = phrase !== '' && phrase.length <= valueCharactersMax && !phrase.includes('sim=');
  const wanted = usable ? [phrase] : words;
  return {
    name: way,
    value: listOf(wanted),
    selects:
      way === 'q.phrase' ? hasWords(wanted) : (facts) => !wanted.some((text) => hasWords([text])(facts)),
  };
}

export const isoOf = (micros: number): string =>
  `${new Date(Math.floor(micros / 1000)).toISOString().slice(0, -1)}${String(micros % 1000).padStart(3, '0')}Z`;

/** At or beside an instant, in any zone, perhaps with digits beyond the microsecond. */
function instantFilter(draw: Draw, instant: number, name: 'startTime' | 'endTime'): Filter {
  const micros = Math.max(0, instant + draw.pick([0, 0, -1, 1, 3]));
  const [minutes, zone] = draw.pick([[0, 'Z'] as const, [330, '+05:30'] as const, [-570, '-09:30'] as const]);
  const local = isoOf(micros + minutes * 60_000_000).slice(0, -1);
  const value = `${local}${draw.pick(['', '0', '999'])}${zone}`;
  return {
    name,
    value,
    selects: name === 'startTime' ? (one) => one.micros >= micros : (one) => one.micros <= micros,
  };
}

/** One end of a range of time, or both ends on one day. */
function timeFilters(draw: Draw, all: readonly Facts[]): Filter[] {
  const { micros } = draw.pick(all);
  if (draw.chance(0.4)) return [instantFilter(draw, micros, draw.pick(['startTime', 'endTime']))];
  const near = all.filter((one) => Math.abs(one.micros - micros) < dayMicros);
  const ends = [micros, draw.pick(near).micros];
  return [
    instantFilter(draw, Math.min(...ends), 'startTime'),
    instantFilter(draw, Math.max(...ends), 'endTime'),
  ];
}

/** Filters that hold together: parameters, and what they select of all events. */
export function drawFilters(draw: Draw, all: readonly Facts[]): { parameters: string; selects: Selects } {
  const kinds = [valueFilter, valueFilter, valueFilter, presenceFilter, wordFilter, timeFilters, timeFilters];
  const drawn = Array.from({ length: draw.int(1, 3) }, () => draw.pick(kinds)(draw, all)).flat();
  const given = drawn.filter(({ name }, place) => drawn.findIndex((one) => one.name === name) === place);
  return {
    parameters: given.map(({ name, value }) => `${name}=${encodeURIComponent(value)}`).join('&'),
    selects: (facts) => given.every(({ selects }) => selects(facts)),
  };
}
