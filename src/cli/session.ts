import { randomUUID } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../storage/limits.ts';
import { systemClock } from '../base/clock.ts';
import { createLogger, type Logger } from '../base/log.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { prepareDataDir } from '../config/data-dir.ts';
import { checkOpenFiles } from '../config/open-files.ts';
import { type Change, sourceEventOfChange } from '../control/change-events.ts';
import { openStorage } from '../storage/client.ts';
import { startEmbeddedEngine } from '../storage/engine.ts';
import { readEngineFile } from '../storage/engine-file.ts';
import { DataDirLockedError } from '../storage/engine-process.ts';
import { migrate } from '../storage/migrate.ts';
import type { MigrationMode } from '../storage/migration-claims.ts';
import type { EngineConnection, Storage } from '../storage/storage.ts';
import type { CliDeps } from './context.ts';

interface Reached {
  readonly connection: EngineConnection;
  readonly mode: MigrationMode;
  release(): Promise<void>;
}

const nothingToRelease = async (): Promise<void> => {};

/**
 * The embedded engine of the data directory: of the server that runs there, else one of our own. Where another
 * process holds the directory but has not announced its engine yet, it is about to.
 */
async function reachEmbedded(config: Config, log: Logger): Promise<Reached> {
  await checkOpenFiles();
  await prepareDataDir(config.dataDir, log);
  const deadline = performance.now() + limits.cliEngineWaitMsMax;
  for (let first = true; ; first = false) {
    const running = await readEngineFile(config.dataDir, first ? log : undefined);
    if (running !== undefined) {
      return { connection: running, mode: { kind: 'follower' }, release: nothingToRelease };
    }
    try {
      const database = config.clickhouse.database;
      const engine = await startEmbeddedEngine({ dataDir: config.dataDir, database, log });
      const { connection } = engine;
      return { connection, mode: { kind: 'exclusive' }, release: () => engine.stop() };
    } catch (error) {
      if (!(error instanceof DataDirLockedError) || performance.now() > deadline) throw error;
    }
    await sleep(limits.cliEngineWaitDelayMs);
  }
}

async function reach(config: Config, log: Logger): Promise<Reached> {
  const { url, user, password, database } = config.clickhouse;
  if (url === undefined) return reachEmbedded(config, log);
  const connection = { url, user, password, database, headers: {} };
  return { connection, mode: { kind: 'shared', instance: randomUUID() }, release: nothingToRelease };
}

/** What every command works with. */
export interface Setup {
  readonly deps: CliDeps;
  readonly config: Config;
  readonly log: Logger;
}

/** The same with the storage of the configuration. */
export interface Session extends Setup {
  readonly storage: Storage;
}

/** A command speaks through its output and its exit code; its log is for what goes wrong beneath it. */
export function setUp(deps: CliDeps): Setup {
  const config = loadConfig(deps.environment);
  return { deps, config, log: createLogger(config.logLevel === 'info' ? 'warn' : config.logLevel) };
}

/**
 * Runs a command's work on the storage of the configuration, migrated: a ClickHouse server, else the engine of a
 * running server, else the embedded engine for as long as the work takes. Everything is closed again, whatever
 * happens.
 */
export async function withStorage<T>(setup: Setup, work: (session: Session) => Promise<T>): Promise<T> {
  const { config, log } = setup;
  const reached = await reach(config, log);
  try {
    const storage = openStorage(reached.connection, log);
    try {
      const { cluster } = config.clickhouse;
      await migrate(storage, { log, cluster, mode: reached.mode });
      return await work({ ...setup, storage });
    } finally {
      await storage.close();
    }
  } finally {
    await reached.release();
  }
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
  work: (storage: Storage) => Promise<readonly Change[]>,
): Promise<void> {
  await withStorage(setUp(deps), async (session) => {
    const events = eventsOf(await work(session.storage));
    await recordAfter(session, events, 'an audit event');
  });
}

/** Source events of what the operator changed. */
export function eventsOf(changes: readonly Change[]): object[] {
  const now = systemClock();
  return changes.map((change) => sourceEventOfChange(change, operator(), now));
}

/** Records what has happened already. */
export async function recordAfter(session: Session, events: readonly object[], what: string): Promise<void> {
  if (events.length === 0) return;
  try {
    await session.deps.recordEvents(session, events);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`done, but not recorded as ${what}: ${why}`, { cause: error });
  }
}
