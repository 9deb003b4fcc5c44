import {
  AuditlogError,
  type Client,
  eventIdentity,
  type EventFilter,
  type FeedPage,
} from '../../client/client.ts';
import { pause } from '../../client/retry.ts';
import { limits } from '../limits.ts';
import { limits as readLimits } from '../../read/limits.ts';
import { type Batch, type ForwardedEvent, oneLine, shortHash } from './batch.ts';

export interface SourceOptions {
  readonly client: Client;
  readonly filter: EventFilter;
  readonly batchEvents: number;
  /** Undefined: the server is asked to hold the request, or the default of the mode is taken. */
  readonly intervalMs: number | undefined;
  /** Ends when nothing more is there. */
  readonly once: boolean;
  /** Names this run of deliveries over restarts; part of every event's id. */
  readonly stream: string;
  readonly signal: AbortSignal;
}

/**
 * Ids are of the page's cursor, the event and how many alike it came before in the page: a page asked for again
 * begins with the same events, though it may have more of them by then.
 */
function forwarded(
  page: { readonly texts: readonly string[]; readonly events: readonly { readonly time: number }[] },
  stream: string,
  cursor: string,
): ForwardedEvent[] {
  let ids: readonly string[] | undefined;
  const makeIds = (): readonly string[] => {
    const alike = new Map<string, number>();
    return page.texts.map((text) => {
      const identity = eventIdentity(text);
      const before = alike.get(identity) ?? 0;
      alike.set(identity, before + 1);
      return shortHash(stream, cursor, identity, before);
    });
  };
  return page.texts.map((text, index) => ({
    text: oneLine(text),
    time: page.events[index]?.time ?? 0,
    id: () => (ids ??= makeIds())[index] ?? '',
  }));
}

/** A page that is too large to be held is asked for in smaller parts. */
export async function halved<T>(limit: number, ask: (limit: number) => Promise<T>): Promise<T> {
  for (let asked = limit; ; asked = Math.ceil(asked / 2)) {
    try {
      return await ask(asked);
    } catch (error) {
      if (!(error instanceof AuditlogError && error.code === 'too_large') || asked === 1) throw error;
    }
  }
}

/**
 * Follows the feed from a cursor on: the order of recording, nothing missed, a page a batch. While one is being
 * delivered, the next is asked for, where there is one.
 */
export async function* feedSource(
  { client, filter, batchEvents, intervalMs, once, stream, signal }: SourceOptions,
  from: string,
): AsyncGenerator<Batch> {
  const { startTime, ...matching } = filter;
  const ask = (cursor: string, wait: number): Promise<FeedPage> => {
    // `startTime` is where the order is entered; from then on the cursor says it.
    const query = { ...matching, cursor, wait, ...(cursor === '' && { startTime }) };
    return halved(batchEvents, (limit) => client.feedPage({ ...query, limit }, { signal }));
  };
  // The first does not wait: how far behind it is should be known at once.
  let asked = ask(from, 0);
  for (let cursor = from; ; ) {
    const begun = performance.now();
    const page = await asked;
    const tookMs = performance.now() - begun;
    const events = forwarded(page, stream, cursor);
    const last = events.at(-1);
    cursor = page.cursor;
    if (page.hasMore) {
      asked = ask(cursor, 0);
      // Its failure is met where it is awaited; until then, and if the delivery fails first, it is nobody's.
      asked.catch(() => undefined);
    }
    const reached = cursor;
    yield {
      events,
      position: () => ({ mode: 'feed', cursor: reached }),
      settledThrough: page.hasMore && last !== undefined ? last.time : page.settledThrough,
    };
    if (page.hasMore) continue;
    if (once) return;
    if (intervalMs !== undefined) await pause(intervalMs, signal);
    else if (events.length === 0 && tookMs < readLimits.feedPollMs)
      await pause(readLimits.feedPollMs, signal);
    asked = ask(cursor, intervalMs === undefined ? limits.forwardWaitSeconds : 0);
  }
}
