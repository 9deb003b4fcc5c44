import type { AuditFilter, Where } from './filter.ts';
import { countOf } from './count.ts';

/** Where a deep page begins, as SQL of the page's own query. */
export interface DeepStart {
  /** `WITH …`: the scalars that the other texts name. */
  readonly scalars: string;
  /** Condition: events that are not passed over as a whole. */
  readonly condition: string;
  /** Events of these before the page. */
  readonly skip: string;
  readonly total: string;
  /** Events of the page's hour before the page. */
  readonly skippedOfHour: string;
}

/**
 * The bucket that holds the `target`th event, counted from the newest: (its end in Unix seconds, events of newer
 * buckets, all events). No event is before the end 0, which stands for a target past the oldest event.
 */
const bucketOf = (target: string, buckets: string): string =>
  `(SELECT tuple(maxIf(ends, upto > ${target}), maxIf(upto, upto <= ${target}), max(upto)) ` +
  `FROM (SELECT ends, sum(held) OVER (ORDER BY ends DESC) AS upto FROM (${buckets})))`;

/**
 * The counts that the table keeps of each hour. Hours are 32 bits of seconds, which end in 2106: a later hour appears
 * 2^32 seconds too early, and that is no multiple of 3600.
 */
const hours =
  'SELECT toInt64(toUnixTimestamp(toStartOfHour(time))) + 3600 AS shown, ' +
  'if(shown % 3600 = 0, shown, shown + 4294967296) AS ends, count() AS held ' +
  'FROM events WHERE org = {org:UUID} GROUP BY org, toStartOfHour(time)';

const instant = (seconds: string): string => `fromUnixTimestamp64Micro(toInt64(${seconds}) * 1000000, 'UTC')`;

/** Events of the found hour by second; projections would cost a look and have nothing to say. */
const seconds =
  'SELECT intDiv(toUnixTimestamp64Micro(time), 1000000) + 1 AS ends, count() AS held FROM events ' +
  `WHERE org = {org:UUID} AND time >= ${instant('hour.1 - 3600')} AND time < ${instant('hour.1')} GROUP BY ends`;

/**
 * Finds the page at `{offset:UInt64}` of a filter by time alone: among the hours of the organization, and `bySecond`
 * within that hour. All is one query with the page, so counts and page are of one snapshot.
 */
export function deepStart(filter: AuditFilter, where: Where, bySecond: boolean): DeepStart {
  const isOpen = filter.toMicros === undefined;
  const newerThanRange =
    "(SELECT count() FROM events WHERE org = {org:UUID} AND time > fromUnixTimestamp64Micro({to:Int64}, 'UTC'))";
  const outside = isOpen ? '0' : newerThanRange;
  const target = isOpen ? '{offset:UInt64}' : `({offset:UInt64} + ${outside})`;
  const hour = `${bucketOf(target, hours)} AS hour`;
  const second = `${bucketOf(`(${target} - hour.2)`, seconds)} AS second`;
  const newer = bySecond ? '(hour.2 + second.2)' : 'hour.2';
  const isAll = isOpen && filter.fromMicros === undefined;
  return {
    scalars: bySecond ? `WITH ${hour}, ${second}` : `WITH ${hour}`,
    condition: `time < ${instant(bySecond ? 'second.1' : 'hour.1')}`,
    skip: `toUInt64(${target} - greatest(${newer}, ${outside}))`,
    total: isAll ? 'hour.3' : `(${countOf(where)})`,
    skippedOfHour: `${target} - hour.2`,
  };
}
