import { appendFile, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { AuditlogError } from '../../client/client.ts';
import { requestBytes } from '../../client/transport.ts';
import type { ForwardedEvent } from './batch.ts';
import { type FormatName, formatEvents, isDocument } from './formats.ts';
import { rejectedByOtlp } from './otlp.ts';
import { type Delivered, type Delivery, orTransient, type Sink, withoutBody } from './sink.ts';

const forwardAnswerBytesMax = 64 * 1024 * 1024;

export interface HttpSinkOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly format: FormatName;
  /** Labels of a Loki stream, or attributes of the OTLP resource. */
  readonly labels: Readonly<Record<string, string>>;
  readonly gzip: boolean;
  readonly timeoutMs: number;
  /** NDJSON file for permanently refused events; undefined: a refusal ends the command. */
  readonly rejectedTo: string | undefined;
}

const compress = promisify(gzip);

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
    // Fails before any delivery if the file cannot be written.
    if (rejectedTo !== undefined) await (await open(rejectedTo, 'a', 0o600)).close();
    return new HttpSink(options);
  }

  async deliver(events: readonly ForwardedEvent[], { cut }: Delivery) {
    const { rejectedTo } = this.#options;
    const { refused, rejected, later } = await this.#post(events, cut);
    if (rejected === 0) return { rejected, later };
    if (rejectedTo === undefined)
      throw new Error(`the destination refused ${rejected} events permanently; see --rejected-to`);
    await orTransient(appendFile(rejectedTo, formatEvents('ndjson', refused), { flush: true }));
    return { rejected, later };
  }

  /** Splits a batch that is refused as a whole. */
  async #post(events: readonly ForwardedEvent[], signal: AbortSignal): Promise<Answered> {
    const { url, format, labels, timeoutMs, rejectedTo } = this.#options;
    const plain = formatEvents(format, events, labels);
    const body = this.#options.gzip ? await compress(plain) : plain;
    const call = { method: 'POST', url, headers: this.#headers, body, timeoutMs, signal } as const;
    try {
      const answer = await requestBytes({ ...call, responseBytesMax: forwardAnswerBytesMax });
      return answeredBy(format, Buffer.from(answer).toString(), events);
    } catch (error) {
      const status = error instanceof AuditlogError ? error.status : undefined;
      const mayDivide = status === 413 || (status === 400 && rejectedTo !== undefined);
      if (!mayDivide || (events.length === 1 && rejectedTo === undefined)) throw withoutBody(error);
      if (events.length === 1) return { refused: events, rejected: 1 };
      const middle = events.length >> 1;
      const first = await this.#post(events.slice(0, middle), signal);
      return together(first, await this.#post(events.slice(middle), signal));
    }
  }
}

interface Answered extends Delivered {
  /** With OTLP also accepted events: its answer has only a number. */
  readonly refused: readonly ForwardedEvent[];
}

function together(one: Answered, other: Answered): Answered {
  const left = [one.later, other.later].filter((later) => later !== undefined);
  const [first] = left;
  return {
    refused: [...one.refused, ...other.refused],
    rejected: one.rejected + other.rejected,
    later: first && { ...first, events: left.flatMap(({ events }) => events) },
  };
}

const isLines = (format: FormatName): boolean => format !== 'splunk-hec' && !isDocument(format);

function answeredBy(format: FormatName, answer: string, events: readonly ForwardedEvent[]): Answered {
  if (format === 'otlp') {
    const rejected = rejectedByOtlp(answer);
    return { refused: rejected === 0 ? [] : events, rejected };
  }
  return format === 'elastic-bulk' ? answeredByBulk(answer, events) : { refused: [], rejected: 0 };
}

interface BulkAnswer {
  readonly errors?: boolean;
  readonly items?: readonly ({ readonly create?: { readonly status?: number } } | null)[];
}

/** Elasticsearch reports each event; 409 means that it already has it. */
function answeredByBulk(text: string, events: readonly ForwardedEvent[]): Answered {
  let answer: BulkAnswer | null;
  try {
    answer = JSON.parse(text) as BulkAnswer | null;
  } catch {
    throw new AuditlogError('protocol', 'the answer of the destination is not that of a bulk interface');
  }
  if (answer?.errors === false) return { refused: [], rejected: 0 };
  const items = answer?.items;
  if (!Array.isArray(items) || items.length !== events.length)
    throw new AuditlogError('protocol', 'the destination did not answer for each event');
  const statuses = items.map((item: NonNullable<BulkAnswer['items']>[number]) => item?.create?.status ?? 500);
  const isBusy = (status: number) => status === 429 || status >= 500;
  const isRefused = (status: number) => status >= 300 && status !== 409 && !isBusy(status);
  const eventsWith = (holds: (status: number) => boolean) =>
    events.filter((_, index) => holds(statuses[index] ?? 500));
  const refused = eventsWith(isRefused);
  const busy = statuses.find(isBusy);
  const later = busy === undefined ? undefined : { events: eventsWith(isBusy), error: busyError(busy) };
  return { refused, rejected: refused.length, later };
}

const busyError = (status: number): AuditlogError =>
  new AuditlogError('http', `${status} for a part of the batch`, { status });
