import { hostname, userInfo } from 'node:os';
import { systemClock } from '../base/time/clock.ts';
import type { Logger } from '../base/observability/log.ts';
import { StopStack } from '../base/processes/stop-stack.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { prepareDataDir, requireEngineData, requireUsable } from '../config/data-dir.ts';
import { checkOpenFiles } from '../config/open-files.ts';
import { type Change, sourceEventOfChange } from '../control/change-events.ts';
import { operatorWords } from '../storage/exception.ts';
import { explainFullDisk, reachStorage } from '../storage/open-storage.ts';
import type { Storage } from '../storage/storage.ts';
import { commandLog } from './command-log.ts';
import type { CliDeps } from './context.ts';

/** What every command works with. */
export interface Setup {
  readonly deps: CliDeps;
  readonly config: Config;
  readonly log: Logger;
}

/** The same with the storage of the configuration. */
export interface Session extends Setup {
  readonly storage: Storage;
  /** Servers may be at work on its engine at the same time. */
  readonly isShared: boolean;
}

/** A command reports by its output and exit code; its log is for faults below it. */
export function setUp(deps: CliDeps): Setup {
  const config = loadConfig(deps.environment);
  return { deps, config, log: commandLog(deps.io, config.logLevel === 'info' ? 'warn' : config.logLevel) };
}

/**
 * Runs a command's work on the storage of the configuration, migrated: a ClickHouse server, else the engine of a
 * running server, else the embedded engine for as long as the work takes. Where there is no data, only a command that
 * `makes` it goes on. Everything is closed again, whatever
 * happens. A data directory that was not restored to the end is used by the command that does that alone (`evenIf`). `asItIs`: damaged control data is not mended before.
 */
export async function withStorage<T>(
  setup: Setup,
  work: (session: Session) => Promise<T>,
  options: { readonly evenIf?: 'restoring'; readonly asItIs?: true; readonly makes?: true } = {},
): Promise<T> {
  const { config, log } = setup;
  const stops = new StopStack(log);
  try {
    if (config.clickhouse.url === undefined) {
      checkOpenFiles();
      if (options.makes === undefined) await requireEngineData(config.dataDir);
      await prepareDataDir(config.dataDir, log);
    }
    await requireUsable(config.dataDir, options.evenIf);
    return await work({ ...setup, ...(await reachStorage({ ...config, log, stops, ...options })) });
  } catch (error) {
    throw explainFullDisk(error, config);
  } finally {
    await stops.run();
  }
}

/** Who runs the command, as far as the operating system knows: a container may run as a number that has no name. */
export function operator(): string {
  return `${userName() ?? process.getuid?.()}@${hostname()}`;
}

function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch (error) {
    if ((error as { info?: { code?: string } }).info?.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Source events of what the operator changed. */
export function eventsOf(changes: readonly Change[]): object[] {
  const now = systemClock();
  return changes.map((change) => sourceEventOfChange(change, operator(), now));
}

/** Records what a command has done already. */
export async function recordAfter(session: Session, events: readonly object[], what: string): Promise<void> {
  if (events.length === 0) return;
  try {
    await session.deps.recordEvents(session, events);
  } catch (error) {
    const why = operatorWords(explainFullDisk(error, session.config));
    throw new Error(`done, and not to be repeated, but not recorded as ${what}: ${why}`, { cause: error });
  }
}
