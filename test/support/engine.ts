import { createLogger } from '../../src/base/observability/log.ts';
import { openStorage } from '../../src/storage/client.ts';
import type { EmbeddedEngine } from '../../src/storage/engine.ts';
import { migrate } from '../../src/storage/migrate.ts';
import type { EngineConnection, Storage } from '../../src/storage/storage.ts';
import { sourceModule } from './cli-command.ts';
import { removeDirectory, temporaryDirectory } from './directories.ts';
import { copyEngineTemplate } from './engine-template.ts';

export interface TestEngine {
  readonly storage: Storage;
  readonly connection: EngineConnection;
  readonly dataDir: string;
  readonly engine: EmbeddedEngine;
  stop(): Promise<void>;
}

export const silentLog = createLogger('silent');

/** A service's engine without a service, built: it starts in half the time. */
export async function startEngine(dataDir: string): Promise<EmbeddedEngine> {
  const module = await sourceModule<typeof import('../../src/storage/engine.ts')>('storage/engine');
  return module.startEmbeddedEngine({ dataDir, database: 'audit', log: silentLog });
}

/** A real engine on an empty, migrated database in a temporary directory; `stop` removes everything. */
export async function startTestEngine(): Promise<TestEngine> {
  const dataDir = await temporaryDirectory();
  await copyEngineTemplate(dataDir);
  const engine = await startEngine(dataDir);
  const storage = openStorage(engine.connection, silentLog);
  const stop = async (): Promise<void> => {
    await storage.close();
    await engine.stop();
    await removeDirectory(dataDir);
  };
  try {
    await migrate(storage, { log: silentLog });
  } catch (error) {
    await stop();
    throw error;
  }
  return { storage, connection: engine.connection, dataDir, engine, stop };
}

/** Runs `work` on the engine of an unused data directory. */
export async function inEngineOf<T>(dataDir: string, work: (storage: Storage) => Promise<T>): Promise<T> {
  const engine = await startEngine(dataDir);
  const storage = openStorage(engine.connection, silentLog);
  try {
    return await work(storage);
  } finally {
    await storage.close();
    await engine.stop();
  }
}
