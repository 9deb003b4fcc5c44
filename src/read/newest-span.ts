import { FifoMap } from '../base/waiting/fifo-map.ts';
import { limits as baseLimits } from '../base/limits.ts';
import { hasColumnFilter, type PageRequest, type Where } from './filter.ts';
import { limits } from './limits.ts';
import type { PageStart } from './offset-index.ts';

interface Span {
  readonly events: number;
  readonly micros: number;
}

/**
 * Guesses a lower bound of time for the newest page, by the page before: without a bound the engine looks into every unmerged
 * part (bench/notes.md, Upkeep). The query verifies the guess (`sinceFloor`), so results do not depend on it.
 */
export class NewestSpans {
  readonly #spans = new FifoMap<Span>();

  floor(organization: string, request: PageRequest, now: number): number | undefined {
    const span = this.#spans.get(organization);
    if (span === undefined || !isNewest(request) || span.events < wanted(request)) return undefined;
    if (span.micros > limits.newestSpanMicrosMax) return undefined;
    // Events come in waves, one per segment.
    return Math.max(now - 2 * span.micros - limits.newestSlackMicros, baseLimits.eventTimeMicrosMin);
  }

  seen(organization: string, request: PageRequest, { oldest, now }: { oldest: number; now: number }): void {
    if (!isNewest(request)) return;
    const span = { events: wanted(request), micros: Math.max(now - oldest, 0) };
    const known = this.#spans.get(organization);
    // A longer page's span also holds for a shorter one.
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
 * Of events since `{floor:Int64}` if these suffice, else of all. The count is limited to the page's size, as events with future
 * times may be any number.
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
