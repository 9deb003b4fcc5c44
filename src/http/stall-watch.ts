import { counter } from '../base/observability/metrics.ts';
import { clientGoneStatus, type Exchange } from './exchange.ts';
import { limits } from './limits.ts';

/** Bytes buffered for all stalled readers; above it the longest stalled one is dropped. */
const unsentBytesMax = 256 * 1024 * 1024;

interface Waiting {
  readonly sinceMs: number;
  readonly bufferedBytes: number;
  /** Writes a little more, so that the library sees activity. */
  readonly nudge: (() => void) | undefined;
}

const dropped = counter(
  'auditlog_http_slow_readers_dropped_total',
  'Answers broken off because of stalled readers that used too much memory',
  [],
);

/**
 * The library drops a connection 10 s after a failed write, too early for a busy reader; each further failed write restarts those
 * 10 s. So this writes one chunk to each stalled stream every limits.streamStallCheckMs, and drops a reader after
 * streamStallMsMax.
 */
export class StallWatch {
  readonly #waiting = new Map<Exchange, Waiting>();
  readonly #timer = setInterval(() => this.#check(), limits.streamStallCheckMs).unref();
  #bufferedBytes = 0;

  stalled(exchange: Exchange, bufferedBytes: number, nudge?: () => void): void {
    const before = this.#waiting.get(exchange);
    this.#waiting.set(exchange, { sinceMs: before?.sinceMs ?? performance.now(), bufferedBytes, nudge });
    this.#bufferedBytes += bufferedBytes - (before?.bufferedBytes ?? 0);
    while (this.#bufferedBytes > unsentBytesMax) this.#dropOldest();
  }

  moving(exchange: Exchange): void {
    this.#bufferedBytes -= this.#waiting.get(exchange)?.bufferedBytes ?? 0;
    this.#waiting.delete(exchange);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #dropOldest(): void {
    const [oldest] = this.#waiting.keys();
    if (oldest === undefined) return;
    this.moving(oldest);
    dropped.inc();
    oldest.abort(clientGoneStatus);
  }

  #check(): void {
    for (const [exchange, { sinceMs, nudge }] of this.#waiting) {
      if (performance.now() - sinceMs > limits.streamStallMsMax) exchange.abort(clientGoneStatus);
      else nudge?.();
    }
  }
}
