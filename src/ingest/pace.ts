import { limits } from '../base/limits.ts';

export interface PaceOptions {
  /** For how long the oldest rows of the log have waited for the engine; 0 when none wait. */
  readonly waitingMs: () => number;
  /** From when on that is too long. */
  readonly behindMs: number;
  readonly nowMs: () => number;
}

/**
 * Keeps what is accepted readable in time (contract: Ingest). Storing costs less than making readable, and the
 * operating system shares the processors between both without knowing of the promise; so while the engine is behind,
 * rows are let in at nine tenths of the rate at which it takes them, and it catches up. An engine that takes nothing
 * holds nobody back: then the log is what there is.
 */
export interface Pace {
  /** Milliseconds until the next task may begin: 0 for at once, at most `paceHoldMsMax`. */
  turnMs(): number;
  /** Rows went into the log. */
  took(rows: number): void;
  /** A segment has reached the engine. */
  stored(rows: number): void;
  /** A segment has not; nobody is held until one has. */
  failed(): void;
}

/** Of what the engine takes, so that it gains on what waits. */
const share = 0.9;

export function createPace({ waitingMs, behindMs, nowMs }: PaceOptions): Pace {
  /** What the engine took in the last `paceRateMs`, oldest first. */
  let taken: { readonly at: number; readonly rows: number }[] = [];
  let nextAt = Number.NEGATIVE_INFINITY;

  /** Rows a millisecond; 0 where nothing was taken. */
  const rate = (now: number): number => {
    taken = taken.filter(({ at }) => at > now - limits.paceRateMs);
    return taken.reduce((sum, { rows }) => sum + rows, 0) / limits.paceRateMs;
  };

  return {
    turnMs() {
      const now = nowMs();
      if (waitingMs() <= behindMs || rate(now) === 0) {
        nextAt = now;
        return 0;
      }
      return Math.max(0, nextAt - now);
    },
    took(rows) {
      const now = nowMs();
      const rowsPerMs = rate(now) * share;
      if (rowsPerMs === 0) return;
      // A batch of a million rows must not hold everyone for as long as the engine takes for it.
      nextAt = Math.min(Math.max(nextAt, now) + rows / rowsPerMs, now + limits.paceHoldMsMax);
    },
    stored(rows) {
      taken.push({ at: nowMs(), rows });
    },
    failed() {
      taken = [];
    },
  };
}
