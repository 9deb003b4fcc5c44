import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../storage/limits.ts';
import type { Logger } from '../base/log.ts';
import type { Config } from '../config/config.ts';
import { prepareDataDir } from '../config/data-dir.ts';
import { checkOpenFiles } from '../config/open-files.ts';
import { openStorage } from '../storage/client.ts';
import { startEmbeddedEngine } from '../storage/engine.ts';
import { readEngineFile } from '../storage/engine-file.ts';
import { DataDirLockedError } from '../storage/engine-process.ts';
import { migrate } from '../storage/migrate.ts';
import type { MigrationMode } from '../storage/migration-claims.ts';
import type { EngineConnection, Storage } from '../storage/storage.ts';

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

/**
 * Runs a command's work on the storage of the configuration, migrated: a ClickHouse server, else the engine of a
 * running server, else the embedded engine for as long as the work takes. Everything is closed again, whatever
 * happens.
 */
export async function withStorage<T>(
  config: Config,
  log: Logger,
  work: (storage: Storage) => Promise<T>,
): Promise<T> {
  const reached = await reach(config, log);
  try {
    const storage = openStorage(reached.connection, log);
    try {
      const { cluster } = config.clickhouse;
      await migrate(storage, { log, cluster, mode: reached.mode });
      return await work(storage);
    } finally {
      await storage.close();
    }
  } finally {
    await reached.release();
  }
}
