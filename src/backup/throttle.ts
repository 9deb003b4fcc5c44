import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings, Storage } from '../storage/storage.ts';
import { limits } from './limits.ts';

/** Queries speed up above `High` idle processors, and slow down below `Low`. */
const throttleIdleShareHigh = 0.5;
const throttleIdleShareLow = 0.25;
/** Small blocks, so that a command never keeps a core busy for long. */
const throttleBlockEvents = 8_192;

export interface ThrottledSession {
  readonly storage: Storage;
  readonly isShared: boolean;
  readonly config: { readonly clickhouse: { readonly url: string | undefined } };
}

const idleMs = (): number => cpus().reduce((sum, { times }) => sum + times.idle, 0);

/**
 * Limits full scans beside servers on the same cores: bytes per second and core of the engine, on one thread.
 * Bytes, as skipped events are read only in part. If the engine is on this machine, queries speed up to
 * `throttleGrowthMax` times while processors are idle, and slow down again. No limit if the command has the
 * engine alone, or at full speed.
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

  static readonly full = new Throttle(Number.POSITIVE_INFINITY, undefined, 1);

  /**
   * Watches local processors for `throttleLookMs`, so that the first query uses an idle machine, too. Rejects
   * with EngineError. `idle` and `processors` are this machine's.
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
      await sleep(limits.throttleLookMs + 10);
    }
    return throttle;
  }

  settings(): Settings {
    if (this.#leastBytes === Number.POSITIVE_INFINITY) return {};
    this.#adapt();
    return {
      max_threads: 1,
      // The engine rests between blocks; small ones keep each rest short.
      max_block_size: throttleBlockEvents,
      max_execution_speed_bytes: Math.round(this.#leastBytes * this.#times),
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
  'run as fast as possible, even if a running server needs the machine',
] as const;
