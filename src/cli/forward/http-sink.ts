import { appendFile, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { AuditlogError } from '../../client/client.ts';
import { request } from '../../client/transport.ts';
import { limits } from '../limits.ts';
import type { ForwardedEvent } from './batch.ts';
import { type FormatName, formatEvents } from './formats.ts';
import { type Delivery, orTransient, type Sink } from './sink.ts';

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

/** Posts batches to an HTTP address; a 2xx answer means delivered. */
export class HttpSink implements Sink {
  readonly #options: HttpSinkOptions;
  readonly #headers: Readonly<Record<string, string>>;

  private constructor(options: HttpSinkOptions) {
    this.#options = options;
    this.#headers = {
      'content-type': options.format === 'splunk-hec' ? 'application/json' : 'application/x-ndjson',
      ...options.headers,
      ...(options.gzip && { 'content-encoding': 'gzip' }),
    };
  }

  static async open(options: HttpSinkOptions): Promise<HttpSink> {
    const { rejectedTo } = options;
    // A file that cannot be written ends the run now, not when the first event must go there.
    if (rejectedTo !== undefined) await (await open(rejectedTo, 'a', 0o600)).close();
    return new HttpSink(options);
  }

  async deliver(events: readonly ForwardedEvent[], { cut }: Delivery) {
    const { rejectedTo } = this.#options;
    const refused = await this.#post(events, cut);
    if (refused.length === 0) return { rejected: 0 };
    if (rejectedTo === undefined)
      throw new Error(`the destination refused ${refused.length} events for good; see --rejected-to`);
    await orTransient(appendFile(rejectedTo, formatEvents('ndjson', refused), { flush: true }));
    return { rejected: refused.length };
  }

  /** The events that the other side will never take; a batch that it refuses as a whole is divided. */
  async #post(events: readonly ForwardedEvent[], signal: AbortSignal): Promise<ForwardedEvent[]> {
    const { url, format, timeoutMs, rejectedTo } = this.#options;
    const plain = formatEvents(format, events);
    const body = this.#options.gzip ? await compress(plain) : plain;
    const call = { method: 'POST', url, headers: this.#headers, body, timeoutMs, signal } as const;
    try {
      const answer = await request({ ...call, responseBytesMax: limits.forwardAnswerBytesMax });
      return format === 'elastic-bulk' ? refusedByBulk(answer, events) : [];
    } catch (error) {
      const status = error instanceof AuditlogError ? error.status : undefined;
      const mayDivide = status === 413 || (status === 400 && rejectedTo !== undefined);
      if (!mayDivide || (events.length === 1 && rejectedTo === undefined)) throw withoutBody(error);
      if (events.length === 1) return [...events];
      const middle = events.length >> 1;
      const first = await this.#post(events.slice(0, middle), signal);
      return [...first, ...(await this.#post(events.slice(middle), signal))];
    }
  }
}

interface BulkAnswer {
  readonly errors?: boolean;
  readonly items?: readonly { readonly create?: { readonly status?: number } }[];
}

/** What Elasticsearch refused of a batch; one that it has had before (409) is delivered. */
function refusedByBulk(text: string, events: readonly ForwardedEvent[]): ForwardedEvent[] {
  let answer: BulkAnswer;
  try {
    answer = JSON.parse(text) as BulkAnswer;
  } catch {
    throw new AuditlogError('protocol', 'the destination did not answer like a bulk interface');
  }
  if (answer.errors === false) return [];
  const { items } = answer;
  if (!Array.isArray(items) || items.length !== events.length)
    throw new AuditlogError('protocol', 'the destination did not answer for each event');
  const statuses = items.map(
    (item: { readonly create?: { readonly status?: number } }) => item.create?.status ?? 500,
  );
  const busy = statuses.find((status) => status === 429 || status >= 500);
  if (busy !== undefined)
    throw new AuditlogError('http', `${busy} for a part of the batch`, { status: busy });
  return events.filter((_, index) => {
    const status = statuses[index] ?? 0;
    return status >= 300 && status !== 409;
  });
}

/** What the other side says about an event may quote it, and errors are for logs. */
function withoutBody(error: unknown): unknown {
  if (!(error instanceof AuditlogError) || error.status === undefined) return error;
  const { status, retryAfterMs } = error;
  return new AuditlogError('http', `the destination answered ${status}`, { status, retryAfterMs });
}
