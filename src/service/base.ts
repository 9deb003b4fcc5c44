import type { DamageRegister } from '../base/observability/damage.ts';
import type { Logger } from '../base/observability/log.ts';
import type { StopStack } from '../base/processes/stop-stack.ts';
import type { Config } from '../config/config.ts';

/** Times of background work, in milliseconds. */
export interface Intervals {
  /** Between two turns that add events to the trees of evidence and sign for them. */
  readonly evidenceMs: number;
  /** How long servers run before expired events are removed from the disk. */
  readonly retentionGraceMs: number;
}

/** What every part of the service is started with. */
export interface Base {
  readonly config: Config;
  readonly intervals: Intervals;
  readonly log: Logger;
  readonly damage: DamageRegister;
  readonly stops: StopStack;
  /** The wall clock without jumps ahead, Unix milliseconds: see `steadyClock`. */
  readonly steadyMs: () => number;
  /** Ends the service with this error. */
  failed(error: Error): void;
}
