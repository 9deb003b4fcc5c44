import { randomUUID } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { systemClock } from '../base/time/clock.ts';
import type { Logger } from '../base/observability/log.ts';
import { StopStack } from '../base/processes/stop-stack.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { prepareDataDir, requireEngineData, requireUsable } from '../config/data-dir.ts';
import { checkOpenFiles } from '../config/open-files.ts';
import type { Call } from '../control/decision.ts';
import { Directory } from '../control/directory.ts';
import { anyServer } from '../control/journal.ts';
import { JournalEvents } from '../control/journal-events.ts';
import {
  changeHere,
  type ChangeName,
  type OperatorChange,
  type ResultOf,
  type ValuesOf,
} from '../control/operator-changes.ts';
import { operatorWords } from '../storage/exception.ts';
import { explainFullDisk, reachStorage } from '../storage/open-storage.ts';
import type { Storage } from '../storage/storage.ts';
import { commandLog } from './command-log.ts';
import { changeByServer, isServerThere } from './ask-server.ts';
import type { CliDeps } from './context.ts';

export interface Setup {
  readonly deps: CliDeps;
  readonly config: Config;
  readonly log: Logger;
}

export interface EngineContext extends Setup {
  readonly storage: Storage;
  /** Servers may use its engine at the same time. */
  readonly isShared: boolean;
}

export interface StorageChoice {
  readonly evenIf?: 'restoring';
  readonly asItIs?: true;
  readonly makes?: true;
}

/** A command reports by its output and exit code; its log is for faults below it. */
export function setUp(deps: CliDeps): Setup {
  const config = loadConfig(deps.environment);
  return { deps, config, log: commandLog(deps.io, config.logLevel === 'info' ? 'warn' : config.logLevel) };
}

/**
 * Runs a command's work on the migrated storage of the configuration: a ClickHouse server, else the engine of a running server,
 * else its own embedded engine. Closes everything afterwards. `makes`: goes on where there is no data yet. `evenIf`: accepts a
 * data directory whose restore is unfinished. `asItIs`: does not repair control data first.
 */
export async function withStorage<T>(
  setup: Setup,
  work: (context: EngineContext) => Promise<T>,
  options: StorageChoice = {},
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

/** As the operating system names them: a container may run as a number without a name. */
export const operator = (): string => `${userName() ?? process.getuid?.()}@${hostname()}`;

function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch (error) {
    if ((error as { info?: { code?: string } }).info?.code === 'ENOENT') return undefined;
    throw error;
  }
}

export const operatorCall = (): Call => ({ actor: { name: operator(), type: 'App/System' } });

export interface ControlContext extends EngineContext {
  readonly directory: Directory;
  /** Makes a change as the operator, by the server of the data directory if one runs. */
  readonly change: OperatorChange;
  /** Stores the events of the changes so far; the end of the command does so in any case. */
  readonly hand: () => Promise<void>;
}

/**
 * As `withStorage`, with the control data. Before this resolves, the events of the changes are stored, by the server of the data
 * directory or else by this command.
 */
export function withDirectory<T>(
  setup: Setup,
  work: (context: ControlContext) => Promise<T>,
  options: StorageChoice = {},
): Promise<T> {
  return withStorage(
    setup,
    async (context) => {
      const opened = await openDirectory(context);
      try {
        return await work({ ...context, ...opened });
      } finally {
        await opened.hand();
      }
    },
    options,
  );
}

export async function openDirectory(
  context: EngineContext,
): Promise<Pick<ControlContext, 'directory' | 'change' | 'hand'>> {
  const { config, storage, log, deps, isShared } = context;
  const { clickhouse } = config;
  const isOwn = clickhouse.url === undefined;
  const hasServer = isOwn ? isShared : await isServerThere(config.dataDir);
  const dataDir = isOwn ? config.dataDir : undefined;
  const server = isOwn ? undefined : anyServer;
  const changes = await JournalEvents.open({ dataDir, storage, log, server });
  const directory = new Directory({
    storage,
    log,
    clock: systemClock,
    expiryMicros: systemClock,
    server,
    ...(isOwn && { mark: changes.mark }),
    ...(isOwn && !hasServer && { applied: (row, own) => changes.take(row, own) }),
  });
  await directory.refresh();
  if (hasServer) return { directory, change: byServer(context, directory), hand: async () => undefined };
  const store = (_: string, events: readonly string[]) =>
    deps.recordEvents({ ...context, directory }, events);
  return {
    directory,
    change: (name, ...values) => changeHere(directory, operatorCall(), name, values),
    hand: () => (isOwn ? recorded(context, changes.hand(store)) : Promise.resolve()),
  };
}

/** Changes by the server of the data directory; if it ends meanwhile, by its own engine and the same call. */
function byServer(context: EngineContext, directory: Directory): OperatorChange {
  return async (name, ...values) => {
    const result = await changeByServerOrAlone(context, randomUUID(), name, values);
    await directory.freshen(0);
    return result;
  };
}

async function changeByServerOrAlone<Name extends ChangeName>(
  setup: Setup,
  id: string,
  name: Name,
  values: ValuesOf<Name>,
): Promise<ResultOf<Name>> {
  const { dataDir, clickhouse } = setup.config;
  const answer = await changeByServer(dataDir, { id, operator: operator(), change: name, values });
  if (answer !== undefined) return answer.result as ResultOf<Name>;
  return withStorage(setup, async (context) => {
    // Another server has started: it alone writes to its embedded engine.
    if (clickhouse.url === undefined && context.isShared && (await isServerThere(dataDir)))
      return changeByServerOrAlone(setup, id, name, values);
    const { directory, hand } = await openDirectory(context);
    const result = await changeHere(directory, { ...operatorCall(), id }, name, values);
    await hand();
    return result;
  });
}

async function recorded({ config }: EngineContext, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    const why = operatorWords(explainFullDisk(error, config));
    throw new Error(
      `done, and not to be repeated; its audit event is stored by the next command or server: ${why}`,
      { cause: error },
    );
  }
}
