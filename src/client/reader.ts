import { AuditlogError } from './error.ts';
import { type Envelope, readEnvelope } from './json-text.ts';
import { pause, type RetryFacts, type RetryPolicy, withRetries } from './retry.ts';
import { type Call, endpoint, request } from './transport.ts';
import type {
  CallOptions,
  EventFilter,
  EventOf,
  EventPage,
  EventSchema,
  FeedPage,
  FeedQuery,
  PageQuery,
} from './types.ts';

const pageEventsMax = 1000;
const feedWaitSecondsMax = 30;
const feedIdleMs = 1_000;

export interface ReaderOptions {
  readonly base: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly retry: RetryPolicy;
  readonly responseBytesMax: number;
  readonly fetch?: typeof fetch | undefined;
  readonly onRetry?: ((facts: RetryFacts) => void) | undefined;
}

export interface FeedOptions<S extends EventSchema = EventSchema> extends FeedQuery<S>, CallOptions {
  /** False ends after the last existing event; default true, which continues until the signal. */
  readonly follow?: boolean | undefined;
  /** Milliseconds to pause at the end, instead of long-polling. */
  readonly intervalMs?: number | undefined;
}

export class Reader {
  readonly #options: ReaderOptions;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Newest first. Rejects with AuditlogError. */
  page<S extends EventSchema = 'default'>(
    query: PageQuery<S> = {},
    { signal }: CallOptions = {},
  ): Promise<EventPage<EventOf<S>>> {
    const { limit = pageEventsMax, offset = 0 } = query;
    const url = endpoint(this.#options.base, 'api/v1/audit', { ...query, limit, offset });
    return this.#get(
      { url, signal, mayNotIgnore: filterNames(query) },
      ({ meta, ...read }: Envelope<EventOf<S>>) => ({
        ...read,
        total: metaNumber(meta, 'total'),
        limit: metaNumber(meta, 'limit'),
        offset: metaNumber(meta, 'offset'),
        searchedBackTo: typeof meta['searched_back_to'] === 'string' ? meta['searched_back_to'] : undefined,
      }),
    );
  }

  /** In recording order. A server without a feed answers 404, an invalid cursor 400. */
  feedPage<S extends EventSchema = 'default'>(
    query: FeedQuery<S> = {},
    { signal }: CallOptions = {},
  ): Promise<FeedPage<EventOf<S>>> {
    const { cursor, limit = pageEventsMax } = query;
    const wait = Math.min(Math.max(0, Math.trunc(query.wait ?? 0)), feedWaitSecondsMax);
    const parameters = { ...query, cursor: cursor === '' ? undefined : cursor, limit, wait };
    const url = endpoint(this.#options.base, 'api/v1/audit/feed', parameters);
    return this.#get(
      { url, signal, mayNotIgnore: filterNames(query), waitMs: wait * 1000 },
      ({ meta, ...read }: Envelope<EventOf<S>>) => {
        const { next_cursor: next, has_more: hasMore } = meta;
        if (typeof next !== 'string' || typeof hasMore !== 'boolean')
          throw new AuditlogError('protocol', 'the answer has no meta.next_cursor or meta.has_more');
        return {
          ...read,
          cursor: next,
          hasMore,
          settledThrough: metaNumber(meta, 'settled_through'),
          readThrough: metaNumber(meta, 'read_through'),
        };
      },
    );
  }

  /**
   * All matching pages, newest first. New events shift the pages, so an event may come twice: give an
   * `endTime` in the past, or use the feed.
   */
  async *pages<S extends EventSchema = 'default'>(
    query: PageQuery<S> = {},
    call: CallOptions = {},
  ): AsyncGenerator<EventPage<EventOf<S>>> {
    for (let { offset = 0, endTime } = query; ; ) {
      const page = await halved(query, (limit) => this.page<S>({ ...query, endTime, limit, offset }, call));
      yield page;
      offset = page.offset + page.events.length;
      if (page.events.length > 0 && offset < page.total) continue;
      if (page.searchedBackTo === undefined) return;
      endTime = page.searchedBackTo;
      // The search went less far than the one before: skip the events already returned.
      offset = Math.max(0, offset - page.total);
    }
  }

  async *events<S extends EventSchema = 'default'>(
    {
      pageSize: limit,
      ...filter
    }: EventFilter & { readonly pageSize?: number; readonly schema?: S | undefined } = {},
    call: CallOptions = {},
  ): AsyncGenerator<EventOf<S>> {
    for await (const page of this.pages<S>({ ...filter, limit }, call)) yield* page.events;
  }

  /**
   * Pages from a cursor; empty ones too, because their cursor advances. Save a page's `cursor` after
   * processing its events, and none is missed. Ends only with `follow: false`; an abort rejects with
   * AuditlogError `aborted`.
   */
  async *feed<S extends EventSchema = 'default'>(
    options: FeedOptions<S> = {},
  ): AsyncGenerator<FeedPage<EventOf<S>>> {
    const { follow = true, intervalMs, signal, startTime, ...query } = options;
    const waitMax = options.wait ?? (follow && intervalMs === undefined ? 20 : 0);
    // The first answer reports at once how far behind the cursor is.
    let wait = 0;
    for (let { cursor } = query; ; ) {
      const begun = performance.now();
      // The time only selects the start; afterwards the cursor does.
      const from = cursor === undefined || cursor === '' ? { startTime } : { cursor };
      const page = await halved(query, (limit) =>
        this.feedPage<S>({ ...query, ...from, limit, wait }, { signal }),
      );
      const tookMs = performance.now() - begun;
      yield page;
      cursor = page.cursor;
      if (page.hasMore) continue;
      if (!follow) return;
      if (intervalMs !== undefined) await pause(intervalMs, signal);
      // A server without long-polling must not be polled continuously.
      else if (wait === waitMax && page.events.length === 0 && tookMs < feedIdleMs)
        await pause(feedIdleMs, signal);
      wait = waitMax;
    }
  }

  /** Retries an interrupted answer or invalid JSON as well. */
  #get<T, E>(
    call: Pick<Call, 'url' | 'signal' | 'mayNotIgnore'> & { readonly waitMs?: number },
    read: (envelope: Envelope<E>) => T,
  ): Promise<T> {
    const { headers, retry, onRetry, responseBytesMax, fetch } = this.#options;
    const { waitMs = 0, ...asked } = call;
    const timeoutMs = this.#options.timeoutMs + waitMs;
    return withRetries(retry, { signal: asked.signal, onRetry }, async () => {
      const answer = await request({ ...asked, method: 'GET', headers, timeoutMs, responseBytesMax, fetch });
      return read(readEnvelope<E>(answer));
    });
  }
}

function filterNames(query: PageQuery | FeedQuery): string[] {
  const ofPage = ['schema', 'limit', 'offset', 'cursor', 'wait'];
  return Object.keys(query).filter((name) => !ofPage.includes(name));
}

function metaNumber(meta: Envelope<unknown>['meta'], name: string): number {
  const value = meta[name];
  if (typeof value !== 'number') throw new AuditlogError('protocol', `the answer has no meta.${name}`);
  return value;
}

async function halved<T>(
  { limit = pageEventsMax }: { readonly limit?: number | undefined },
  ask: (limit: number) => Promise<T>,
): Promise<T> {
  for (let asked = limit; ; asked = Math.ceil(asked / 2)) {
    try {
      return await ask(asked);
    } catch (error) {
      if (!(error instanceof AuditlogError && error.code === 'too_large') || asked === 1) throw error;
    }
  }
}
