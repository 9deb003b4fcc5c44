import { limits } from './limits.ts';
import type { AuditlogError } from './error.ts';
import { Reader } from './reader.ts';
import { Recorder } from './recorder.ts';
import { type RetryFacts, type RetryOptions, retryPolicy } from './retry.ts';
import { baseUrl } from './transport.ts';
import type { Rejection } from './types.ts';

export { AuditlogError, type AuditlogErrorCode, isTransient } from './error.ts';
export { eventIdentity } from './json-text.ts';
export type { FeedOptions } from './reader.ts';
export type { RetryFacts, RetryOptions } from './retry.ts';
export type {
  AuditEvent,
  CallOptions,
  Counts,
  EventFilter,
  EventOf,
  EventPage,
  EventSchema,
  FeedPage,
  FeedQuery,
  FlushReport,
  Instant,
  OcsfEvent,
  PageQuery,
  Rejection,
  SourceEvent,
  SourceMessage,
} from './types.ts';

const requestMsDefault = 30_000;
/** Node's fetch gives up on response headers after 300 s by itself. */
const requestMsMax = 290_000;
const readGiveUpMsDefault = 120_000;
const writeGiveUpMsDefault = 900_000;
/** The service remembers idempotency keys for 24 h; a later retry could be stored twice. */
const writeGiveUpMsMax = 23 * 3_600_000;
const batchEventsDefault = 500;
const batchEventsMax = 10_000;
const batchBytesDefault = 1024 * 1024;
const batchDelayMsDefault = 200;
const batchDelayMsMax = 3_600_000;
const queueEventsDefault = 10_000;
const queueBytesDefault = 16 * 1024 * 1024;
const requestsAtOnceMax = 16;

export interface ClientOptions {
  /** Address of the service, such as `https://audit.example`; a path is kept. */
  readonly url: string;
  /** Sent as `X-API-Key`; scope `write` to record, `read` to read. */
  readonly apiKey: string;
  /** Timeout of a request, from the connection to the last byte; default 30,000, at most 290,000. */
  readonly timeoutMs?: number;
  /** Replaces the global `fetch`, for example for a proxy. */
  readonly fetch?: typeof fetch;
  /** Larger answers fail with `too_large`, bytes; default 256 MiB. */
  readonly responseBytesMax?: number;
  /** Retries of reads; by default after 200 ms doubling to 2 s, given up after 2 minutes. */
  readonly readRetry?: RetryOptions;
  /** Retries of batches; by default given up after 15 minutes, at most 23 hours. */
  readonly writeRetry?: RetryOptions;
  /**
   * A batch is sent at this many events (default 500), bytes (1 MiB) or milliseconds after its first (200).
   */
  readonly batch?: { readonly events?: number; readonly bytes?: number; readonly delayMs?: number };
  /** Bound of unacknowledged events (default 10,000 events, 16 MiB); beyond it the newest are dropped. */
  readonly queue?: { readonly events?: number; readonly bytes?: number };
  /** Concurrent batches, 1 to 16; default 1, which keeps the order of recording. */
  readonly requestsAtOnce?: number;
  /** Bodies from this size on are compressed; default 1,024, Infinity for never. */
  readonly gzipBytesMin?: number;
  /** Called with the number of events that will not be stored: dropped, or given up with their batch. */
  readonly onError?: (error: AuditlogError, events: number) => void;
  /** Called with the events of a batch that the service rejected. */
  readonly onRejected?: (rejections: readonly Rejection[]) => void;
  /** Called for each failed attempt that will be retried. */
  readonly onRetry?: (facts: RetryFacts) => void;
}

export type Client = Pick<Recorder, keyof Recorder> & Pick<Reader, keyof Reader>;

function within(name: string, given: number | undefined, usual: number, min: number, max: number): number {
  const value = given ?? usual;
  if (!(value >= min && value <= max)) throw new TypeError(`${name}: from ${min} to ${max}`);
  return value;
}

/**
 * A client of the audit log service over HTTP. Opens nothing by itself. Throws TypeError for invalid options;
 * after that only awaited calls reject.
 */
export function createClient(options: ClientOptions): Client {
  const { apiKey, batch = {}, queue = {}, onRetry, onError, onRejected } = options;
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new TypeError('apiKey: must be an API key');
  const shared = {
    base: baseUrl(options.url),
    headers: { 'x-api-key': apiKey, accept: 'application/json' },
    timeoutMs: within('timeoutMs', options.timeoutMs, requestMsDefault, 1, requestMsMax),
    fetch: options.fetch,
    onRetry,
  };
  const writeRetry = retryPolicy(options.writeRetry, writeGiveUpMsDefault);
  const most = Number.MAX_SAFE_INTEGER;
  const recorder = new Recorder({
    ...shared,
    retry: { ...writeRetry, giveUpAfterMs: Math.min(writeRetry.giveUpAfterMs, writeGiveUpMsMax) },
    batch: {
      events: within('batch.events', batch.events, batchEventsDefault, 1, batchEventsMax),
      bytes: within('batch.bytes', batch.bytes, batchBytesDefault, 1, most),
      delayMs: within('batch.delayMs', batch.delayMs, batchDelayMsDefault, 0, batchDelayMsMax),
    },
    queue: {
      events: within('queue.events', queue.events, queueEventsDefault, 1, most),
      bytes: within('queue.bytes', queue.bytes, queueBytesDefault, 1, most),
    },
    requestsAtOnce: within('requestsAtOnce', options.requestsAtOnce, 1, 1, requestsAtOnceMax),
    gzipBytesMin: within('gzipBytesMin', options.gzipBytesMin, limits.gzipBytesMin, 0, Infinity),
    onError,
    onRejected,
  });
  const reader = new Reader({
    ...shared,
    retry: retryPolicy(options.readRetry, readGiveUpMsDefault),
    responseBytesMax: options.responseBytesMax ?? limits.responseBytesMax,
  });
  return {
    record: (event) => recorder.record(event),
    flush: (flushOptions) => recorder.flush(flushOptions),
    close: (closeOptions) => recorder.close(closeOptions),
    counts: () => recorder.counts(),
    page: (query, call) => reader.page(query, call),
    feedPage: (query, call) => reader.feedPage(query, call),
    pages: (query, call) => reader.pages(query, call),
    events: (filter, call) => reader.events(filter, call),
    feed: (feedOptions) => reader.feed(feedOptions),
  };
}
