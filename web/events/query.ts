import { fromRfc3339, toRfc3339 } from '../api/instant.ts';
import type { Parameters } from '../api/request.ts';
import { startOfDay, startOfQuarter } from '../ui/format.ts';
import { type Filters, parametersOf, readFilters } from './filters.ts';

export const rangeNames = [
  '1h',
  '24h',
  '7d',
  '30d',
  '90d',
  'today',
  'yesterday',
  'lastQuarter',
  'all',
] as const;
export type RangeName = (typeof rangeNames)[number];

/** Unix microseconds, both inclusive. */
export interface ExactRange {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** The state of the view, all of it in the address. */
export interface EventQuery {
  readonly range: RangeName | ExactRange;
  readonly filters: Filters;
  /** The open event: its time and order number. */
  readonly open?: string | undefined;
  /** Parts of the address that were not understood, as `name=value`: the view shows more than its author meant. */
  readonly unread?: readonly string[];
}

const rangeDefault: RangeName = '24h';

/** Reads an address; `unread` names the parts it does not understand. */
export function readQuery(parameters: URLSearchParams): EventQuery {
  const from = fromRfc3339(parameters.get('from') ?? '');
  const to = fromRfc3339(parameters.get('to') ?? '');
  const named = rangeNames.find((name) => name === parameters.get('range')) ?? rangeDefault;
  const event = parameters.get('event') ?? '';
  const open = timeOfPlace(event) === undefined ? undefined : event;
  const range = from === undefined && to === undefined ? named : { from, to };
  const filters = readFilters(parameters);
  const known = Object.keys(parametersOf(filters));
  if (from !== undefined) known.push('from');
  if (to !== undefined) known.push('to');
  const unread = [...parameters]
    .filter(([name, value]) => value !== '' && !known.includes(name) && !['range', 'event'].includes(name))
    .map(([name, value]) => `${name}=${value}`);
  return { range, filters, open, ...(unread.length > 0 && { unread }) };
}

/** Unix microseconds; undefined for an invalid place. */
export function timeOfPlace(place: string): number | undefined {
  const [, time = '', seq = ''] = /^([^~]+)~(\d{1,20})$/.exec(place) ?? [];
  const micros = fromRfc3339(time);
  // With an invalid place the server would answer with all events.
  const isPlace = micros !== undefined && toRfc3339(micros) === time && BigInt(seq) >> 64n === 0n;
  return isPlace ? micros : undefined;
}

export function writeQuery({ range, filters, open }: EventQuery): URLSearchParams {
  const parameters = new URLSearchParams();
  if (typeof range === 'string') {
    if (range !== rangeDefault) parameters.set('range', range);
  } else {
    if (range.from !== undefined) parameters.set('from', toRfc3339(range.from));
    if (range.to !== undefined) parameters.set('to', toRfc3339(range.to));
  }
  for (const [name, value] of Object.entries(parametersOf(filters))) parameters.set(name, value);
  if (open !== undefined) parameters.set('event', open);
  return parameters;
}

const hourMicros = 3_600_000_000;
const hours = { '1h': 1, '24h': 24, '7d': 7 * 24, '30d': 30 * 24, '90d': 90 * 24 } as const;

/** The range at a moment (Unix milliseconds). It is fixed, so that pages fit together. */
export function exactRange(range: EventQuery['range'], nowMs: number): ExactRange {
  if (typeof range !== 'string') return range;
  const to = nowMs * 1000;
  if (range === 'all') return {};
  if (range === 'today') return { from: startOfDay(nowMs), to };
  if (range === 'yesterday') return { from: startOfDay(nowMs, -1), to: startOfDay(nowMs) - 1 };
  if (range === 'lastQuarter') return { from: startOfQuarter(nowMs, -1), to: startOfQuarter(nowMs) - 1 };
  return { from: to - hours[range] * hourMicros, to };
}

export function endsNow(range: EventQuery['range']): boolean {
  if (typeof range !== 'string') return range.to === undefined;
  return range !== 'yesterday' && range !== 'lastQuarter';
}

/** Whether the range begins at midnight and moves at the next. */
export function isByDay(range: EventQuery['range']): boolean {
  return range === 'today' || range === 'yesterday' || range === 'lastQuarter';
}

export function timeParameters({ from, to }: ExactRange): Parameters {
  return {
    startTime: from === undefined ? undefined : toRfc3339(from),
    endTime: to === undefined ? undefined : toRfc3339(to),
  };
}
