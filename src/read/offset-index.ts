import type { AuditFilter, Where } from './filter.ts';

/**
 * Counts of an organization's events by buckets of time, which a projection of the table keeps (migrations 0008 and
 * 0009): true to each part, so their sum is exact on any snapshot.
 */
interface Counts {
  /**
   * The one column filter that they answer, and what its events have in common: any of these columns (each counted by
   * itself, so an event may match in one of them only) equals the parameter. Undefined: all events.
   */
  readonly by?: {
    readonly filter: keyof AuditFilter;
    readonly columns: readonly string[];
    readonly parameter: string;
  };
  readonly bucketSeconds: number;
}

/** Buckets short enough that a page skips few events of its first one; of single values, long enough to be few. */
const kept: readonly Counts[] = [
  { bucketSeconds: 600 },
  {
    by: { filter: 'actorEmail', columns: ['actor_email'], parameter: '{actor_email:String}' },
    bucketSeconds: 3600,
  },
  { by: { filter: 'actorId', columns: ['actor_id'], parameter: '{actor_id:String}' }, bucketSeconds: 3600 },
  {
    by: { filter: 'name', columns: ['names[1]', 'names[2]'], parameter: '{name:String}' },
    bucketSeconds: 3600,
  },
  {
    by: { filter: 'fileHash', columns: ['file_hash[1]', 'file_hash[2]'], parameter: '{file_hash:String}' },
    bucketSeconds: 3600,
  },
];

/** Where a page begins and ends, as SQL of the page's own query. */
export interface PageStart {
  /** `WITH …`: the scalars that the other texts name. */
  readonly scalars: string;
  /** Of the events that match, those that are not passed over as a whole. */
  readonly condition: string;
  /** How many of these come before the page. */
  readonly skip: string;
  /** All events that match. */
  readonly total: string;
}

const microsPerSecond = 1_000_000;

const instant = (seconds: string | number): string =>
  `fromUnixTimestamp64Micro(toInt64(${seconds}) * ${microsPerSecond}, 'UTC')`;

/** The Unix second at which the bucket ends that an event is in. The division is the projection's own expression. */
const bucketEnd = (seconds: number): string =>
  `(intDiv(toUnixTimestamp64Micro(time), ${seconds * microsPerSecond}) + 1) * ${seconds}`;

/** The Unix second at which the bucket of a moment (microseconds) begins. */
const beginOf = (micros: number, seconds: number): number =>
  Math.floor(micros / (seconds * microsPerSecond)) * seconds;

/**
 * The buckets that lie in the range as a whole: `ends`, the Unix second at which one ends, and `held`, its events. The
 * others count as empty. They are not left out by a condition: the engine would move that below the grouping, to the
 * time, which the counts of a projection no longer have.
 */
function wholeBuckets({ by, bucketSeconds: seconds }: Counts, { fromMicros, toMicros }: AuditFilter): string {
  const ends = bucketEnd(seconds);
  const inside = [
    ...(fromMicros === undefined ? [] : [`ends > ${beginOf(fromMicros, seconds) + seconds}`]),
    ...(toMicros === undefined ? [] : [`ends <= ${beginOf(toMicros, seconds)}`]),
  ];
  const held = inside.length === 0 ? 'count()' : `if(${inside.join(' AND ')}, count(), 0)`;
  const counted = (keys: string, where: string): string =>
    `SELECT ${ends} AS ends, ${held} AS held FROM events WHERE org = {org:UUID}${where} ` +
    `GROUP BY ${keys}, intDiv(toUnixTimestamp64Micro(time), ${seconds * microsPerSecond})`;
  if (by === undefined) return counted('org', '');
  return by.columns
    .map((column) => counted(`org, ${column}`, ` AND ${column} = ${by.parameter}`))
    .join(' UNION ALL ');
}

/** The buckets that the bounds of a range divide, by event. One scalar: anything else looks for projections first. */
function dividedBuckets(seconds: number, begins: readonly number[], { sql }: Where): string {
  const within = (begin: number): string =>
    `time >= ${instant(begin)} AND time < ${instant(begin + seconds)}`;
  const counts = begins.map((begin) => `(toInt64(${begin + seconds}), countIf(${within(begin)}))`);
  const list =
    `SELECT [${counts.join(', ')}] FROM events WHERE ${sql} AND (${begins.map(within).join(' OR ')}) ` +
    'SETTINGS optimize_use_projections = 0';
  return `SELECT bucket.1 AS ends, bucket.2 AS held FROM (SELECT arrayJoin((${list})) AS bucket)`;
}

function bucketsOf(counts: Counts, filter: AuditFilter, where: Where): string {
  const { bucketSeconds: seconds } = counts;
  const bounds = [filter.fromMicros, filter.toMicros].filter((micros) => micros !== undefined);
  const divided = [...new Set(bounds.map((micros) => beginOf(micros, seconds)))];
  const whole = wholeBuckets(counts, filter);
  return divided.length === 0 ? whole : `${whole} UNION ALL ${dividedBuckets(seconds, divided, where)}`;
}

/**
 * The buckets between which a page lies, counted from the newest: (end of its first, events of newer buckets, begin of
 * its last, all events). No event is before the end 0, which stands for an offset past the oldest, and all events
 * are after the begin of what has fewer than the page wants.
 */
const bucketsAround = (buckets: string, seconds: number): string =>
  'SELECT tuple(maxIf(ends, upto > {offset:UInt64}), maxIf(upto, upto <= {offset:UInt64}), ' +
  `maxIf(ends, upto >= {offset:UInt64} + {limit:UInt64}) - ${seconds}, max(upto)) ` +
  `FROM (SELECT ends, sum(held) OVER (ORDER BY ends DESC) AS upto FROM (${buckets}))`;

/**
 * Finds the page `{limit:UInt64}` at `{offset:UInt64}` by the counts that the table keeps: where the newest and the
 * oldest of its events can be, and the total. All is one query with the page, so they are of one snapshot. Undefined
 * where no counts are kept of what the filter asks for.
 */
export function pageStart(filter: AuditFilter, where: Where): PageStart | undefined {
  const { fromMicros: _from, toMicros: _to, ...columns } = filter;
  const given = Object.keys(columns);
  const counts = kept.find(({ by }) => given.length === (by ? 1 : 0) && by?.filter === given[0]);
  if (counts === undefined) return undefined;
  const buckets = bucketsOf(counts, filter, where);
  return {
    scalars: `WITH (${bucketsAround(buckets, counts.bucketSeconds)}) AS place`,
    condition: `time < ${instant('place.1')} AND time >= ${instant('place.3')}`,
    skip: 'toUInt64({offset:UInt64} - place.2)',
    total: 'place.4',
  };
}
