import type { AuditFilter, Where } from './filter.ts';

/** Where a deep page begins, as SQL of the page's own query. */
export interface DeepStart {
  /** `WITH …`: the scalars that the other texts name. */
  readonly scalars: string;
  /** Of the events that match, those that are not passed over as a whole. */
  readonly condition: string;
  /** How many of these come before the page. */
  readonly skip: string;
  readonly total: string;
  /** Matching events of the page's hour that come before the page. */
  readonly skippedOfHour: string;
}

const hourSeconds = 3600;

/**
 * The counts that the table keeps of each hour, by the Unix second at which the hour ends. Hours are 32 bits of
 * seconds, which end in 2106: a later one appears 2^32 seconds too early, and that is no multiple of an hour.
 */
const hours =
  `SELECT toInt64(toUnixTimestamp(toStartOfHour(time))) + ${hourSeconds} AS shown, count() AS held, ` +
  `if(shown % ${hourSeconds} = 0, shown, shown + 4294967296) AS ends ` +
  'FROM events WHERE org = {org:UUID} GROUP BY org, toStartOfHour(time)';

const instant = (seconds: string | number): string =>
  `fromUnixTimestamp64Micro(toInt64(${seconds}) * 1000000, 'UTC')`;

/** Where no projection can help, to look whether one does costs as much as to read. */
const withoutProjections = 'SETTINGS optimize_use_projections = 0';

/** The Unix second at which the hour of a moment (microseconds) begins. */
const hourOf = (micros: number): number => Math.floor(micros / (hourSeconds * 1_000_000)) * hourSeconds;

/** Unix seconds at which the hours begin that the bounds of a range divide: none, one, or two. */
function dividedHours({ fromMicros, toMicros }: AuditFilter): number[] {
  return [...new Set([fromMicros, toMicros].filter((micros) => micros !== undefined).map(hourOf))];
}

const inHour = (start: number | string): string =>
  `time >= ${instant(start)} AND time < ${instant(`${start} + ${hourSeconds}`)}`;

/** The matching events of divided hours, counted by one scalar: a look at projections would cost as much again. */
function dividedBuckets({ sql }: Where, starts: readonly number[]): string {
  const counts = starts.map((start) => `(toInt64(${start + hourSeconds}), countIf(${inHour(start)}))`);
  const inAny = starts.map(inHour).join(' OR ');
  const list = `SELECT [${counts.join(', ')}] FROM events WHERE ${sql} AND (${inAny}) ${withoutProjections}`;
  return `SELECT bucket.1 AS ends, bucket.2 AS held FROM (SELECT arrayJoin((${list})) AS bucket)`;
}

/** The hours that lie in the range as a whole, and the divided ones. */
function hoursOf(filter: AuditFilter, where: Where): string {
  const { fromMicros, toMicros } = filter;
  const starts = dividedHours(filter);
  if (starts.length === 0) return hours;
  const whole = [
    ...(fromMicros === undefined ? [] : [`ends > ${hourOf(fromMicros) + hourSeconds}`]),
    ...(toMicros === undefined ? [] : [`ends <= ${hourOf(toMicros)}`]),
  ];
  const inside = `SELECT ends, held FROM (${hours}) WHERE ${whole.join(' AND ')}`;
  return `${inside} UNION ALL ${dividedBuckets(where, starts)}`;
}

/** Matching events of the hour that was found, by second. */
const secondsOf = ({ sql }: Where): string =>
  'SELECT intDiv(toUnixTimestamp64Micro(time), 1000000) + 1 AS ends, count() AS held FROM events ' +
  `WHERE ${sql} AND ${inHour(`hour.1 - ${hourSeconds}`)} GROUP BY ends`;

/**
 * The bucket that holds the event at an offset, counted from the newest: (its end, events of newer buckets, all
 * events). No event is before the end 0, which stands for an offset past the oldest.
 */
const bucketAt = (offset: string, buckets: string): string =>
  `SELECT tuple(maxIf(ends, upto > ${offset}), maxIf(upto, upto <= ${offset}), max(upto)) ` +
  `FROM (SELECT ends, sum(held) OVER (ORDER BY ends DESC) AS upto FROM (${buckets}))`;

/**
 * Finds the page at `{offset:UInt64}` of a filter by time alone: among the hours of the organization and, with
 * `bySecond`, within its hour. All is one query with the page, so counts and page are of one snapshot.
 */
export function deepStart(filter: AuditFilter, where: Where, bySecond: boolean): DeepStart {
  const inFoundHour = '({offset:UInt64} - hour.2)';
  const scalars = [
    `(${bucketAt('{offset:UInt64}', hoursOf(filter, where))}) AS hour`,
    ...(bySecond ? [`(${bucketAt(inFoundHour, secondsOf(where))} ${withoutProjections}) AS second`] : []),
  ];
  return {
    scalars: `WITH ${scalars.join(', ')}`,
    condition: `time < ${instant(bySecond ? 'second.1' : 'hour.1')}`,
    skip: `toUInt64(${bySecond ? `${inFoundHour} - second.2` : inFoundHour})`,
    total: 'hour.3',
    skippedOfHour: inFoundHour,
  };
}
