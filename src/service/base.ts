import type { ServiceOutputs } from '../cli/context.ts';
import type { Config } from '../config/config.ts';
import type { StorageOptions } from '../storage/open-storage.ts';

/** Times of background work, in milliseconds. */
export interface Intervals {
  /** Between two turns that add new events to the trees of evidence and sign for them. */
  readonly evidenceMs: number;
  /** How long servers run before expired events are removed from the disk. */
  readonly retentionGraceMs: number;
}

/** What every part of the service is started with. */
export interface Base extends ServiceOutputs, StorageOptions {
  readonly config: Config;
  readonly intervals: Intervals;
  /** The wall clock without jumps ahead, Unix milliseconds: see `steadyClock`. */
  readonly steadyMs: () => number;
  /** Called when the process must end by itself. */
  failed(error: Error): void;
}
