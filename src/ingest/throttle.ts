import type { Backlog } from './batcher.ts';
import { limits } from './limits.ts';

export interface ThrottleOptions {
  /** Unrefused events that wait for the engine: all, or those that small bodies wait for. */
  readonly backlog: (of: 'all' | 'small') => Backlog;
  /** The engine is behind above both of these. */
  readonly behindMs: number;
  readonly behindBytes: number;
  readonly nowMs: () => number;
}

export interface Admission {
  delayMs(): number;
  admitted(rows: number): void;
}

interface StoredSegment {
  readonly fromMs: number;
  readonly toMs: number;
  readonly rows: number;
}

const admittedShare = 0.9;

/**
 * Keeps accepted events readable in time (contract: Ingest). Storing costs less than making readable, and
 * both share the processors. So while the engine is behind, rows are admitted at nine tenths of its rate. An
 * engine that stores nothing throttles nothing, as the log is the bound then; nor does one that is slow with
 * a small backlog, since less would not make it quicker.
 */
export class Throttle {
  readonly small: Admission = this.#admission('small');
  readonly large: Admission = this.#admission('large');
  readonly #options: ThrottleOptions;
  #stored: StoredSegment[] = [];
  readonly #nextAtMs = { small: Number.NEGATIVE_INFINITY, large: Number.NEGATIVE_INFINITY };

  constructor(options: ThrottleOptions) {
    this.#options = options;
  }

  stored(rows: number, ms: number): void {
    const toMs = this.#options.nowMs();
    this.#removeOld(toMs);
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

  #rowsPerMs(now: number): number {
    this.#removeOld(now);
    const last = this.#stored.at(-1);
    if (last === undefined) return 0;
    const fromMs = Math.min(...this.#stored.map((one) => one.fromMs));
    return this.#stored.reduce((sum, { rows }) => sum + rows, 0) / Math.max(1, last.toMs - fromMs);
  }

  #removeOld(now: number): void {
    this.#stored = this.#stored.filter(({ toMs }) => toMs > now - limits.throttleRateMs);
  }
}
