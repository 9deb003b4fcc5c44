import type { Backlog } from './batcher.ts';
import { limits } from './limits.ts';

export interface ThrottleOptions {
  /** What waits for the engine that it has not refused: all, or what small bodies wait for. */
  readonly backlog: (of: 'all' | 'small') => Backlog;
  /** Above both of these the engine is behind. */
  readonly behindMs: number;
  readonly behindBytes: number;
  readonly nowMs: () => number;
}

/** Says when tasks of one size may begin. */
export interface Admission {
  /** Milliseconds until the next rows may be admitted; 0 for at once. */
  delayMs(): number;
  /** The caller admitted rows. */
  admitted(rows: number): void;
}

interface StoredSegment {
  readonly fromMs: number;
  readonly toMs: number;
  readonly rows: number;
}

/** The share of the engine's rate at which rows are admitted, so that the engine catches up. */
const admittedShare = 0.9;

/**
 * Keeps what is accepted readable in time (contract: Ingest). Storing costs less than making readable, and the
 * operating system shares the processors between both without knowing of the promise. So while the engine is behind,
 * rows are admitted at nine tenths of the rate at which it takes them. An engine that takes nothing throttles nobody:
 * then the log is what there is. Nor does one that is slow with little, since less would not make it quicker.
 */
export class Throttle {
  /** Small bodies go first: only other small ones count against them. */
  readonly small: Admission = this.#admission('small');
  readonly large: Admission = this.#admission('large');
  readonly #options: ThrottleOptions;
  /** What the engine stored in the last `throttleRateMs`. */
  #stored: StoredSegment[] = [];
  readonly #nextAtMs = { small: Number.NEGATIVE_INFINITY, large: Number.NEGATIVE_INFINITY };

  constructor(options: ThrottleOptions) {
    this.#options = options;
  }

  /** The engine stored a segment, by an INSERT that took `ms`. */
  stored(rows: number, ms: number): void {
    const toMs = this.#options.nowMs();
    this.#forgetOld(toMs);
    this.#stored.push({ fromMs: toMs - ms, toMs, rows });
  }

  #admission(size: 'small' | 'large'): Admission {
    return { delayMs: () => this.#delayMs(size), admitted: (rows) => this.#admitted(size, rows) };
  }

  #delayMs(size: 'small' | 'large'): number {
    const now = this.#options.nowMs();
    const { waitingMs, bytes } = this.#options.backlog(size === 'small' ? 'small' : 'all');
    const isBehind = waitingMs > this.#options.behindMs && bytes > this.#options.behindBytes;
    if (!isBehind || this.#rowsPerMs(now) === 0) {
      this.#nextAtMs[size] = now;
      return 0;
    }
    return Math.max(0, this.#nextAtMs[size] - now);
  }

  #admitted(size: 'small' | 'large', rows: number): void {
    const now = this.#options.nowMs();
    const rowsPerMs = this.#rowsPerMs(now) * admittedShare;
    if (rowsPerMs === 0) return;
    const delayed = size === 'small' ? (['small', 'large'] as const) : (['large'] as const);
    for (const one of delayed) {
      const at = Math.max(this.#nextAtMs[one], now) + rows / rowsPerMs;
      this.#nextAtMs[one] = Math.min(at, now + limits.throttleDebtMsMax);
    }
  }

  /** From the beginning of the first of these INSERTs to the end of the last; 0 where nothing was stored. */
  #rowsPerMs(now: number): number {
    this.#forgetOld(now);
    const last = this.#stored.at(-1);
    if (last === undefined) return 0;
    const fromMs = Math.min(...this.#stored.map((one) => one.fromMs));
    return this.#stored.reduce((sum, { rows }) => sum + rows, 0) / Math.max(1, last.toMs - fromMs);
  }

  #forgetOld(now: number): void {
    this.#stored = this.#stored.filter(({ toMs }) => toMs > now - limits.throttleRateMs);
  }
}
