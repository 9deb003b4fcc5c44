import { appendFile, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { AuditlogError } from '../../client/client.ts';
import { request } from '../../client/transport.ts';
import { limits } from '../limits.ts';
import type { ForwardedEvent } from './batch.ts';
import { type FormatName, formatEvents, isDocument } from './formats.ts';
import { rejectedByOtlp } from './otlp.ts';
import { type Delivery, orTransient, type Sink, withoutBody } from './sink.ts';

export interface HttpSinkOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly format: FormatName;
  /** Of a Loki stream, or attributes of OTLP's resource. */
  readonly labels: Readonly<Record<string, string>>;
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
      'content-type': isLines(options.format) ? 'application/x-ndjson' : 'application/json',
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
    const { refused, rejected } = await this.#post(events, cut);
    if (rejected === 0) return { rejected };
    if (rejectedTo === undefined)
      throw new Error(`the destination refused ${rejected} events for good; see --rejected-to`);
    await orTransient(appendFile(rejectedTo, formatEvents('ndjson', refused), { flush: true }));
    return { rejected };
  }

  /** The events that the other side will never take; a batch that it refuses as a whole is divided. */
  async #post(events: readonly ForwardedEvent[], signal: AbortSignal): Promise<Refused> {
    const { url, format, labels, timeoutMs, rejectedTo } = this.#options;
    const plain = formatEvents(format, events, labels);
    const body = this.#options.gzip ? await compress(plain) : plain;
    const call = { method: 'POST', url, headers: this.#headers, body, timeoutMs, signal } as const;
    try {
      const answer = await request({ ...call, responseBytesMax: limits.forwardAnswerBytesMax });
      return refusedBy(format, answer, events);
    } catch (error) {
      const status = error instanceof AuditlogError ? error.status : undefined;
      const mayDivide = status === 413 || (status === 400 && rejectedTo !== undefined);
      if (!mayDivide || (events.length === 1 && rejectedTo === undefined)) throw withoutBody(error);
      if (events.length === 1) return { refused: events, rejected: 1 };
      const middle = events.length >> 1;
      const first = await this.#post(events.slice(0, middle), signal);
      const second = await this.#post(events.slice(middle), signal);
      const refused = [...first.refused, ...second.refused];
      return { refused, rejected: first.rejected + second.rejected };
    }
  }
}

interface Refused {
  /** With OTLP also events that were taken: its answer has a number and does not say which. */
  readonly refused: readonly ForwardedEvent[];
  readonly rejected: number;
}

function isLines(format: FormatName): boolean {
  return format !== 'splunk-hec' && !isDocument(format);
}

/** What an answer of success says of the events that it does not cover. */
function refusedBy(format: FormatName, answer: string, events: readonly ForwardedEvent[]): Refused {
  if (format === 'otlp') {
    const rejected = rejectedByOtlp(answer);
    return { refused: rejected === 0 ? [] : events, rejected };
  }
  const refused = format === 'elastic-bulk' ? refusedByBulk(answer, events) : [];
  return { refused, rejected: refused.length };
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
