import { computed } from '@preact/signals';
import { stored } from './stored.ts';
import { locale, t } from './text.ts';

/** Times are Unix microseconds, as the service has them, and shown in the zone chosen. */
export const zone = stored('auditlog.zone', ['local', 'utc']);

const zoneOptions = computed(() => (zone.value === 'utc' ? { timeZone: 'UTC' } : {}));

function formatter(options: Intl.DateTimeFormatOptions) {
  return computed(() => new Intl.DateTimeFormat(locale.value, { ...options, ...zoneOptions.value }));
}

const day = formatter({ day: '2-digit', month: 'short' });
const dayOfYear = formatter({ day: '2-digit', month: 'short', year: 'numeric' });
const weekday = formatter({ weekday: 'short', day: '2-digit', month: 'short' });
const clock = formatter({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const clockSeconds = formatter({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const zoneName = formatter({ timeZoneName: 'short' });

const thousand = 1000;
const million = 1_000_000;

const millis = (micros: number): number => Math.floor(micros / thousand);

/** `22 Nov`, with the year where it is not this one. */
export function formatDay(micros: number): string {
  const isThisYear = new Date(millis(micros)).getUTCFullYear() === new Date().getUTCFullYear();
  return (isThisYear ? day : dayOfYear).value.format(millis(micros));
}

/** `Sun 22 Nov`. */
export function formatWeekday(micros: number): string {
  return weekday.value.format(millis(micros));
}

/** `09:30`. */
export function formatMinute(micros: number): string {
  return clock.value.format(millis(micros));
}

/** `09:30:00`. */
export function formatSecond(micros: number): string {
  return clockSeconds.value.format(millis(micros));
}

/** `09:30:00.250`, or to the microsecond `09:30:00.250118`. */
export function formatClock(micros: number, digits: 3 | 6 = 3): string {
  const fraction = String(((micros % million) + million) % million).padStart(6, '0');
  return `${formatSecond(micros)}.${fraction.slice(0, digits)}`;
}

/** Day, clock to the microsecond, and zone. */
export function formatExact(micros: number): string {
  return `${dayOfYear.value.format(millis(micros))}, ${formatClock(micros, 6)} ${formatZone(micros)}`;
}

/** `22 Nov 09:30`. */
export function formatMoment(micros: number): string {
  return `${formatDay(micros)} ${formatMinute(micros)}`;
}

/** The zone's own name at that moment, such as `GMT+1`. */
export function formatZone(micros: number): string {
  if (zone.value === 'utc') return t('utc');
  const parts = zoneName.value.formatToParts(millis(micros));
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? t('local');
}

/** Of several moments: those on both sides of a change of the clocks have two. */
export function formatZones(moments: readonly number[]): string {
  return [...new Set(moments.map(formatZone))].join(', ');
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

/** `3 hours ago`: only ever beside the exact time. */
export function formatAgo(micros: number, nowMs: number = Date.now()): string {
  const seconds = Math.round((millis(micros) - nowMs) / thousand);
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? units[3];
  const words = new Intl.RelativeTimeFormat(locale.value, { numeric: 'auto' });
  return words.format(Math.trunc(seconds / size), unit);
}

/** How long something took: `1.204 s`, `3 min 12 s`, `250 µs`. */
export function formatDuration(micros: number): string {
  if (micros < thousand) return `${micros} µs`;
  if (micros < million) return `${trim(micros / thousand)} ms`;
  if (micros < 60 * million) return `${trim(micros / million)} s`;
  const seconds = Math.round(micros / million);
  const [days, hours, minutes] = [seconds / 86_400, (seconds % 86_400) / 3600, (seconds % 3600) / 60].map(
    Math.floor,
  );
  const parts = [
    [days, 'd'],
    [hours, 'h'],
    [minutes, 'min'],
    [seconds % 60, 's'],
  ].filter(([value]) => value !== 0);
  return parts
    .slice(0, 2)
    .map((part) => part.join(' '))
    .join(' ');
}

function trim(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** What a field for date and time holds (`2026-05-12T09:30`), in the zone chosen. */
export function toField(micros: number): string {
  const ms = millis(micros);
  const shift = zone.value === 'utc' ? 0 : new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - shift).toISOString().slice(0, 19);
}

/** The moment that such a field means; undefined while it is not whole. */
export function fromField(text: string): number | undefined {
  const ms = zone.value === 'utc' ? Date.parse(`${text}Z`) : Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms * thousand;
}

/** Where the day of a moment begins, in the zone chosen; `days` later. */
export function startOfDay(ms: number, days = 0): number {
  const date = new Date(ms);
  return zone.value === 'utc'
    ? Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + days) * thousand
    : new Date(date.getFullYear(), date.getMonth(), date.getDate() + days).getTime() * thousand;
}

/** Hours and minutes of a moment, in the zone chosen: 9.5 is half past nine. */
export function hourOfDay(micros: number): number {
  const date = new Date(millis(micros));
  return zone.value === 'utc'
    ? date.getUTCHours() + date.getUTCMinutes() / 60
    : date.getHours() + date.getMinutes() / 60;
}

/** Saturday or Sunday, in the zone chosen. */
export function isWeekend(micros: number): boolean {
  const date = new Date(millis(micros));
  const day = zone.value === 'utc' ? date.getUTCDay() : date.getDay();
  return day === 0 || day === 6;
}

/** Where the quarter of a moment begins, in the zone chosen; `quarters` later. */
export function startOfQuarter(ms: number, quarters = 0): number {
  const date = new Date(ms);
  const first = (month: number) => Math.floor(month / 3) * 3 + 3 * quarters;
  return zone.value === 'utc'
    ? Date.UTC(date.getUTCFullYear(), first(date.getUTCMonth()), 1) * thousand
    : new Date(date.getFullYear(), first(date.getMonth()), 1).getTime() * thousand;
}
