import { limits as baseLimits } from '../base/limits.ts';
import { formatMicros, formatMicrosIfAny } from '../base/time/timestamp.ts';
import type { Answer } from '../contract/document.ts';
import type { Storage } from '../storage/storage.ts';
import { type AuditFilter, type Where, whereClause } from './filter.ts';
import { newestFirst, oldestFirst, choosePlan } from './plans.ts';

const histogramBucketsMax = 120;

/**
 * Oldest first, without gaps; none without a range. The first may begin before the range, but counts only events in it. Ends are
 * omitted if neither the request nor an event has them.
 */
export type Histogram = Answer<'Histogram'>;

/** Rejects with EngineError. `organization` is a lower-case UUID; `compares` adds the preceding range. */
export type HistogramReader = (
  organization: string,
  filter: AuditFilter,
  compares: boolean,
  signal: AbortSignal,
) => Promise<Histogram>;

const second = 1;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Seconds, each at most 3.5 times the one before, so that a range too wide for 120 buckets still has at least 34 of the next. */
const widths = [
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * second),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * minute),
  ...[1, 2, 3, 6, 12].map((hours) => hours * hour),
  ...[1, 2, 7, 14, 30, 90, 180, 365, 730].map((days) => days * day),
];

const microsPerSecond = 1_000_000;
const originMicros = -3 * day * microsPerSecond;

interface Buckets {
  readonly firstMicros: number;
  readonly count: number;
  readonly widthSeconds: number;
}

/**
 * The buckets over a range of Unix microseconds (inclusive), of the smallest width with at most
 * `histogramBucketsMax`.
 */
export function bucketsOver(startMicros: number, endMicros: number): Buckets {
  let best: Buckets | undefined;
  for (const widthSeconds of widths) {
    const width = widthSeconds * microsPerSecond;
    const first = Math.floor((startMicros - originMicros) / width);
    const count = Math.floor((endMicros - originMicros) / width) - first + 1;
    best = { firstMicros: originMicros + first * width, count, widthSeconds };
    if (count <= histogramBucketsMax) return best;
  }
  throw new Error(`No bucket width covers ${startMicros} to ${endMicros}`);
}

export function createHistogramReader(storage: Storage): HistogramReader {
  return async (organization, filter, compares, signal) => {
    const { startMicros, endMicros } = await readRange(storage, organization, filter, signal);
    const ends = { start: formatMicrosIfAny(startMicros), end: formatMicrosIfAny(endMicros) };
    if (startMicros === undefined || endMicros === undefined || startMicros > endMicros) {
      return { data: [], meta: { bucket_seconds: widths[0] ?? 1, ...ends, total: 0 } };
    }
    const over = bucketsOver(startMicros, endMicros);
    const read = async (fromMicros: number, toMicros: number, buckets: Buckets) => {
      const where = whereClause(organization, { ...filter, fromMicros, toMicros });
      const data = await readBuckets(storage, where, buckets, signal);
      return { data, total: data.reduce((sum, { success, failure }) => sum + success + failure, 0) };
    };
    // Fixed here: a later event must not fall outside all buckets.
    const { fromMicros = startMicros, toMicros = endMicros } = filter;
    const length = endMicros + 1 - startMicros;
    const before = { from: startMicros - length, to: startMicros - 1 };
    const isKept = before.from >= (filter.cutOffMicros ?? baseLimits.eventTimeMicrosMin);
    const [{ data, total }, previous] = await Promise.all([
      read(fromMicros, toMicros, over),
      compares && isKept
        ? read(before.from, before.to, { ...over, firstMicros: over.firstMicros - length })
        : undefined,
    ]);
    return {
      data,
      meta: { bucket_seconds: over.widthSeconds, ...ends, total },
      previous: previous && { start: formatMicros(before.from), end: formatMicros(before.to), ...previous },
    };
  };
}

function clamp(micros: number | undefined): number | undefined {
  if (micros === undefined) return undefined;
  return Math.max(baseLimits.eventTimeMicrosMin, Math.min(baseLimits.eventTimeMicrosMax, micros));
}

async function readRange(
  storage: Storage,
  organization: string,
  filter: AuditFilter,
  signal: AbortSignal,
): Promise<{ startMicros: number | undefined; endMicros: number | undefined }> {
  const startMicros = clamp(filter.fromMicros);
  const endMicros = clamp(filter.toMicros);
  if (startMicros !== undefined && endMicros !== undefined) return { startMicros, endMicros };
  const where = whereClause(organization, filter);
  const end = (order: string): string =>
    `SELECT toUnixTimestamp64Micro(time) AS micros FROM events WHERE ${where.sql} ${order} LIMIT 1`;
  const rows = await storage.rows<{ micros: string }>(
    `${end(oldestFirst)} UNION ALL ${end(newestFirst)}`,
    where.parameters,
    { settings: choosePlan(filter), signal },
  );
  if (rows.length === 0) return { startMicros, endMicros };
  const found = rows.map(({ micros }) => Number(micros));
  return { startMicros: startMicros ?? Math.min(...found), endMicros: endMicros ?? Math.max(...found) };
}

async function readBuckets(
  storage: Storage,
  where: Where,
  { firstMicros, count, widthSeconds }: Buckets,
  signal: AbortSignal,
): Promise<Histogram['data']> {
  const width = widthSeconds * microsPerSecond;
  const rows = await storage.rows<{ bucket: string; success: string; failure: string }>(
    `SELECT intDiv(toUnixTimestamp64Micro(time) - {first:Int64}, {width:Int64}) AS bucket,
       countIf(status = 'Success') AS success, count() - success AS failure
     FROM events WHERE ${where.sql} GROUP BY bucket`,
    { ...where.parameters, first: firstMicros, width },
    { signal },
  );
  const byBucket = new Map(rows.map((row) => [Number(row.bucket), row]));
  return Array.from({ length: count }, (_, index) => ({
    start: formatMicros(firstMicros + index * width),
    success: Number(byBucket.get(index)?.success ?? 0),
    failure: Number(byBucket.get(index)?.failure ?? 0),
  }));
}
