import { hostname, userInfo } from 'node:os';
import { systemClock } from '../base/clock.ts';
import { createLogger } from '../base/log.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { sourceEventOfChange, type Change } from '../control/change-events.ts';
import type { Storage } from '../storage/storage.ts';
import type { CliDeps } from './context.ts';
import { withStorage } from './with-storage.ts';

/** What a command of the control data works with. */
export interface ControlSession {
  readonly storage: Storage;
  readonly config: Config;
}

/** Whoever runs the command, as far as the operating system can tell. */
export function operator(): string {
  return `${userInfo().username}@${hostname()}`;
}

/**
 * Runs work on the control data; what it changed is recorded as audit events of the organizations (contract:
 * Sessions), once it has told the result: a key is shown once, and must not be lost to a failing recording.
 */
export async function runControlCommand(
  deps: CliDeps,
  work: (session: ControlSession) => Promise<readonly Change[]>,
): Promise<void> {
  const config = loadConfig(deps.environment);
  // A command speaks through its output and its exit code; the log is for what goes wrong beneath it.
  const log = createLogger(config.logLevel === 'info' ? 'warn' : config.logLevel);
  await withStorage(config, log, async (storage) => {
    const changes = await work({ storage, config });
    const now = systemClock();
    const events = changes.map((change) => sourceEventOfChange(change, operator(), now));
    if (events.length === 0) return;
    try {
      await deps.recordEvents(storage, config, log, events);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`done, but not recorded as an audit event: ${why}`, { cause: error });
    }
  });
}
