import type { FilterName } from '../base/events/event-filters.ts';
import { type AuditFilter, earliestOf, hasColumnFilter, timesOf, type Where } from './filter.ts';

/** From this length on, counts of ten minutes count the events of a range. */
const countedRangeMicrosMin = 6 * 3_600_000_000;

/** Kept by projections: exact for each part, so their sum is exact on any snapshot. */
interface Counts {
  /**
   * The filter of the projection; each matching event meets exactly one of the conditions. Undefined: all
   * events.
   */
  readonly lead?: { readonly filter: FilterName; readonly conditions: readonly string[] };
  readonly besides: readonly (keyof typeof equals)[];
  readonly bucketSeconds: number;
}

const equals = {
  actor: 'actor_email = {actor_email:String}',
  userId: 'actor_id = {actor_id:String}',
} as const;
const ofName = ['names[1] = {names:String}', 'names[2] = {names:String}'];
const ofHash = ['file_hash[1] = {file_hash:String}', 'file_hash[2] = {file_hash:String}'];
const ofBoth = ['actor', 'userId'] as const;

/** Short, so that a page skips few events of its first bucket; long for single values, so that they are few. */
const ofAll: Counts = { besides: [], bucketSeconds: 600 };
const kept: readonly Counts[] = [
  ofAll,
  { lead: { filter: 'fileName', conditions: ofName }, besides: ofBoth, bucketSeconds: 3600 },
  { lead: { filter: 'fileHash', conditions: ofHash }, besides: ofBoth, bucketSeconds: 3600 },
  { lead: { filter: 'userId', conditions: [equals.userId] }, besides: ['actor'], bucketSeconds: 3600 },
  { lead: { filter: 'actor', conditions: [equals.actor] }, besides: [], bucketSeconds: 3600 },
];

export interface PageStart {
  readonly scalars: string;
  readonly condition: string;
  readonly skip: string;
  readonly total: string;
}

const microsPerSecond = 1_000_000;

/** The projection of all counts; naming it skips projection selection, a third of the time. */
const byCounts = "SETTINGS preferred_optimize_projection_name = 'counts'";

const instant = (seconds: string | number): string =>
  `fromUnixTimestamp64Micro(toInt64(${seconds}) * ${microsPerSecond}, 'UTC')`;

/** Unix second of the end of an event's bucket; the projection's own expression. */
const bucketEnd = (seconds: number): string =>
  `(intDiv(toUnixTimestamp64Micro(time), ${seconds * microsPerSecond}) + 1) * ${seconds}`;

const bucketBegin = (micros: number, seconds: number): number =>
  Math.floor(micros / (seconds * microsPerSecond)) * seconds;

/**
 * `ends` (Unix second) and `matches` (events). Buckets cut by the range count as empty: the engine would move a condition below the
 * grouping, to the time, which the projection lacks.
 */
function wholeBuckets({ lead, besides, bucketSeconds: seconds }: Counts, filter: AuditFilter): string {
  const fromMicros = earliestOf(filter);
  const { toMicros } = filter;
  const ends = bucketEnd(seconds);
  const inside = [
    ...(fromMicros === undefined ? [] : [`ends > ${bucketBegin(fromMicros, seconds) + seconds}`]),
    ...(toMicros === undefined ? [] : [`ends <= ${bucketBegin(toMicros, seconds)}`]),
  ];
  const matches = inside.length === 0 ? 'count()' : `if(${inside.join(' AND ')}, count(), 0)`;
  const others = besides.filter((one) => filter.is?.[one] !== undefined).map((one) => equals[one]);
  const counted = (...conditions: readonly string[]): string =>
    `SELECT ${ends} AS ends, ${matches} AS matches FROM events WHERE ${['org = {org:UUID}', ...conditions].join(' AND ')} ` +
    `GROUP BY org, intDiv(toUnixTimestamp64Micro(time), ${seconds * microsPerSecond})`;
  if (lead === undefined) return `${counted()} ${byCounts}`;
  return lead.conditions.map((condition) => counted(condition, ...others)).join(' UNION ALL ');
}

/**
 * Buckets that the bounds of a range cut, counted by event. One scalar: anything else selects projections
 * first.
 */
function dividedBuckets(seconds: number, begins: readonly number[], { sql }: Where): string {
  const within = (begin: number): string =>
    `time >= ${instant(begin)} AND time < ${instant(begin + seconds)}`;
  const counts = begins.map((begin) => `(toInt64(${begin + seconds}), countIf(${within(begin)}))`);
  const list =
    `SELECT [${counts.join(', ')}] FROM events WHERE ${sql} AND (${begins.map(within).join(' OR ')}) ` +
    'SETTINGS optimize_use_projections = 0';
  return `SELECT bucket.1 AS ends, bucket.2 AS matches FROM (SELECT arrayJoin((${list})) AS bucket)`;
}

function allBuckets(counts: Counts, filter: AuditFilter, where: Where): string {
  const { bucketSeconds: seconds } = counts;
  const bounds = [earliestOf(filter), filter.toMicros].filter((micros) => micros !== undefined);
  const divided = [...new Set(bounds.map((micros) => bucketBegin(micros, seconds)))];
  const whole = wholeBuckets(counts, filter);
  return divided.length === 0 ? whole : `${whole} UNION ALL ${dividedBuckets(seconds, divided, where)}`;
}

/**
 * From the newest: (end of its first, events of newer buckets, begin of its last, all events). End 0 means an offset past the
 * oldest event.
 */
const bucketsAround = (buckets: string, seconds: number): string =>
  'SELECT tuple(maxIf(ends, upto > {offset:UInt64}), maxIf(upto, upto <= {offset:UInt64}), ' +
  `maxIf(ends, upto >= {offset:UInt64} + {limit:UInt64}) - ${seconds}, max(upto)) ` +
  `FROM (SELECT ends, sum(matches) OVER (ORDER BY ends DESC) AS upto FROM (${buckets}))`;

/** The rarest filter decides. */
function boundsBy(counts: readonly Counts[], columns: Pick<AuditFilter, 'is'>) {
  const ranges = counts.map(
    (one) =>
      `SELECT max(ends) AS newest, min(ends) - ${one.bucketSeconds} AS oldest FROM (${wholeBuckets(one, columns)})`,
  );
  return `SELECT tuple(min(newest), max(oldest)) FROM (${ranges.join(' UNION ALL ')})`;
}

/** Sums counts for a range of time and reads only the events at its ends; reading all takes half as long again per million. */
export function countQuery(filter: AuditFilter, where: Where): string {
  const plain = `SELECT count() FROM events WHERE ${where.sql}`;
  if (hasColumnFilter(filter)) return plain;
  const { from, to } = timesOf(filter);
  const isBounded = earliestOf(filter) !== undefined || filter.toMicros !== undefined;
  if (!isBounded || filter.nothing) return `${plain} ${byCounts}`;
  if (to - from < countedRangeMicrosMin) return plain;
  return `SELECT sum(matches) FROM (${allBuckets(ofAll, filter, where)})`;
}

function exactStart(counts: Counts, filter: AuditFilter, where: Where): PageStart {
  const buckets = allBuckets(counts, filter, where);
  return {
    scalars: `WITH (${bucketsAround(buckets, counts.bucketSeconds)}) AS place`,
    condition: `time < ${instant('place.1')} AND time >= ${instant('place.3')}`,
    skip: 'toUInt64({offset:UInt64} - place.2)',
    total: 'place.4',
  };
}

/**
 * In the page's own query, so on one snapshot. If no counts cover the whole filter, those of a part bound the page. Undefined
 * without counts, or with a flow id, whose few events its projection finds.
 */
export function pageStart(filter: AuditFilter, where: Where): PageStart | undefined {
  const { is = {}, in: within, not, words, sinceSeq, nothing } = filter;
  const given = Object.keys(is) as FilterName[];
  if (given.includes('flowId') || nothing) return undefined;
  const isCounted = [within, not, words, sinceSeq].every((one) => one === undefined);
  const found = kept.filter(({ lead }) =>
    lead === undefined ? given.length === 0 && isCounted : given.includes(lead.filter),
  );
  const exact = found.find(
    ({ lead, besides }) =>
      isCounted && given.every((one) => one === lead?.filter || besides.some((beside) => beside === one)),
  );
  if (exact !== undefined) return exactStart(exact, filter, where);
  // Counts that others include bound nothing more.
  const leading = found.filter(
    ({ lead }) => !found.some(({ besides }) => besides.some((one) => one === lead?.filter)),
  );
  if (leading.length === 0) return undefined;
  const condition = `time < ${instant('place.1')} AND time >= ${instant('place.2')}`;
  return {
    scalars: `WITH (${boundsBy(leading, { is })}) AS place`,
    condition,
    skip: '{offset:UInt64}',
    total: `(SELECT count() FROM events WHERE ${where.sql} AND ${condition})`,
  };
}
