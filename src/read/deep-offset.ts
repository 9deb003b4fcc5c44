import { limits } from '../base/limits.ts';
import type { Storage } from '../storage/storage.ts';
import { type AuditFilter, hasColumnFilter, timesOf } from './filter.ts';
import { inKeyOrder } from './plans.ts';

/** Where a page begins when the events before it are counted instead of read. */
export interface DeepStart {
  /** All events that match. */
  readonly total: number;
  /** The filter, bounded above so that `offset` events are skipped instead of all that come before the page. */
  readonly filter: AuditFilter;
  readonly offset: number;
}

const microsPerSecond = 1_000_000;
const secondsPerHour = 3600;
/** Hours are 32-bit times: beyond this second (2106-01-01) they would begin anew. */
const countedUntil = 4_291_747_200;

interface Bucket {
  /** First second of the bucket. */
  readonly start: number;
  readonly count: number;
  /** Events in this bucket and in all newer ones. */
  readonly upto: number;
  readonly total: number;
}

/**
 * Finds where the page at an offset begins, by the counts that the table keeps for each hour of each organization:
 * they are exact, and reading them costs the same for every offset. Undefined where that does not apply: other
 * filters than time, a small offset, or events so far in the future that hours cannot count them.
 *
 * What arrives after the counts were read shifts the page as it would have if it had arrived after the page.
 */
export async function findDeepStart(
  storage: Storage,
  organization: string,
  filter: AuditFilter,
  offset: number,
  signal: AbortSignal,
): Promise<DeepStart | undefined> {
  if (offset < limits.deepOffsetMin || hasColumnFilter(filter) || filter.nothing) return undefined;
  const hour = await hourAt(storage, organization, filter, offset, signal);
  if (hour === undefined) return undefined;
  const { total } = hour;
  if (offset >= hour.upto) return { total, filter: { ...filter, nothing: true }, offset: 0 };
  const rest = offset - (hour.upto - hour.count);
  const end = bound(filter, hour.start, secondsPerHour);
  if (rest < limits.deepOffsetMin || hour.count < limits.denseHourEventsMin) {
    return { total, filter: end, offset: rest };
  }
  const second = await secondAt(storage, organization, timesOf(filter), hour.start, rest, signal);
  // Events expired meanwhile: the hour is right, only slower.
  if (second === undefined || rest >= second.upto) return { total, filter: end, offset: rest };
  return { total, filter: bound(filter, second.start, 1), offset: rest - (second.upto - second.count) };
}

/** The filter without what is newer than a bucket. */
function bound(filter: AuditFilter, start: number, seconds: number): AuditFilter {
  const last = (start + seconds) * microsPerSecond - 1;
  return { ...filter, toMicros: Math.min(filter.toMicros ?? last, last) };
}

type Range = ReturnType<typeof timesOf>;

const micros = (name: string): string => `fromUnixTimestamp64Micro({${name}:Int64}, 'UTC')`;

const eventsBetween = (from: string, to: string): string =>
  `org = {org:UUID} AND time >= ${micros(from)} AND time <= ${micros(to)}`;

/** The bucket that holds the offset, or the oldest one where none does. */
const bucketAt = (buckets: string, uncounted = 'toUInt64(0)'): string =>
  `SELECT start, count, upto, total, ${uncounted} AS uncounted FROM (` +
  'SELECT start, count, sum(count) OVER (ORDER BY start DESC) AS upto, sum(count) OVER () AS total ' +
  `FROM (${buckets})) ORDER BY upto > {offset:UInt64} DESC, if(upto > {offset:UInt64}, 1, -1) * toFloat64(upto) LIMIT 1`;

/**
 * Hours that lie wholly in the range come from the counts. At an end that the filter names, the part of an hour is
 * counted by the primary key. At an open end stands time that nearly nobody has events in (the first hour of 1970 and
 * before, 2105 and after), which hours cannot count: it is only asked whether there are any.
 */
function hoursBetween(ends: { readonly from: boolean; readonly to: boolean }): string {
  const buckets = [
    'SELECT toInt64(toUnixTimestamp(toStartOfHour(time))) AS start, count() AS count FROM events ' +
      "WHERE org = {org:UUID} AND toStartOfHour(time) > toDateTime({low:UInt32}, 'UTC') " +
      "AND toStartOfHour(time) < toDateTime({high:UInt32}, 'UTC') GROUP BY org, toStartOfHour(time)",
  ];
  // Wherever the filter ends: such events have hours that belong to others.
  const beyond = [
    "time < fromUnixTimestamp64Micro(0, 'UTC')",
    `time >= fromUnixTimestamp64Micro(${countedUntil * microsPerSecond}, 'UTC')`,
  ];
  if (ends.from)
    buckets.push(`SELECT {low:Int64}, count() FROM events WHERE ${eventsBetween('from', 'low_end')}`);
  else beyond.push(`time <= ${micros('low_end')}`);
  if (ends.to) {
    const isOther = ends.from ? '{high:Int64} > {low:Int64} AND ' : '';
    buckets.push(
      `SELECT {high:Int64}, count() FROM events WHERE ${isOther}${eventsBetween('high_start', 'to')}`,
    );
  } else beyond.push(`time >= ${micros('high_start')}`);
  const uncounted = `(SELECT count() FROM events WHERE org = {org:UUID} AND (${beyond.join(' OR ')}))`;
  return bucketAt(buckets.join(' UNION ALL '), uncounted);
}

async function hourAt(
  storage: Storage,
  organization: string,
  filter: AuditFilter,
  offset: number,
  signal: AbortSignal,
): Promise<Bucket | undefined> {
  const { from, to } = timesOf(filter);
  const last = countedUntil * microsPerSecond;
  if (from >= last) return undefined;
  const ends = { from: filter.fromMicros !== undefined, to: filter.toMicros !== undefined && to < last };
  const low = hourOf(ends.from ? from : 0);
  const high = hourOf(Math.min(to, last - 1));
  return bucket(
    storage,
    hoursBetween(ends),
    {
      org: organization,
      offset,
      low,
      high,
      from,
      to: Math.min(to, last - 1),
      low_end: Math.min(to, (low + secondsPerHour) * microsPerSecond - 1),
      high_start: Math.max(from, high * microsPerSecond),
    },
    signal,
  );
}

function hourOf(micros: number): number {
  const seconds = Math.floor(micros / microsPerSecond);
  return Math.max(0, seconds - (((seconds % secondsPerHour) + secondsPerHour) % secondsPerHour));
}

const seconds = bucketAt(
  'SELECT toInt64(toUnixTimestamp(toStartOfSecond(time))) AS start, count() AS count FROM events ' +
    `WHERE ${eventsBetween('from', 'to')} GROUP BY start`,
);

async function secondAt(
  storage: Storage,
  organization: string,
  range: Range,
  hour: number,
  offset: number,
  signal: AbortSignal,
): Promise<Bucket | undefined> {
  const from = Math.max(range.from, hour * microsPerSecond);
  const to = Math.min(range.to, (hour + secondsPerHour) * microsPerSecond - 1);
  return bucket(storage, seconds, { org: organization, offset, from, to }, signal);
}

async function bucket(
  storage: Storage,
  query: string,
  parameters: Readonly<Record<string, string | number>>,
  signal: AbortSignal,
): Promise<Bucket | undefined> {
  const options = { signal, settings: inKeyOrder };
  const [row] = await storage.rows<Record<keyof Bucket | 'uncounted', string>>(query, parameters, options);
  if (row === undefined || row.uncounted !== '0') return undefined;
  return {
    start: Number(row.start),
    count: Number(row.count),
    upto: Number(row.upto),
    total: Number(row.total),
  };
}
