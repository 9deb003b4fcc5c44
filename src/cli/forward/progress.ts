import type { RetryFacts } from '../../client/client.ts';

/** What a run has done so far, told on standard error. */
export interface Progress {
  delivered(events: number, rejected: number): void;
  retry(side: 'source' | 'destination', facts: RetryFacts): void;
  settledThrough(micros: number): void;
  /** One line: events delivered and put aside, retries, and how far behind the source's newest moment it is. */
  line(): void;
}

/** `tell` writes a line. `now` is Unix microseconds. */
export function createProgress(tell: (line: string) => void, now: () => number): Progress {
  const counts = { delivered: 0, batches: 0, rejected: 0, retries: 0 };
  let through: number | undefined;
  return {
    delivered(events, rejected) {
      counts.delivered += events - rejected;
      counts.rejected += rejected;
      counts.batches += 1;
    },
    retry(side, { error, attempt, delayMs }) {
      counts.retries += 1;
      tell(`${side}: ${error.message}; attempt ${attempt + 1} in ${(delayMs / 1000).toFixed(1)} s`);
    },
    settledThrough(micros) {
      through = micros;
    },
    line() {
      const lag = through === undefined ? 'unknown' : (Math.max(0, now() - through) / 1_000_000).toFixed(1);
      const { delivered, batches, rejected, retries } = counts;
      tell(
        `delivered=${delivered} batches=${batches} rejected=${rejected} retries=${retries} lag_seconds=${lag}`,
      );
    },
  };
}
