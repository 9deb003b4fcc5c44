import type { DamageRegister } from '../base/observability/damage.ts';
import type { Logger } from '../base/observability/log.ts';
import type { StopStack } from '../base/processes/stop-stack.ts';
import type { Config } from '../config/config.ts';

/** Milliseconds. */
export interface Intervals {
  /** Between two turns. */
  readonly evidenceMs: number;
  /** How long servers run before expired events are removed from the disk. */
  readonly retentionGraceMs: number;
}

export interface Base {
  readonly config: Config;
  readonly intervals: Intervals;
  readonly log: Logger;
  readonly damage: DamageRegister;
  readonly stops: StopStack;
  /** Without jumps ahead, Unix milliseconds: see `steadyClock`. */
  readonly steadyMs: () => number;
  failed(error: Error): void;
}
