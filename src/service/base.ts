import type { ServiceOutputs } from '../cli/context.ts';
import type { Config } from '../config/config.ts';
import type { StorageOptions } from '../storage/open-storage.ts';

/** What every part of the service is started with. */
export interface Base extends ServiceOutputs, StorageOptions {
  readonly config: Config;
  /** The wall clock without jumps ahead, Unix milliseconds: see `steadyClock`. */
  readonly steadyMs: () => number;
  /** Called when the process must end by itself. */
  failed(error: Error): void;
}
