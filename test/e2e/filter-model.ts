import { foldCase } from '../../src/base/events/fold-case.ts';
import { BlockList, isIP, isIPv4 } from 'node:net';
import type { Draw } from '../simulator/draw.ts';
import { dayMicros } from '../simulator/model.ts';

/** Random filters of events, and what they select by the contract's words. */

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

/** The facts that filters use, as sent. */
export interface Facts {
  readonly micros: number;
  readonly values: Readonly<Record<FilterName, readonly string[]>>;
  /** The audit event as shown. */
  readonly audit: string;
}

/** Values that mostly no event has. */
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

/** The text at a path; an empty text and other types count as absent. */
function at(value: unknown, ...path: readonly string[]): string[] {
  let found = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null) return [];
    found = (found as Record<string, unknown>)[name];
  }
  return typeof found === 'string' && found !== '' ? [found] : [];
}

/** `audit`: the event as shown. `source`: as stored; an empty object if unknown. */
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

/** Whether a text is a client's address: zones and `::` do not count. */
const isAddress = (text: string): boolean => isIP(text) > 0 && !text.includes('%') && !/^[0:]+$/.test(text);

/** An address as IPv6; an IPv4 address is mapped. */
const mapped = (address: string): string => (isIPv4(address) ? `::ffff:${address}` : address);

/** Events from an address or a range. */
function comesFrom(range: string): Selects {
  const [first = '', bits] = range.split('/');
  const list = new BlockList();
  list.addSubnet(mapped(first), bits === undefined ? 128 : Number(bits) + (isIPv4(first) ? 96 : 0), 'ipv6');
  return ({ values: { ip } }) => ip.some((one) => isAddress(one) && list.check(mapped(one), 'ipv6'));
}

/** Events with a value. */
function has(name: FilterName, value: string): Selects {
  if (name === 'ip') return comesFrom(value);
  const folded = foldCase(value);
  return ({ values }) => values[name].some((one) => foldCase(one) === folded);
}

/** Events with any value; only valid addresses count. */
function hasAny(name: FilterName): Selects {
  return ({ values }) => values[name].some((one) => name !== 'ip' || isAddress(one));
}

/** The members that differ between events. */
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

/** The values of an event as texts, without names of members. */
function valuesIn(value: unknown): string[] {
  return typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(valuesIn)
    : [String(value)];
}

function hasWords(words: readonly string[]): Selects {
  const wanted = words.map(foldCase);
  return ({ audit }) => {
    // Enrichments repeat the values of extra_map with their names.
    const texts = valuesIn({ ...varying(audit), enrichments: undefined }).map(foldCase);
    return wanted.every((word) => texts.some((text) => text.includes(word)));
  };
}

/** In another case, if that is equal for all comparisons. */
function recased(draw: Draw, text: string): string {
  const other = draw.pick([text, text.toUpperCase(), text.toLowerCase()]);
  return other.toLowerCase() === text.toLowerCase() ? other : text;
}

const valueCharactersMax = 100;

/** A value of some event, or another one. */
function drawValue(draw: Draw, name: FilterName, all: readonly Facts[]): string {
  const found = draw
    .pick(all)
    .values[name].filter((one) => one.length <= valueCharactersMax && (name !== 'ip' || isAddress(one)));
  const value = draw.chance(0.2) ? undefined : draw.pickAny(found);
  if (value === undefined) return draw.pick(others[name]);
  if (name !== 'ip') return recased(draw, value);
  const bits = isIPv4(value) ? ['', '/24', '/30', '/32'] : ['', '/32', '/126', '/127'];
  // A zone is not part of a range.
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

/** Events with or without a value, for values that the audit event shows, as some source events are unknown. */
function presenceFilter(draw: Draw): Filter {
  const name = draw.pick(['actor', 'flowId', 'ip'] as const);
  const value = draw.pick(['none', 'any']);
  const has = hasAny(name);
  return { name: `${name}.is`, value, selects: (facts) => has(facts) === (value === 'any') };
}

/**
 * Each character has one form in either case. The engine compares words letter by letter; beyond that only the
 * final Greek sigma matches in any case.
 */
function isPlainWord(word: string): boolean {
  return Array.from(word).every((one) => {
    const [lower, upper] = [one.toLowerCase(), one.toUpperCase()];
    const isOne = lower.length === one.length && upper.length === one.length;
    return one === 'ς' || (isOne && upper.toLowerCase() === lower && !/[\u0307Ǆ-ǌǱ-ǳ]/u.test(one));
  });
}

/** Words of a text that some event shows, in any case; sometimes an absent one. */
function wordFilter(draw: Draw, all: readonly Facts[]): Filter {
  const { values, audit } = draw.pick(all);
  const { message, extra_map: extra } = JSON.parse(audit) as { message: string; extra_map?: object };
  const texts = [message, ...values.actor, ...values.fileName, ...values.ip, ...Object.values(extra ?? {})];
  const found = texts
    .filter((one) => typeof one === 'string')
    .flatMap((one) => one.split(/\s+/))
    // An export's event contains its filters: the mark of another event would mislead the test.
    .filter((one) => !one.includes('sim='))
    .filter((one) => one.length > 2 && one.length <= valueCharactersMax && isPlainWord(one));
  const words = Array.from({ length: draw.int(1, 2) }, () =>
    draw.chance(0.1) ? 'none-of-them' : recased(draw, draw.pickAny(found) ?? 'done'),
  );
  const way = draw.pick(['q', 'q', 'q.phrase', 'q.not']);
  if (way === 'q') return { name: 'q', value: words.join(' '), selects: hasWords(words) };
  // Two adjacent words of a message, or the reverse order.
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

/** At or near an instant, in any zone, perhaps with digits beyond the microsecond. */
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

/** One or both ends of a range of time. */
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

/** Filters combined with AND: parameters, and the selected events. */
export function drawFilters(draw: Draw, all: readonly Facts[]): { parameters: string; selects: Selects } {
  const kinds = [valueFilter, valueFilter, valueFilter, presenceFilter, wordFilter, timeFilters, timeFilters];
  const drawn = Array.from({ length: draw.int(1, 3) }, () => draw.pick(kinds)(draw, all)).flat();
  const given = drawn.filter(({ name }, place) => drawn.findIndex((one) => one.name === name) === place);
  return {
    parameters: given.map(({ name, value }) => `${name}=${encodeURIComponent(value)}`).join('&'),
    selects: (facts) => given.every(({ selects }) => selects(facts)),
  };
}
