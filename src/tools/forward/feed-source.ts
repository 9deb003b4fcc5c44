import {
  type AuditEvent,
  type Client,
  eventIdentity,
  type EventFilter,
  type EventSchema,
  type OcsfEvent,
} from '../../client/client.ts';
import { type Batch, type ForwardedEvent, eventMicros, oneLine, shortHash } from './batch.ts';

/** Long-poll time, short enough to keep the metrics current. */
const forwardWaitSeconds = 10;

export interface SourceOptions {
  readonly client: Client;
  readonly filter: EventFilter;
  readonly schema: EventSchema;
  readonly batchEvents: number;
  readonly intervalMs: number | undefined;
  readonly once: boolean;
  /** Identifies these deliveries across restarts. */
  readonly stream: string;
  readonly signal: AbortSignal;
}

export async function* feedSource(options: SourceOptions, from: string): AsyncGenerator<Batch> {
  const { client, filter, schema, batchEvents: limit, intervalMs, once, stream, signal } = options;
  const wait = once || intervalMs !== undefined ? 0 : forwardWaitSeconds;
  let cursor = from;
  const pages = client.feed({ ...filter, schema, cursor, limit, wait, intervalMs, follow: !once, signal });
  for await (const page of oneAhead(pages)) {
    const events = forwarded(page, schema, stream, cursor);
    cursor = page.cursor;
    const position = { mode: 'feed', cursor } as const;
    // Event times do not show the lag: old events may have arrived today.
    const settledThrough = page.hasMore ? page.readThrough : page.settledThrough;
    yield { events, position: () => position, settledThrough };
  }
}

async function* oneAhead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  for (let asked = items.next(); ; ) {
    const { done, value } = await asked;
    if (done === true) return;
    asked = items.next();
    // The next turn awaits it; if a delivery fails first, nothing does.
    asked.catch(() => undefined);
    yield value;
  }
}

/**
 * An id consists of the page's cursor, the event's text and its count within the page, so it is the same when the page is read
 * again.
 */
function forwarded(
  page: { readonly texts: readonly string[]; readonly events: readonly (AuditEvent | OcsfEvent)[] },
  schema: EventSchema,
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
    time: eventMicros(page.events[index], schema),
    id: () => (ids ??= makeIds())[index] ?? '',
  }));
}
