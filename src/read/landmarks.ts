import { limits as baseLimits } from '../base/limits.ts';
import { limits } from './limits.ts';
import { FifoMap } from '../base/fifo-map.ts';
import type { Parameters, Storage } from '../storage/storage.ts';
import { countEvents } from './count.ts';
import { type AuditFilter, whereClause } from './filter.ts';
import { inKeyOrder } from './plans.ts';

/** A moment before an offset, and how many of the events asked for are newer than it. */
export interface Place {
  /** Unix microseconds: events up to here, inclusive, are not skipped as a whole. */
  readonly micros: number;
  readonly newer: number;
  /**
   * As long as the organization has `all` events, `newer` is exact and `total` are asked for; undefined: `newer` is
   * what was true once.
   */
  readonly exact: { readonly all: number; readonly total: number } | undefined;
  /** What `newer` was made of: the landmark's count from the range's end on, and what lies behind that end. */
  readonly landmark: number;
  readonly skipped: number;
  readonly version: string | undefined;
  /** Which landmarks it is of. */
  readonly of: object;
}

export interface Counted {
  readonly newer: number;
  readonly total: number;
}

/** A text that stays the same as long as no event of the organization is added; undefined when nobody can tell. */
export type VersionOf = (organization: string) => Promise<string | undefined>;

/**
 * Remembers how many events of an organization are newer than which moments, so that a deep page need not count them.
 * What it says is checked by the page's own query (page.ts): where it is wrong, that costs time and nothing else.
 */
export interface Landmarks {
  /** The last place known of that has at most `offset` events before it; undefined when that is none. */
  near(
    organization: string,
    filter: AuditFilter,
    offset: number,
    signal: AbortSignal,
  ): Promise<Place | undefined>;
  /** What the engine counted at a place that was not exact. */
  learn(
    organization: string,
    filter: AuditFilter,
    place: Place,
    counted: Counted,
    signal: AbortSignal,
  ): Promise<void>;
  /** They have turned out to be wrong. */
  forget(organization: string): void;
}

interface Known {
  /** Unix seconds, descending, and how many events are in that second or newer. */
  readonly starts: number[];
  readonly counts: number[];
  /** With which the counts are exact, as long as none expire; undefined when they are not. */
  version: string | undefined;
  /** The version of the last request, to see whether it stays. */
  seen: string | undefined;
  /** False where some events are so late that hours cannot count them. */
  readonly canBeExact: boolean;
  /** Time ranges, exact with `version`: events behind the range's end, and in it. */
  readonly ranges: Map<string, { readonly skipped: number; readonly total: number }>;
  /** Counts that are not exact: events that arrived at the newest end since, and how many the last time. */
  arrived: number;
  arriving: number;
  /** Gaps (by their start) that seconds do not divide. */
  readonly narrow: Set<number>;
}

const microsPerSecond = 1_000_000;
/** Hours are 32-bit times: from this second on (2106-01-01) events would count as ones of long ago. */
const countedUntil = 4_291_747_200;

/** Buckets of time, newest first, each `step` events or more: where the last one begins and the events down to it. */
const landmarksOf = (buckets: string): string =>
  'SELECT groupArray(begins) AS starts, groupArray(events) AS counts, ' +
  `(SELECT count() FROM events WHERE org = {org:UUID} AND time >= toDateTime64(${countedUntil}, 6, 'UTC')) AS far ` +
  'FROM (SELECT toFloat64(min(start)) AS begins, toFloat64(max(upto)) AS events FROM (' +
  'SELECT start, sum(count) OVER (ORDER BY start DESC) AS upto, sum(count) OVER () AS total ' +
  `FROM (${buckets})) GROUP BY intDiv(upto, greatest({step:UInt64}, intDiv(total, {most:UInt64}))) ` +
  'ORDER BY begins DESC)';

/** From the counts that the table keeps. */
const byHour = landmarksOf(
  'SELECT toUnixTimestamp(toStartOfHour(time)) AS start, count() AS count FROM events ' +
    'WHERE org = {org:UUID} GROUP BY org, toStartOfHour(time)',
);
const bySecond = landmarksOf(
  'SELECT intDiv(toUnixTimestamp64Micro(time), 1000000) AS start, count() AS count FROM events WHERE org = {org:UUID} ' +
    "AND time >= fromUnixTimestamp64Micro({from:Int64}, 'UTC') AND time < fromUnixTimestamp64Micro({to:Int64}, 'UTC') " +
    'GROUP BY start',
);

export function createLandmarks(storage: Storage, versionOf: VersionOf): Landmarks {
  const all = new FifoMap<{ readonly known: Known | undefined }>();

  async function ask(query: string, parameters: Parameters, signal: AbortSignal) {
    const bounds = { step: limits.landmarkStepEvents, most: limits.landmarksMax };
    const [row] = await storage.rows<{ starts: number[]; counts: number[]; far: string }>(
      query,
      { ...parameters, ...bounds },
      { signal, settings: inKeyOrder },
    );
    return row ?? { starts: [], counts: [], far: '0' };
  }

  function keep(organization: string, known: Known | undefined): void {
    all.set(organization, { known });
    if (all.size > limits.landmarkOrganizationsMax) all.removeOldest();
  }

  async function set(organization: string, version: string | undefined, signal: AbortSignal): Promise<Known> {
    const { starts, counts, far } = await ask(byHour, { org: organization }, signal);
    const canBeExact = far === '0';
    const isExact = canBeExact && version === (await versionOf(organization));
    const known = {
      starts,
      counts,
      version: isExact ? version : undefined,
      seen: version,
      canBeExact,
      ranges: new Map(),
      arrived: 0,
      arriving: 0,
      narrow: new Set<number>(),
    };
    keep(organization, known);
    return known;
  }

  /** Those of the organization; set anew when they could be exact again and it seems to last. */
  async function knownOf(
    organization: string,
    version: string | undefined,
    signal: AbortSignal,
  ): Promise<Known> {
    const known = all.get(organization)?.known;
    if (known === undefined) return set(organization, version, signal);
    const couldBeExact = known.canBeExact && version !== undefined && version === known.seen;
    if (couldBeExact && version !== known.version) return set(organization, version, signal);
    known.seen = version;
    keep(organization, known);
    return known;
  }

  /** Sets landmarks inside of a gap that holds so many events that passing over them would be slow. */
  async function refine(organization: string, known: Known, gap: number, signal: AbortSignal): Promise<void> {
    const { starts, counts, narrow } = known;
    const from = starts[gap];
    const to = starts[gap - 1];
    const before = counts[gap - 1] ?? 0;
    const events = (counts[gap] ?? 0) - before;
    if (from === undefined || events <= limits.landmarkGapEventsMax || narrow.has(from)) return;
    const range = {
      org: organization,
      from: from * microsPerSecond,
      to: to === undefined ? baseLimits.eventTimeMicrosMax + 1 : to * microsPerSecond,
    };
    const inside = await ask(bySecond, range, signal);
    // Another request may have done the same meanwhile.
    if (starts[gap] !== from || starts[gap - 1] !== to) return;
    narrow.add(from);
    if (inside.counts.at(-1) !== events) known.version = undefined;
    const finer = inside.starts.filter((start) => start > from);
    if (starts.length + finer.length > limits.landmarksMax * 2) return;
    starts.splice(gap, 0, ...finer);
    counts.splice(gap, 0, ...inside.counts.slice(0, finer.length).map((count) => before + count));
  }

  return {
    async near(organization, filter, offset, signal) {
      const version = await versionOf(organization);
      const known = await knownOf(organization, version, signal);
      const { starts, counts } = known;
      const { fromMicros, toMicros } = filter;
      const isExact = () => version !== undefined && version === known.version;
      const isOpen = toMicros === undefined;
      const end = () => (isOpen ? 0 : countWhile(starts, (start) => start * microsPerSecond > toMicros));
      if (!isOpen) await refine(organization, known, end(), signal);
      const isAll = isOpen && fromMicros === undefined;
      const all = { skipped: 0, total: counts.at(-1) ?? 0 };
      const range = isAll ? all : known.ranges.get(rangeKey(filter));
      // Events behind the range's end within one gap are not known of: the place is then before where it could be.
      const skipped = range?.skipped ?? counts[end() - 1] ?? 0;
      const arrived = isOpen && !isExact() ? known.arrived : 0;
      const slack = isOpen && !isExact() ? known.arriving * 2 : 0;
      const find = () => countWhile(counts, (count) => count <= offset + skipped - arrived - slack);
      await refine(organization, known, find(), signal);
      const at = find() - 1;
      const [start, count] = [starts[at], counts[at]];
      if (start === undefined || count === undefined || count <= skipped) return undefined;
      return {
        micros: start * microsPerSecond - 1,
        newer: count - skipped + arrived,
        exact: isExact() && range !== undefined ? { all: counts.at(-1) ?? 0, total: range.total } : undefined,
        landmark: count - skipped,
        skipped,
        version: isExact() ? version : undefined,
        of: known,
      };
    },

    async learn(organization, filter, place, { newer, total }, signal) {
      const known = all.get(organization)?.known;
      if (known === undefined || known !== place.of) return;
      if (place.version === undefined) {
        if (filter.toMicros !== undefined) return;
        const arrived = newer - place.landmark;
        known.arriving = Math.max(0, arrived - known.arrived);
        known.arrived = arrived;
        return;
      }
      // Exact together with the landmarks only if nothing has come or gone since they were set.
      const events = await countEvents(storage, whereClause(organization, {}), inKeyOrder, signal);
      if (events !== known.counts.at(-1)) {
        keep(organization, undefined);
        return;
      }
      if (known.version !== place.version || place.version !== (await versionOf(organization))) return;
      if (known.ranges.size >= limits.landmarkRangesMax) known.ranges.clear();
      known.ranges.set(rangeKey(filter), { skipped: place.skipped + place.landmark - newer, total });
    },

    forget: (organization) => keep(organization, undefined),
  };
}

function rangeKey({ fromMicros, toMicros }: AuditFilter): string {
  return `${fromMicros ?? ''} ${toMicros ?? ''}`;
}

/** How many of the first values `holds` is true of; it must be false for all that follow. */
function countWhile(values: readonly number[], holds: (value: number) => boolean): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(values[middle] as number)) low = middle + 1;
    else high = middle;
  }
  return low;
}
