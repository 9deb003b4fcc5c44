import { parseRfc3339Micros } from '../base/time/timestamp.ts';

const zero = 0x30;
const usualBytes = { min: '2026-01-01T00:00:00Z'.length, max: '2026-01-01T00:00:00.000000Z'.length } as const;

/** The last day: events of one hour rarely have more than one. */
const day = { year: 0, month: 0, end: 0, startMicros: -1 };

/** Microseconds of `2026-01-31T23:59:59Z` with up to six fraction digits; -1 for any other text, which the general parser reads. */
export function usualMicros(view: DataView, start: number, end: number): number {
  const length = end - start;
  if (length < usualBytes.min || length > usualBytes.max || view.getUint8(end - 1) !== 0x5a) return -1;
  const startMicros = dayMicros(view, start);
  const hour = twoDigits(view, start + 11);
  const minute = twoDigits(view, start + 14);
  const second = twoDigits(view, start + 17);
  if (startMicros < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59)
    return -1;
  const hasColons = view.getUint8(start + 13) === 0x3a && view.getUint8(start + 16) === 0x3a;
  if (!hasColons || view.getUint8(start + 10) !== 0x54) return -1;
  const micros = fraction(view, start + 19, end - 1);
  return micros < 0 ? -1 : startMicros + ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros;
}

function dayMicros(view: DataView, start: number): number {
  const year = view.getInt32(start, true);
  const month = view.getInt32(start + 4, true);
  const end = view.getInt32(start + 6, true);
  if (day.startMicros >= 0 && year === day.year && month === day.month && end === day.end)
    return day.startMicros;
  let date = '';
  for (let at = start; at < start + 10; at++) date += String.fromCharCode(view.getUint8(at));
  const startMicros = parseRfc3339Micros(`${date}T00:00:00Z`) ?? -1;
  Object.assign(day, { year, month, end, startMicros });
  return startMicros;
}

function twoDigits(view: DataView, at: number): number {
  const tens = view.getUint8(at) - zero;
  const ones = view.getUint8(at + 1) - zero;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1;
}

function fraction(view: DataView, start: number, end: number): number {
  if (start === end) return 0;
  if (start + 1 === end || view.getUint8(start) !== 0x2e) return -1;
  let micros = 0;
  let unit = 1_000_000;
  for (let at = start + 1; at < end; at++) {
    const digit = view.getUint8(at) - zero;
    if (digit < 0 || digit > 9) return -1;
    unit /= 10;
    micros += digit * unit;
  }
  return micros;
}
