import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { AuditlogError } from './error.ts';
import { limits } from './limits.ts';
import { abortedError, type RetryFacts } from './retry.ts';
import { type BatchRoute, sendBatch } from './send-batch.ts';
import type { Refusals } from './transport.ts';
import type { Counts, FlushReport, Rejection, SourceEvent } from './types.ts';

const flushMsDefault = 30_000;
const closeMsDefault = 10_000;

export interface RecorderOptions extends Omit<BatchRoute, 'hooks'> {
  readonly batch: { readonly events: number; readonly bytes: number; readonly delayMs: number };
  readonly queue: { readonly events: number; readonly bytes: number };
  readonly requestsAtOnce: number;
  readonly gzipBytesMin: number;
  readonly onError?: ((error: AuditlogError, events: number) => void) | undefined;
  readonly onRejected?: ((rejections: readonly Rejection[]) => void) | undefined;
  readonly onRetry?: ((facts: RetryFacts) => void) | undefined;
}

interface SettleOptions {
  readonly timeoutMs?: number;
}

const compress = promisify(gzip);

/**
 *   record ──▶ open batch ──▶ waiting (sealed) ──▶ sending, `requestsAtOnce` ──▶ acknowledged | rejected | failed
 *     │        by count, bytes, delay                 retries with one key a batch
 *     └ dropped when the three together hold `queue.events` or `queue.bytes`
 */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #sender: BatchSender;
  readonly #pending = { events: 0, bytes: 0 };
  #reported: Counts;
  #lines: string[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#sender = new BatchSender(options);
    this.#reported = { ...this.#sender.counts };
  }

  /**
   * Queues a copy and returns at once; never throws. False: dropped (counted, and passed to `onError`),
   * because the queue is full, the client is closed, or the event is not JSON.
   */
  record(event: SourceEvent): boolean {
    const { batch, queue } = this.#options;
    if (this.#closed) return this.#sender.drop('closed', 'the client is closed');
    const line = toLine(event);
    if (line === undefined) return this.#sender.drop('not_json', 'the event cannot be written as JSON');
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#pending.events >= queue.events || this.#pending.bytes + bytes > queue.bytes)
      return this.#sender.drop('queue_full', 'the queue is full; the event was dropped');
    if (this.#bytes + bytes > batch.bytes) this.#seal();
    this.#lines.push(line);
    this.#bytes += bytes;
    this.#pending.events += 1;
    this.#pending.bytes += bytes;
    if (this.#lines.length >= batch.events || this.#bytes >= batch.bytes) this.#seal();
    else this.#timer ??= setTimeout(() => this.#seal(), batch.delayMs);
    return true;
  }

  /**
   * Waits at most `timeoutMs` (default 30 s) until each queued event is stored or given up. Never rejects:
   * the report counts the events not stored since the last report.
   */
  async flush({ timeoutMs = flushMsDefault }: SettleOptions = {}): Promise<FlushReport> {
    this.#seal();
    await this.#sender.settled(timeoutMs);
    return this.#report();
  }

  /** Calls `flush` (default 10 s), then gives up the rest and accepts no more events. */
  async close({ timeoutMs = closeMsDefault }: SettleOptions = {}): Promise<FlushReport> {
    this.#closed = true;
    this.#seal();
    await this.#sender.settled(timeoutMs);
    const { failed } = this.#sender.counts;
    await this.#sender.abort();
    // Aborted batches may have been stored: they stay pending in the report.
    const pending = this.#sender.counts.failed - failed;
    const report = this.#report();
    return { ...report, failed: report.failed - pending, pending };
  }

  counts(): Counts & { readonly pending: number } {
    return { ...this.#sender.counts, pending: this.#pending.events };
  }

  #seal(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines.length === 0) return;
    const [lines, bytes] = [this.#lines, this.#bytes];
    this.#lines = [];
    this.#bytes = 0;
    this.#sender.send(lines, () => {
      this.#pending.events -= lines.length;
      this.#pending.bytes -= bytes;
    });
  }

  #report(): FlushReport {
    const { counts } = this.#sender;
    const since = {
      acknowledged: counts.acknowledged - this.#reported.acknowledged,
      rejected: counts.rejected - this.#reported.rejected,
      failed: counts.failed - this.#reported.failed,
      dropped: counts.dropped - this.#reported.dropped,
    };
    this.#reported = { ...counts };
    const pending = this.#pending.events;
    const complete = pending + since.rejected + since.failed + since.dropped === 0;
    return { ...since, pending, complete };
  }
}

class BatchSender {
  readonly counts = { acknowledged: 0, rejected: 0, failed: 0, dropped: 0 };
  readonly #options: RecorderOptions;
  readonly #ending = new AbortController();
  readonly #unsettled = new Set<Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  #underway = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  send(lines: readonly string[], settled: () => void): void {
    const sent = this.#sendInTurn(lines).then(() => {
      this.#unsettled.delete(sent);
      settled();
    });
    this.#unsettled.add(sent);
  }

  async settled(timeoutMs: number): Promise<void> {
    let alarm: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      alarm = setTimeout(resolve, Math.min(timeoutMs, limits.timerMsMax));
    });
    await Promise.race([Promise.all(this.#unsettled), late]);
    clearTimeout(alarm);
  }

  async abort(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#unsettled);
  }

  drop(code: 'closed' | 'not_json' | 'queue_full', message: string): false {
    this.counts.dropped += 1;
    this.#notify(() => this.#options.onError?.(new AuditlogError(code, message), 1));
    return false;
  }

  async #sendInTurn(lines: readonly string[]): Promise<void> {
    if (this.#underway < this.#options.requestsAtOnce) this.#underway += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await this.#deliver(lines);
    const next = this.#waiting.shift();
    if (next === undefined) this.#underway -= 1;
    else next();
  }

  /** Never rejects: counts and callbacks have the outcome. */
  async #deliver(lines: readonly string[]): Promise<void> {
    try {
      const { accepted, rejected, errors } = await this.#post(lines);
      this.counts.acknowledged += accepted;
      if (rejected > 0) this.#reject(lines, rejected, errors);
    } catch (error) {
      if (error instanceof AuditlogError && error.status === 413 && lines.length > 1) {
        const middle = lines.length >> 1;
        await this.#deliver(lines.slice(0, middle));
        await this.#deliver(lines.slice(middle));
      } else this.#fail(error, lines.length);
    }
  }

  async #post(lines: readonly string[]) {
    const { signal } = this.#ending;
    if (signal.aborted) throw abortedError();
    const plain = Buffer.from(lines.join('\n'));
    const isGzip = plain.length >= this.#options.gzipBytesMin;
    const body = isGzip ? await compress(plain, { level: 1 }) : plain;
    const onRetry = (facts: RetryFacts): void => this.#notify(() => this.#options.onRetry?.(facts));
    const hooks = { signal, onRetry, keepsProcess: false };
    const batch = { body, isGzip, events: lines.length, idempotencyKey: randomUUID() };
    return sendBatch({ ...this.#options, hooks, maxErrors: lines.length }, batch);
  }

  #reject(lines: readonly string[], refused: number, errors: Refusals): void {
    this.counts.rejected += refused;
    const named = new Map(errors.map(({ index, error }) => [index, error]));
    // The service names at most a hundred rejected events; the others are unknown, unless all were rejected.
    const isAll = refused === lines.length;
    const rejections = lines.flatMap((line, index) =>
      isAll || named.has(index) ? [{ event: JSON.parse(line) as SourceEvent, error: named.get(index) }] : [],
    );
    this.#notify(() => this.#options.onRejected?.(rejections));
  }

  #fail(error: unknown, events: number): void {
    this.counts.failed += events;
    const known =
      error instanceof AuditlogError
        ? error
        : new AuditlogError('network', 'sending failed', { cause: error });
    this.#notify(() => this.#options.onError?.(known, events));
  }

  /** A throwing callback must not end a batch half way, nor the process. */
  #notify(call: () => void): void {
    try {
      call();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      process.emitWarning(`a callback of the auditlog client threw: ${why}`);
    }
  }
}

function toLine(event: unknown): string | undefined {
  try {
    const line = JSON.stringify(event) as string | undefined;
    return line?.startsWith('{') === true ? line : undefined;
  } catch {
    // The caller reports it: a cycle, a BigInt, or a throwing `toJSON`.
    return undefined;
  }
}
