import { limits } from './limits.ts';
import { AuditlogError } from './error.ts';
import { splitEnvelope } from './json-text.ts';
import { pause, type RetryFacts, type RetryPolicy, withRetries } from './retry.ts';
import { endpoint, request } from './transport.ts';
import type {
  AuditEvent,
  CallOptions,
  EventFilter,
  EventPage,
  EventsRead,
  FeedPage,
  FeedQuery,
  PageQuery,
} from './types.ts';

export interface ReaderOptions {
  readonly base: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly retry: RetryPolicy;
  readonly responseBytesMax: number;
  readonly onRetry?: ((facts: RetryFacts) => void) | undefined;
}

export interface FeedOptions extends FeedQuery, CallOptions {
  /** False ends after the last event that is there now; default true, which goes on until the signal. */
  readonly follow?: boolean | undefined;
}

export interface Reader {
  /** One page of the audit endpoint, newest first. Rejects with AuditlogError. */
  page(query?: PageQuery, options?: CallOptions): Promise<EventPage>;
  /** One page of the feed, in the order of recording. A server without a feed answers 404, a bad cursor 400. */
  feedPage(query?: FeedQuery, options?: CallOptions): Promise<FeedPage>;
  /**
   * All events that match, newest first, by limit and offset. Events recorded meanwhile move the pages, so an event
   * may come twice: give an `endTime` in the past where that matters, or use the feed.
   */
  events(
    filter?: EventFilter & { readonly pageSize?: number },
    options?: CallOptions,
  ): AsyncGenerator<AuditEvent>;
  /**
   * Pages of the feed from a cursor on; empty ones too, since their cursor is further on. Keep `cursor` of a page
   * when its events are dealt with, and nothing is missed. Ends at the last event only with `follow: false`; an
   * abort rejects with AuditlogError `aborted`.
   */
  feed(options?: FeedOptions): AsyncGenerator<FeedPage>;
}

function eventsOf(texts: readonly string[]): EventsRead {
  return { texts, events: texts.map((text) => JSON.parse(text) as AuditEvent) };
}

function readEnvelope(text: string): EventsRead & { readonly meta: Readonly<Record<string, unknown>> } {
  try {
    const { events, meta } = splitEnvelope(text);
    return { ...eventsOf(events), meta: JSON.parse(meta) as Record<string, unknown> };
  } catch (error) {
    if (error instanceof AuditlogError) throw error;
    // The parser's own message would quote the events.
    throw new AuditlogError('protocol', 'the answer is not JSON');
  }
}

function numberOf(meta: Readonly<Record<string, unknown>>, name: string): number {
  const value = meta[name];
  if (typeof value !== 'number') throw new AuditlogError('protocol', `the answer has no meta.${name}`);
  return value;
}

function filterOf(query: EventFilter): EventFilter {
  const { startTime, endTime, actor, userId, fileName, fileHash, flowId } = query;
  return { startTime, endTime, actor, userId, fileName, fileHash, flowId };
}

export function createReader(options: ReaderOptions): Reader {
  const { base, headers, retry, onRetry } = options;

  /** Retries include an answer that broke off or is no JSON. */
  function get<T>(
    path: string,
    query: object,
    waitMs: number,
    signal: AbortSignal | undefined,
    read: (text: string) => T,
  ) {
    const url = endpoint(base, path, query);
    const timeoutMs = options.timeoutMs + waitMs;
    const { responseBytesMax } = options;
    return withRetries(retry, { signal, onRetry }, async () => {
      const answer = await request({ method: 'GET', url, headers, timeoutMs, signal, responseBytesMax });
      return read(answer.text);
    });
  }

  const reader: Reader = {
    page(query = {}, { signal } = {}) {
      const { limit = limits.pageEventsMax, offset = 0 } = query;
      return get('api/v1/audit', { ...filterOf(query), limit, offset }, 0, signal, (text) => {
        const { events, texts, meta } = readEnvelope(text);
        const page = { total: numberOf(meta, 'total'), limit: numberOf(meta, 'limit') };
        return { events, texts, ...page, offset: numberOf(meta, 'offset') };
      });
    },

    feedPage(query = {}, { signal } = {}) {
      const { cursor, limit = limits.pageEventsMax } = query;
      const wait = Math.min(Math.max(0, Math.trunc(query.wait ?? 0)), limits.feedWaitSecondsMax);
      const parameters = { ...filterOf(query), cursor: cursor === '' ? undefined : cursor, limit, wait };
      return get('api/v1/audit/feed', parameters, wait * 1000, signal, (text) => {
        const { events, texts, meta } = readEnvelope(text);
        const { next_cursor: next, has_more: hasMore } = meta;
        if (typeof next !== 'string' || typeof hasMore !== 'boolean')
          throw new AuditlogError('protocol', 'the answer has no meta.next_cursor or meta.has_more');
        return { events, texts, cursor: next, hasMore, settledThrough: numberOf(meta, 'settled_through') };
      });
    },

    async *events(filter = {}, call = {}) {
      for (let offset = 0; ; ) {
        const page = await reader.page({ ...filter, limit: filter.pageSize, offset }, call);
        yield* page.events;
        offset = page.offset + page.events.length;
        if (page.events.length === 0 || offset >= page.total) return;
      }
    },

    async *feed({ follow = true, signal, wait = follow ? 20 : 0, ...query } = {}) {
      for (let { cursor } = query; ; ) {
        const begun = performance.now();
        const page = await reader.feedPage({ ...query, cursor, wait }, { signal });
        const tookMs = performance.now() - begun;
        yield page;
        cursor = page.cursor;
        if (page.hasMore) continue;
        if (!follow) return;
        // A server that does not hold requests, or was not asked to, is not to be asked all the time.
        if (page.events.length === 0 && tookMs < limits.feedIdleMs) await pause(limits.feedIdleMs, signal);
      }
    },
  };
  return reader;
}
