import { counter } from '../base/observability/metrics.ts';
import { clientGoneStatus, type Exchange } from './exchange.ts';
import { limits } from './limits.ts';

/** What is held for all readers that stand still; above it the one that has stood still longest is dropped. */
const unsentBytesMax = 256 * 1024 * 1024;

/** An answer that waits for its reader. */
interface Waiting {
  readonly sinceMs: number;
  /** Bytes that are held for it. */
  readonly heldBytes: number;
  /** Hands the socket a little more, so that the library sees that a stream is alive. */
  readonly nudge: (() => void) | undefined;
}

const dropped = counter(
  'auditlog_http_slow_readers_dropped_total',
  'Answers broken off whose readers stood still while too much memory was held for all of these',
  [],
);

/**
 * Watches answers whose reader stands still.
 *
 * The library drops a connection 10 s after a write that the socket could not take, which a reader that is merely
 * busy (a pipe into a slow consumer) must survive. Every further write that fails starts those 10 s anew; so the
 * watch lets one chunk out to each waiting stream every limits.streamStallCheckMs, which holds at most
 * streamStallMsMax / streamStallCheckMs chunks, and drops a reader that has stood still for streamStallMsMax.
 *
 * What is held for all of them is bounded: above that, the one that has stood still longest is dropped.
 */
export class StallWatch {
  /** In the order in which they came to stand still. */
  readonly #waiting = new Map<Exchange, Waiting>();
  readonly #timer = setInterval(() => this.#check(), limits.streamStallCheckMs).unref();
  #heldBytes = 0;

  /** The socket takes no more of an answer. */
  stalled(exchange: Exchange, heldBytes: number, nudge?: () => void): void {
    const before = this.#waiting.get(exchange);
    this.#waiting.set(exchange, { sinceMs: before?.sinceMs ?? performance.now(), heldBytes, nudge });
    this.#heldBytes += heldBytes - (before?.heldBytes ?? 0);
    while (this.#heldBytes > unsentBytesMax) this.#dropOldest();
  }

  /** It has taken some, or the answer has ended. */
  moving(exchange: Exchange): void {
    this.#heldBytes -= this.#waiting.get(exchange)?.heldBytes ?? 0;
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
