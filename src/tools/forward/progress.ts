import type { RetryFacts } from '../../client/client.ts';
import { RetryLog } from '../retry-log.ts';

type Side = 'source' | 'destination';

export class ForwardProgress {
  readonly #writeLine: (line: string) => void;
  readonly #now: () => number;
  readonly #retryLog: RetryLog;
  readonly #counts = { delivered: 0, batches: 0, rejected: 0, retries: 0 };
  /** All events recorded before this are delivered, Unix microseconds. */
  settledThrough: number | undefined;

  /** `writeLine` writes a line. `now` is Unix microseconds. A failing side is retried for `giveUpAfterMs`. */
  constructor(writeLine: (line: string) => void, now: () => number, giveUpAfterMs: number) {
    this.#writeLine = writeLine;
    this.#now = now;
    this.#retryLog = new RetryLog(writeLine, giveUpAfterMs);
  }

  delivered(events: number, rejected: number): void {
    this.#counts.delivered += events - rejected;
    this.#counts.rejected += rejected;
    this.#counts.batches += 1;
  }

  retry(side: Side, facts: RetryFacts): void {
    this.#counts.retries += 1;
    this.#retryLog.failed(side, facts);
  }

  succeeded(side: Side): void {
    this.#retryLog.succeeded(side);
  }

  line(): void {
    const through = this.settledThrough;
    const lagMicros = through === undefined ? undefined : Math.max(0, this.#now() - through);
    const lag = lagMicros === undefined ? 'unknown' : (lagMicros / 1_000_000).toFixed(1);
    const { delivered, batches, rejected, retries } = this.#counts;
    this.#writeLine(
      `delivered=${delivered} batches=${batches} rejected=${rejected} retries=${retries} lag_seconds=${lag}`,
    );
  }
}
