import { appendFile, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { limits } from '../limits.ts';
import { AuditlogError } from '../../client/client.ts';
import { request } from '../../client/transport.ts';
import type { ForwardedEvent } from './batch.ts';
import { orTransient } from './durable.ts';
import { type FormatName, formatEvents } from './formats.ts';
import type { Sink } from './sink.ts';

export interface HttpSinkOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly format: FormatName;
  readonly gzip: boolean;
  readonly timeoutMs: number;
  /** Events that the other side refuses for good are written here as NDJSON; undefined: they end the command. */
  readonly rejectedTo: string | undefined;
}

const compress = promisify(gzip);

interface BulkItem {
  readonly status?: number;
  readonly error?: { readonly type?: string };
}

/** What Elasticsearch refused of a batch; one that it has had before (409) is delivered. */
function refusedByBulk(text: string, events: readonly ForwardedEvent[]): ForwardedEvent[] {
  let answer: { readonly errors?: boolean; readonly items?: readonly { readonly create?: BulkItem }[] };
  try {
    answer = JSON.parse(text) as typeof answer;
  } catch {
    throw new AuditlogError('protocol', 'the destination did not answer like a bulk interface');
  }
  if (answer.errors === false) return [];
  const { items } = answer;
  if (!Array.isArray(items) || items.length !== events.length)
    throw new AuditlogError('protocol', 'the destination did not answer for each event');
  const results = (items as readonly { readonly create?: BulkItem }[]).map(({ create }) => create);
  const busy = results.find((item) => item?.status === 429 || (item?.status ?? 500) >= 500);
  if (busy !== undefined || results.includes(undefined))
    throw new AuditlogError('http', `${busy?.status ?? 500} for a part of the batch`, {
      status: busy?.status ?? 500,
    });
  return events.filter((_, index) => {
    const status = results[index]?.status ?? 0;
    return status >= 300 && status !== 409;
  });
}

/** What the other side says about an event may quote it, and errors are for logs. */
function withoutBody(error: unknown): unknown {
  if (!(error instanceof AuditlogError) || error.status === undefined) return error;
  const { status, retryAfterMs } = error;
  return new AuditlogError('http', `the destination answered ${status}`, { status, retryAfterMs });
}

/** Posts batches to an HTTP address; a 2xx answer means delivered. */
export async function openHttpSink(options: HttpSinkOptions): Promise<Sink> {
  const { url, format, timeoutMs, rejectedTo } = options;
  const headers = {
    'content-type': format === 'splunk-hec' ? 'application/json' : 'application/x-ndjson',
    ...options.headers,
    ...(options.gzip && { 'content-encoding': 'gzip' }),
  };
  // Found out now rather than when the first event is in nobody's hands.
  if (rejectedTo !== undefined) await (await open(rejectedTo, 'a', 0o600)).close();

  async function post(events: readonly ForwardedEvent[], signal: AbortSignal): Promise<ForwardedEvent[]> {
    const plain = formatEvents(format, events);
    const body = options.gzip ? await compress(plain) : plain;
    const call = { method: 'POST', url, headers, body, timeoutMs, signal } as const;
    try {
      const { text } = await request({ ...call, responseBytesMax: limits.forwardAnswerBytesMax });
      return format === 'elastic-bulk' ? refusedByBulk(text, events) : [];
    } catch (error) {
      const status = error instanceof AuditlogError ? error.status : undefined;
      const mayDivide = status === 413 || (status === 400 && rejectedTo !== undefined);
      if (!mayDivide || (events.length === 1 && rejectedTo === undefined)) throw withoutBody(error);
      if (events.length === 1) return [...events];
      const middle = events.length >> 1;
      const first = await post(events.slice(0, middle), signal);
      return [...first, ...(await post(events.slice(middle), signal))];
    }
  }

  return {
    prepare: async () => false,
    async deliver(events, signal) {
      const refused = await post(events, signal);
      if (refused.length === 0) return { rejected: 0 };
      if (rejectedTo === undefined)
        throw new Error(`the destination refused ${refused.length} events for good; see --rejected-to`);
      await orTransient(appendFile(rejectedTo, formatEvents('ndjson', refused), { flush: true }));
      return { rejected: refused.length };
    },
    state: () => undefined,
    close: async () => {},
  };
}
