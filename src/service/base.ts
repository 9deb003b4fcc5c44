import type { ClockTrust } from '../base/time/clock-trust.ts';
import type { ServiceOutputs } from '../cli/context.ts';
import type { Config } from '../config/config.ts';
import type { StorageOptions } from '../storage/open-storage.ts';

/** What every part of the service is started with. */
export interface Base extends ServiceOutputs, StorageOptions {
  readonly config: Config;
  /** May the clock be trusted now? Whatever cannot be undone asks it. */
  readonly trust: ClockTrust;
  /** Called when the process must end by itself. */
  failed(error: Error): void;
}
