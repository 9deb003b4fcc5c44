import { computed } from '@preact/signals';
import { serverNow } from '../api/instant.ts';
import { lately, stored } from './browser.ts';
import { formatNumber, locale, t } from './text.ts';

const thousand = 1000;
const million = 1_000_000;
const dayMs = 86_400_000;

function numbers(options: Intl.NumberFormatOptions) {
  const format = computed(() => new Intl.NumberFormat(locale.value, options));
  return (value: number): string => format.value.format(value);
}

/** `+12%`, of 0.12. */
export const formatChange = numbers({ style: 'percent', signDisplay: 'exceptZero' });
/** `4.6%`. */
export const formatShare = numbers({ style: 'percent', maximumFractionDigits: 1 });
const sizes = (['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte', 'petabyte'] as const).map((unit) => {
  const unitDisplay = unit === 'byte' ? 'long' : 'short';
  return numbers({ style: 'unit', unit, unitDisplay, maximumSignificantDigits: 3 });
});

/** A rounded size, `48.2 kB`; always beside the exact one. */
export function formatBytes(bytes: number): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(1, bytes)) / 3), sizes.length - 1);
  return sizes[power]?.(bytes / thousand ** power) ?? formatNumber(bytes);
}

/** Times are Unix microseconds, shown in the chosen zone. */
export const zone = stored('auditlog.zone', ['local', 'utc']);

const millis = (micros: number): number => Math.floor(micros / thousand);

function dates(options: Intl.DateTimeFormatOptions) {
  return computed(() => {
    const place = zone.value === 'utc' ? { timeZone: 'UTC' } : {};
    return new Intl.DateTimeFormat(locale.value, { ...options, ...place });
  });
}

function times(options: Intl.DateTimeFormatOptions) {
  const format = dates(options);
  return (micros: number): string => format.value.format(millis(micros));
}

const dayOfThisYear = times({ day: '2-digit', month: 'short' });
const dayOfYear = times({ day: '2-digit', month: 'short', year: 'numeric' });
const zoneName = dates({ timeZoneName: 'short' });
/** `Sun 22 Nov`. */
export const formatWeekday = times({ weekday: 'short', day: '2-digit', month: 'short' });
/** `09:30`. */
export const formatMinute = times({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
/** `09:30:00`. */
export const formatSecond = times({
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

/** `22 Nov`, with the year if it is not this one. */
export function formatDay(micros: number): string {
  const yearOf = (ms: number) => wallClock(ms).getUTCFullYear();
  const isThisYear = yearOf(millis(micros)) === yearOf(serverNow());
  return isThisYear ? dayOfThisYear(micros) : dayOfYear(micros);
}

/** `09:30:00.250118`. */
export function formatMicros(micros: number): string {
  return `${formatSecond(micros)}.${String(((micros % million) + million) % million).padStart(6, '0')}`;
}

/** `09:30:00.250`. */
export function formatClock(micros: number): string {
  return formatMicros(micros).slice(0, -3);
}

/** Day, clock to the microsecond, and zone. */
export function formatExact(micros: number): string {
  return `${dayOfYear(micros)}, ${formatMicros(micros)} ${formatZone(micros)}`;
}

/** `22 Nov 09:30`, or with another clock. */
export function formatMoment(micros: number, clock: (micros: number) => string = formatMinute): string {
  return `${formatDay(micros)} ${clock(micros)}${zoneIfTwice(micros)}`;
}

/** `22 Nov 09:30`, with as many digits as needed. */
export function formatInstant(micros: number): string {
  if (micros % (60 * million) === 0) return formatMoment(micros);
  if (micros % million === 0) return formatMoment(micros, formatSecond);
  return formatMoment(micros, micros % thousand === 0 ? formatClock : formatMicros);
}

/** A range, `to` inclusive: one that ends with the last microsecond of a second ends where the next second begins. */
export function formatSpan(from: number, to: number): string {
  return `${formatInstant(from)} – ${formatInstant((to + 1) % million === 0 ? to + 1 : to)}`;
}

/** `09:30`, with the day if it is not today. */
export function formatLately(micros: number, clock = formatMinute): string {
  const isToday = micros >= startOfDay(serverNow());
  return isToday ? clock(micros) : formatMoment(micros, clock);
}

/** The zone's name at that moment, such as `GMT+1`. */
export function formatZone(micros: number): string {
  if (zone.value === 'utc') return t('zone_utc');
  const parts = zoneName.value.formatToParts(millis(micros));
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? t('zone_local');
}

/** The zone, if a clock change makes the clock show this time twice; otherwise empty. */
export function zoneIfTwice(micros: number): string {
  if (zone.value === 'utc') return '';
  const offsetAt = (ms: number) => new Date(ms).getTimezoneOffset() * 60_000;
  const ms = millis(micros);
  const offset = offsetAt(ms);
  const isTwice = [-dayMs, dayMs].some((away) => {
    const other = offsetAt(ms + away);
    return other !== offset && offsetAt(ms + other - offset) === other;
  });
  return isTwice ? ` ${formatZone(micros)}` : '';
}

/** The zones of several moments: on both sides of a clock change there are two. */
export function formatZones(moments: readonly number[]): string {
  return [...new Set(moments.map(formatZone))].join(', ');
}

const units = [
  ['day', 'd', 86_400],
  ['hour', 'h', 3600],
  ['minute', 'min', 60],
  ['second', 's', 1],
] as const;

/** `3 hours ago`; always beside the exact time. */
export function formatAgo(micros: number): string {
  const seconds = Math.round((millis(micros) - serverNow()) / thousand);
  const [unit, , size] = units.find(([, , size]) => Math.abs(seconds) >= size) ?? units[3];
  // Always a number: 40 hours ago may not have been yesterday.
  const words = new Intl.RelativeTimeFormat(locale.value);
  return words.format(Math.trunc(seconds / size), unit);
}

/** A duration: `1.204 s`, `3 min 12 s`, `250 µs`. */
export function formatDuration(micros: number): string {
  const exact = (value: number) => String(Number(value.toPrecision(4)));
  if (micros < thousand) return `${micros} µs`;
  if (micros < million) return `${exact(micros / thousand)} ms`;
  if (micros < 60 * million) return `${exact(micros / million)} s`;
  let rest = Math.round(micros / million);
  const parts = units.flatMap(([, sign, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count === 0 ? [] : [`${count} ${sign}`];
  });
  return parts.slice(0, 2).join(' ');
}

/** A moment whose UTC parts are the clock's in the chosen zone. */
function wallClock(ms: number): Date {
  return new Date(zone.value === 'utc' ? ms : ms - new Date(ms).getTimezoneOffset() * 60_000);
}

/** The value of a date-and-time field (`2026-05-12T09:30:00`), in the chosen zone. */
export function toField(micros: number): string {
  return wallClock(millis(micros)).toISOString().slice(0, 19);
}

/** The moment of such a value; undefined while it is incomplete. */
export function fromField(text: string): number | undefined {
  const ms = Date.parse(zone.value === 'utc' ? `${text}Z` : text);
  return Number.isNaN(ms) ? undefined : ms * thousand;
}

function beginningOf(year: number, month: number, day: number): number {
  const ms = zone.value === 'utc' ? Date.UTC(year, month, day) : new Date(year, month, day).getTime();
  return ms * thousand;
}

/** Midnight at the start of a moment's day, `days` later, in the chosen zone. */
export function startOfDay(ms: number, days = 0): number {
  const date = wallClock(ms);
  return beginningOf(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + days);
}

/** Midnight at the start of today, in the chosen zone. It changes with time. */
export const today = computed(() => startOfDay(lately.value));

/** Start of a moment's quarter, `quarters` later, in the chosen zone. */
export function startOfQuarter(ms: number, quarters = 0): number {
  const date = wallClock(ms);
  const quarter = Math.floor(date.getUTCMonth() / 3) + quarters;
  return beginningOf(date.getUTCFullYear(), quarter * 3, 1);
}

/** Hour of a moment in the chosen zone: 9.5 is half past nine. */
export function hourOfDay(micros: number): number {
  const date = wallClock(millis(micros));
  return date.getUTCHours() + date.getUTCMinutes() / 60;
}

export function isWeekend(micros: number): boolean {
  return wallClock(millis(micros)).getUTCDay() % 6 === 0;
}
