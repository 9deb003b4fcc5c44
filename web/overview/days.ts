import { fromRfc3339 } from '../api/instant.ts';
import type { Histogram } from '../api/types.ts';
import { hourOfDay, isWeekend, startOfDay } from '../ui/format.ts';
import { limits } from './limits.ts';

/** Events of an hour. Times are Unix microseconds, the last one inclusive. */
export interface Hour {
  readonly from: number;
  readonly to: number;
  readonly success: number;
  readonly failure: number;
}

export interface Day {
  readonly start: number;
  /** 24 hours by the clock; undefined if the day lacks one, or it is still to come. */
  readonly hours: readonly (Hour | undefined)[];
}

export type Count = (hour: Hour) => number;
export const allOf: Count = ({ success, failure }) => success + failure;
export const failuresOf: Count = ({ failure }) => failure;

const hourMicros = 3_600_000_000;

const startsUntil = (nowMs: number): number[] =>
  Array.from({ length: limits.days }, (_, ago) => startOfDay(nowMs, -ago));

/**
 * Ranges that cover the days until now. Each is short enough for the server to count by hour, or by half or
 * quarter hour if the zone needs it, so that a bucket belongs to one hour of one day. The oldest may begin
 * earlier.
 */
export function rangesUntil(nowMs: number): { from: number; to: number }[] {
  const starts = startsUntil(nowMs);
  const parts = [1, 2].find((one) => starts.every((start) => start % (hourMicros / one) === 0)) ?? 4;
  const length = Math.floor(limits.histogramHours / parts) * hourMicros;
  const ranges: { from: number; to: number }[] = [];
  const [first, end] = [starts.at(-1) ?? 0, nowMs * 1000];
  for (let next = (Math.floor(end / hourMicros) + 1) * hourMicros; next > first; next -= length)
    ranges.unshift({ from: next - length, to: Math.min(next - 1, end) });
  return ranges;
}

/** The days until now, today first. Hours repeated by a clock change count as one. */
export function daysUntil(nowMs: number, histograms: readonly Histogram[]): Day[] {
  const starts = startsUntil(nowMs);
  const days = starts.map((start) => ({ start, hours: Array.from<Hour | undefined>({ length: 24 }) }));
  const first = starts.at(-1) ?? 0;
  for (const { data, meta } of histograms) {
    for (const { start, success, failure } of data) {
      const from = fromRfc3339(start) ?? 0;
      if (from < first) continue;
      const to = Math.min(from + meta.bucket_seconds * 1_000_000, nowMs * 1000 + 1) - 1;
      const hours = days.find((day) => day.start <= from)?.hours;
      const at = Math.floor(hourOfDay(from));
      const other = hours?.[at];
      if (hours !== undefined)
        hours[at] = {
          from: other?.from ?? from,
          to,
          success: success + (other?.success ?? 0),
          failure: failure + (other?.failure ?? 0),
        };
    }
  }
  return days;
}

export function totalOf(day: Day | undefined, count: Count): number {
  return (day?.hours ?? []).reduce((sum, hour) => sum + (hour === undefined ? 0 : count(hour)), 0);
}

/** Working days or weekends like today, from the first with any event: time before it was not quiet, but unused. */
export function daysLike([today, ...before]: readonly Day[]): Day[] {
  if (today === undefined) return [];
  const last = before.findLastIndex((day) => totalOf(day, allOf) > 0);
  return before.slice(0, last + 1).filter(({ start }) => isWeekend(start) === isWeekend(today.start));
}

/** The usual count by this time of day; undefined if no day is comparable. */
export function usualByNow(days: readonly Day[], nowMs: number, count: Count): number | undefined {
  const now = hourOfDay(nowMs * 1000);
  const soFar = daysLike(days).map(({ hours }) =>
    hours.reduce((sum, hour, at) => {
      const share = Math.max(0, Math.min(1, now - at));
      return sum + (hour === undefined ? 0 : count(hour) * share);
    }, 0),
  );
  const sorted = soFar.toSorted((a, b) => a - b);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
  return low === undefined || high === undefined ? undefined : Math.round((low + high) / 2);
}
