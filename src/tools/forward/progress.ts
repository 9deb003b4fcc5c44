import type { RetryFacts } from '../../client/client.ts';

/** Counts what a run has done, and reports it on standard error. */
export class ForwardProgress {
  readonly #tell: (line: string) => void;
  readonly #now: () => number;
  readonly #counts = { delivered: 0, batches: 0, rejected: 0, retries: 0 };
  /** All that was recorded before this moment is delivered, Unix microseconds. */
  settledThrough: number | undefined;

  /** `tell` writes a line. `now` is Unix microseconds. */
  constructor(tell: (line: string) => void, now: () => number) {
    this.#tell = tell;
    this.#now = now;
  }

  delivered(events: number, rejected: number): void {
    this.#counts.delivered += events - rejected;
    this.#counts.rejected += rejected;
    this.#counts.batches += 1;
  }

  retry(side: 'source' | 'destination', { error, attempt, delayMs }: RetryFacts): void {
    this.#counts.retries += 1;
    this.#tell(`${side}: ${error.message}; attempt ${attempt + 1} in ${(delayMs / 1000).toFixed(1)} s`);
  }

  /** One line: events delivered and rejected, retries, and how far behind the source's newest moment it is. */
  line(): void {
    const through = this.settledThrough;
    const lagMicros = through === undefined ? undefined : Math.max(0, this.#now() - through);
    const lag = lagMicros === undefined ? 'unknown' : (lagMicros / 1_000_000).toFixed(1);
    const { delivered, batches, rejected, retries } = this.#counts;
    this.#tell(
      `delivered=${delivered} batches=${batches} rejected=${rejected} retries=${retries} lag_seconds=${lag}`,
    );
  }
}
