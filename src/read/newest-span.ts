import { FifoMap } from '../base/waiting/fifo-map.ts';
import { limits as baseLimits } from '../base/limits.ts';
import { hasColumnFilter, type PageRequest, type Where } from './filter.ts';
import { limits } from './limits.ts';
import type { PageStart } from './offset-index.ts';

/** How long before the present the newest events of an organization began, as a page of them has shown. */
interface Span {
  readonly events: number;
  readonly micros: number;
}

/**
 * From when on an organization that records all the time has had enough events for its newest page. Where many parts
 * are yet to be merged, the engine looks into each for the newest events unless a bound on the time leaves it out: a page
 * of 1000 from 45 parts takes half as long with it (bench/notes.md, Upkeep).
 *
 * It is a guess, by the page before. The page's own query counts whether the guess holds (`sinceFloor`), so what is
 * read is the same with it and without.
 */
export class NewestSpans {
  readonly #spans = new FifoMap<Span>();

  /** Since when (Unix microseconds) there are as many events as the page wants, probably; undefined: nothing is known. */
  floor(organization: string, request: PageRequest, now: number): number | undefined {
    const span = this.#spans.get(organization);
    if (span === undefined || !isNewest(request) || span.events < wanted(request)) return undefined;
    if (span.micros > limits.newestSpanMicrosMax) return undefined;
    // Events come in waves, one for each segment of the log.
    return Math.max(now - 2 * span.micros - limits.newestSlackMicros, baseLimits.eventTimeMicrosMin);
  }

  /** A full page was read; `oldest` is the time of its last event and `now` the one when it was asked for. */
  seen(organization: string, request: PageRequest, { oldest, now }: { oldest: number; now: number }): void {
    if (!isNewest(request)) return;
    const span = { events: wanted(request), micros: Math.max(now - oldest, 0) };
    const known = this.#spans.get(organization);
    // What is known of more events is true of fewer.
    if (known !== undefined && known.events > span.events && known.micros >= span.micros) return;
    this.#spans.set(organization, span);
    if (this.#spans.size > limits.newestOrganizationsMax) this.#spans.removeOldest();
  }
}

const wanted = ({ limit, offset }: PageRequest): number => limit + offset;

function isNewest({ filter, offset }: PageRequest): boolean {
  const { fromMicros, toMicros, nothing } = filter;
  const isAny = fromMicros === undefined && toMicros === undefined && nothing === undefined;
  return isAny && !hasColumnFilter(filter) && offset < limits.deepOffsetMin;
}

/**
 * A page of events since `{floor:Int64}` where these are enough, and of all events where they are not. No more are counted
 * than the page wants: where events have future times, they can be any number.
 */
export function sinceFloor({ sql }: Where, total: string): PageStart {
  const since = (micros: string): string => `time >= fromUnixTimestamp64Micro(${micros}, 'UTC')`;
  const wantedRows = '{offset:UInt64} + {limit:UInt64}';
  const counted =
    `SELECT 1 AS one FROM events WHERE ${sql} AND ${since('{floor:Int64}')} LIMIT ${wantedRows} ` +
    'SETTINGS optimize_use_projections = 0';
  return {
    scalars:
      `WITH (SELECT if(count() >= ${wantedRows}, {floor:Int64}, ${baseLimits.eventTimeMicrosMin}) ` +
      `FROM (${counted})) AS floor`,
    condition: since('floor'),
    skip: '{offset:UInt64}',
    total,
  };
}
