import type { Config } from '../config/config.ts';
import type { Storage } from '../storage/storage.ts';
import type { ProgressIo } from '../tools/progress.ts';

/** What a backup or a restore works with. */
export interface BackupSession {
  readonly storage: Storage;
  readonly config: Config;
  /** Servers may be at work on its engine at the same time. */
  readonly isShared: boolean;
  readonly deps: { readonly io: ProgressIo };
}
