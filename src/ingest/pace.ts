import { limits } from './limits.ts';

export interface PaceOptions {
  /** What waits for the engine that it has not refused: all, or what small bodies wait for. */
  readonly backlog: (of: 'all' | 'small') => { readonly waitingMs: number; readonly bytes: number };
  /** From when on, and from how much on, that is too much. */
  readonly behindMs: number;
  readonly behindBytes: number;
  readonly nowMs: () => number;
}

/**
 * Keeps what is accepted readable in time (contract: Ingest). Storing costs less than making readable, and the
 * operating system shares the processors between both without knowing of the promise; so while the engine is behind,
 * rows are let in at nine tenths of the rate at which it takes them, and it catches up. An engine that takes nothing
 * holds nobody back: then the log is what there is. Nor does one that is slow with little, since less would not make
 * it quicker.
 */
export interface Pace {
  /** Small bodies go first: only other small ones count against them. */
  readonly small: Turns;
  readonly large: Turns;
  /** A segment has reached the engine, by an INSERT that took that long. */
  stored(rows: number, ms: number): void;
}

/** When tasks of one size may begin. */
export interface Turns {
  /** Milliseconds until the next rows may be let in; 0 for at once. */
  turnMs(): number;
  /** Rows were let in. */
  took(rows: number): void;
}

/** Of what the engine takes, so that it gains on what waits. */
const share = 0.9;

export function createPace(options: PaceOptions): Pace {
  const { backlog, behindMs, behindBytes, nowMs } = options;
  /** What the engine took in the last `paceRateMs`. */
  let taken: { readonly from: number; readonly to: number; readonly rows: number }[] = [];
  const nextAt = { small: Number.NEGATIVE_INFINITY, large: Number.NEGATIVE_INFINITY };

  const forget = (now: number): void => {
    taken = taken.filter(({ to }) => to > now - limits.paceRateMs);
  };

  /** Rows a millisecond, from when the first of these INSERTs began to the end of the last; 0 where nothing was taken. */
  const rate = (now: number): number => {
    forget(now);
    const last = taken.at(-1);
    if (last === undefined) return 0;
    const from = taken.reduce((first, one) => Math.min(first, one.from), last.from);
    return taken.reduce((sum, { rows }) => sum + rows, 0) / Math.max(1, last.to - from);
  };

  const turns = (size: 'small' | 'large'): Turns => ({
    turnMs() {
      const now = nowMs();
      const { waitingMs, bytes } = backlog(size === 'small' ? 'small' : 'all');
      const isBehind = waitingMs > behindMs && bytes > behindBytes;
      if (!isBehind || rate(now) === 0) {
        nextAt[size] = now;
        return 0;
      }
      return Math.max(0, nextAt[size] - now);
    },
    took(rows) {
      const now = nowMs();
      const rowsPerMs = rate(now) * share;
      if (rowsPerMs === 0) return;
      const held = size === 'small' ? (['small', 'large'] as const) : (['large'] as const);
      for (const one of held) {
        const at = Math.max(nextAt[one], now) + rows / rowsPerMs;
        nextAt[one] = Math.min(at, now + limits.paceDebtMsMax);
      }
    },
  });

  return {
    small: turns('small'),
    large: turns('large'),
    stored(rows, ms) {
      const now = nowMs();
      forget(now);
      taken.push({ from: now - ms, to: now, rows });
    },
  };
}
