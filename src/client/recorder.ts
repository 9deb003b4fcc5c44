import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { limits } from './limits.ts';
import { AuditlogError } from './error.ts';
import { abortedError, type RetryFacts, type RetryPolicy, withRetries } from './retry.ts';
import { endpoint, refusalsOf, request } from './transport.ts';
import type { Counts, FlushReport, Rejection, SourceEvent } from './types.ts';

export interface RecorderOptions {
  readonly base: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly retry: RetryPolicy;
  readonly batchEvents: number;
  readonly batchBytes: number;
  readonly batchDelayMs: number;
  readonly queueEvents: number;
  readonly queueBytes: number;
  readonly requestsAtOnce: number;
  readonly gzipBytesMin: number;
  readonly onError?: ((error: AuditlogError, events: number) => void) | undefined;
  readonly onRejected?: ((rejections: readonly Rejection[]) => void) | undefined;
  readonly onRetry?: ((facts: RetryFacts) => void) | undefined;
}

export interface Recorder {
  /**
   * Queues an event to be sent and returns at once; never throws. False: it was dropped (counted, and told to
   * `onError`), because the queue is full, the client is closed, or the event is not JSON. The event is copied now.
   */
  record(event: SourceEvent): boolean;
  /**
   * Sends what is queued without delay and waits, `timeoutMs` at most (default 30 s), until each event recorded so
   * far has been stored or given up. Never rejects: the report says what was not stored since the last report.
   */
  flush(options?: { readonly timeoutMs?: number }): Promise<FlushReport>;
  /** `flush` (default 10 s), then gives up what is left and takes nothing more. */
  close(options?: { readonly timeoutMs?: number }): Promise<FlushReport>;
  /** Since the client was made. */
  counts(): Counts & { readonly pending: number };
}

/** Events that are sent together, as NDJSON lines; an idempotency key belongs to a batch, so its content is final. */
interface Batch {
  readonly lines: string[];
  bytes: number;
}

const compress = promisify(gzip);

/**
 *   record ──▶ open batch ──▶ waiting (sealed) ──▶ sending, `requestsAtOnce` ──▶ acknowledged | rejected | failed
 *     │        by count, bytes, delay                 retries with one key a batch
 *     └ dropped when the three together hold `queueEvents` or `queueBytes`
 */
export function createRecorder(options: RecorderOptions): Recorder {
  const counts = { acknowledged: 0, rejected: 0, failed: 0, dropped: 0 };
  let reported: Counts = { ...counts };
  let held = { events: 0, bytes: 0 };
  let open: Batch = { lines: [], bytes: 0 };
  const waiting: Batch[] = [];
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const ending = new AbortController();
  const sending = new Set<Promise<void>>();
  const unsettled = new Set<Promise<void>>();
  const settle = new WeakMap<Batch, () => void>();

  /** A handler of the caller's must not end a batch half way, nor the process. */
  function tell(call: () => void): void {
    try {
      call();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      process.emitWarning(`a callback of the auditlog client threw: ${why}`);
    }
  }

  function drop(error: AuditlogError): false {
    counts.dropped += 1;
    tell(() => options.onError?.(error, 1));
    return false;
  }

  function seal(): void {
    clearTimeout(timer);
    timer = undefined;
    if (open.lines.length === 0) return;
    const batch = open;
    open = { lines: [], bytes: 0 };
    waiting.push(batch);
    const settled = new Promise<void>((resolve) => settle.set(batch, resolve));
    unsettled.add(settled);
    void settled.then(() => unsettled.delete(settled));
    send();
  }

  function send(): void {
    while (sending.size < options.requestsAtOnce) {
      const batch = waiting.shift();
      if (batch === undefined) return;
      const sent = deliver(batch).then(() => {
        held = { events: held.events - batch.lines.length, bytes: held.bytes - batch.bytes };
        sending.delete(sent);
        settle.get(batch)?.();
        send();
      });
      sending.add(sent);
    }
  }

  function fail(error: unknown, events: number): void {
    counts.failed += events;
    const known =
      error instanceof AuditlogError
        ? error
        : new AuditlogError('network', 'sending failed', { cause: error });
    tell(() => options.onError?.(known, events));
  }

  function reject(lines: readonly string[], refused: number, errors: AuditlogError['errors'] = []): void {
    counts.rejected += refused;
    const rejections: Rejection[] = errors.flatMap(({ index, error }) => {
      const line = lines[index];
      return line === undefined ? [] : [{ event: JSON.parse(line) as SourceEvent, error }];
    });
    // The service names the first hundred. When all were refused, the others are known without being named.
    if (refused === lines.length && rejections.length < refused) {
      const named = new Set(errors.map(({ index }) => index));
      const others = lines.filter((_, index) => !named.has(index));
      for (const line of others)
        rejections.push({ event: JSON.parse(line) as SourceEvent, error: undefined });
    }
    tell(() => options.onRejected?.(rejections));
  }

  /** Never rejects: what became of the batch is in the counts and told to the callbacks. */
  async function deliver({ lines }: { readonly lines: readonly string[] }): Promise<void> {
    try {
      const { accepted, rejected, errors } = await post(lines);
      counts.acknowledged += accepted;
      if (rejected > 0) reject(lines, rejected, errors);
    } catch (error) {
      const status = error instanceof AuditlogError ? error.status : undefined;
      if (status === 400 && error instanceof AuditlogError && error.errors !== undefined)
        reject(lines, lines.length, error.errors);
      else if (status === 413 && lines.length > 1) {
        const middle = lines.length >> 1;
        await deliver({ lines: lines.slice(0, middle) });
        await deliver({ lines: lines.slice(middle) });
      } else fail(error, lines.length);
    }
  }

  async function post(lines: readonly string[]) {
    if (ending.signal.aborted) throw abortedError();
    const plain = Buffer.from(lines.join('\n'));
    const isCompressed = plain.length >= options.gzipBytesMin;
    const body = isCompressed ? await compress(plain, { level: 1 }) : plain;
    const headers = {
      ...options.headers,
      'content-type': 'application/x-ndjson',
      // The same over all retries: an attempt whose answer was lost is recognized and not stored again.
      'idempotency-key': randomUUID(),
      ...(isCompressed && { 'content-encoding': 'gzip' }),
    };
    const url = endpoint(options.base, 'api/v1/audit');
    const { timeoutMs, retry, onRetry } = options;
    const { signal } = ending;
    const hooks = {
      signal,
      onRetry: (facts: RetryFacts) => tell(() => onRetry?.(facts)),
      keepsProcess: false,
    };
    return withRetries(retry, hooks, async () =>
      readAnswer(
        (await request({ method: 'POST', url, headers, body, timeoutMs, signal })).text,
        lines.length,
      ),
    );
  }

  function report(): FlushReport {
    const since = {
      acknowledged: counts.acknowledged - reported.acknowledged,
      rejected: counts.rejected - reported.rejected,
      failed: counts.failed - reported.failed,
      dropped: counts.dropped - reported.dropped,
    };
    reported = { ...counts };
    const pending = held.events;
    const complete = pending + since.rejected + since.failed + since.dropped === 0;
    return { ...since, pending, complete };
  }

  async function settledWithin(timeoutMs: number): Promise<void> {
    seal();
    let alarm: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      alarm = setTimeout(resolve, timeoutMs);
    });
    await Promise.race([Promise.all(unsettled), late]);
    clearTimeout(alarm);
  }

  function record(event: SourceEvent): boolean {
    if (closed) return drop(new AuditlogError('closed', 'the client is closed'));
    const line = lineOf(event);
    if (line === undefined) return drop(new AuditlogError('not_json', 'the event cannot be written as JSON'));
    const bytes = Buffer.byteLength(line) + 1;
    if (held.events >= options.queueEvents || held.bytes + bytes > options.queueBytes)
      return drop(new AuditlogError('queue_full', 'the queue is full; the event was dropped'));
    if (open.bytes + bytes > options.batchBytes) seal();
    open.lines.push(line);
    open.bytes += bytes;
    held = { events: held.events + 1, bytes: held.bytes + bytes };
    if (open.lines.length >= options.batchEvents || open.bytes >= options.batchBytes) seal();
    else timer ??= setTimeout(seal, options.batchDelayMs);
    return true;
  }

  return {
    record,
    async flush({ timeoutMs = limits.flushMsDefault } = {}) {
      await settledWithin(timeoutMs);
      return report();
    },
    async close({ timeoutMs = limits.closeMsDefault } = {}) {
      closed = true;
      await settledWithin(timeoutMs);
      const failed = counts.failed;
      ending.abort();
      await Promise.all(unsettled);
      // What was cut off here may have been stored all the same: it stays pending in the report.
      const pending = counts.failed - failed;
      const rest = report();
      return { ...rest, failed: rest.failed - pending, pending };
    },
    counts: () => ({ ...counts, pending: held.events }),
  };
}

function lineOf(event: unknown): string | undefined {
  try {
    const line = JSON.stringify(event) as string | undefined;
    return line?.startsWith('{') === true ? line : undefined;
  } catch {
    // Reported by the caller: a cycle, a BigInt, or a `toJSON` of the application's that throws.
    return undefined;
  }
}

function readAnswer(text: string, sent: number) {
  try {
    const body = JSON.parse(text) as { accepted?: unknown; rejected?: unknown } | null;
    const { accepted, rejected } = body ?? {};
    if (typeof accepted === 'number' && typeof rejected === 'number' && accepted + rejected === sent)
      return { accepted, rejected, errors: refusalsOf(body) };
  } catch {
    // An answer cut short: asked for again with the same key.
  }
  throw new AuditlogError('protocol', 'the answer to a batch is not what the service sends');
}
