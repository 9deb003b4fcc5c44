import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings, Storage } from '../storage/storage.ts';
import { limits } from './limits.ts';

/** Queries grow while a larger share of the processors than `High` is idle, and shrink while it is below `Low`. */
const throttleIdleShareHigh = 0.5;
const throttleIdleShareLow = 0.25;
/** Events that are read at once: few, so that a command never has a core for long. */
const throttleBlockEvents = 8_192;

/** What a throttle depends on, of a session. */
export interface ThrottledSession {
  readonly storage: Storage;
  readonly isShared: boolean;
  readonly config: { readonly clickhouse: { readonly url: string | undefined } };
}

/** The time that this machine's processors have had nothing to do, all together, since it was started; milliseconds. */
const idleMs = (): number => cpus().reduce((sum, { times }) => sum + times.idle, 0);

/**
 * How fast the engine may answer queries that read all there is, beside servers that have pages to answer on the same
 * cores: so many bytes a second for each core of the engine, evenly and on one thread. Bytes and not events, since of
 * those that are passed over few are read as a rule. Where the engine is on this machine, each query may be faster than
 * the one before while the processors have time left, up to `throttleGrowthMax` times the least, and is slower again when
 * they have not. No bounds where the command has the engine for itself, or at full speed.
 */
export class Throttle {
  readonly #leastBytes: number;
  readonly #idleMs: (() => number) | undefined;
  readonly #processors: number;
  #times: number;
  #seen: { readonly idle: number; readonly at: number } | undefined;

  private constructor(leastBytes: number, idle: (() => number) | undefined, processors: number) {
    this.#leastBytes = leastBytes;
    this.#idleMs = idle;
    this.#processors = processors;
    this.#times = idle === undefined ? limits.throttleElsewhereTimes : 1;
  }

  /** Without any bounds. */
  static readonly full = new Throttle(Number.POSITIVE_INFINITY, undefined, 1);

  /**
   * Looks at the processors for `throttleLookMs` where they are the engine's, so that the first query has its share of an
   * idle machine too. Rejects with EngineError. `idle` and `processors` are this machine's.
   */
  static async of(
    { storage, isShared, config }: ThrottledSession,
    leastOfCore: number,
    isFullSpeed: boolean,
    idle = idleMs,
    processors = cpus().length,
  ): Promise<Throttle> {
    if (isFullSpeed || !isShared) return Throttle.full;
    const [row] = await storage.rows<{ cores: number }>(
      "SELECT toUInt32(getSetting('max_threads')) AS cores",
    );
    const isHere = config.clickhouse.url === undefined;
    const throttle = new Throttle(leastOfCore * (row?.cores ?? 1), isHere ? idle : undefined, processors);
    if (isHere) {
      throttle.#adapt();
      // A timer may be a millisecond early.
      await sleep(limits.throttleLookMs + 10);
    }
    return throttle;
  }

  /** For the next query. */
  settings(): Settings {
    if (this.#leastBytes === Number.POSITIVE_INFINITY) return {};
    this.#adapt();
    return {
      max_threads: 1,
      // The engine rests between blocks: small ones, so that each is short.
      max_block_size: throttleBlockEvents,
      max_execution_speed_bytes: Math.round(this.#leastBytes * this.#times),
      // At once, and not when a query has taken so long.
      timeout_before_checking_execution_speed: 0,
    };
  }

  #adapt(): void {
    if (this.#idleMs === undefined) return;
    const now = { idle: this.#idleMs(), at: performance.now() };
    const elapsed = now.at - (this.#seen?.at ?? now.at);
    if (this.#seen !== undefined && elapsed < limits.throttleLookMs) return;
    if (this.#seen !== undefined) {
      const idle = (now.idle - this.#seen.idle) / (elapsed * this.#processors);
      if (idle > throttleIdleShareHigh) this.#times *= 4;
      if (idle < throttleIdleShareLow) this.#times /= 2;
      this.#times = Math.min(Math.max(this.#times, 1), limits.throttleGrowthMax);
    }
    this.#seen = now;
  }
}

export const fullSpeedRow = [
  '--full-speed',
  'as fast as can be, also where a running server needs the machine for pages and batches',
] as const;
