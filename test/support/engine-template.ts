import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createLogger } from '../../src/base/observability/log.ts';
import { openStorage } from '../../src/storage/client.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { sourceModule } from './cli-command.ts';
import { projectRoot } from './project-root.ts';

/**
 * The engine's folder after migrations. A copy costs a fifth of a new one, which is half a second of the
 * processor for each of a hundred services.
 */

const folder = fileURLToPath(new URL('node_modules/.cache/auditlog/', projectRoot));
/** Inputs of the folder. */
const sources = ['schema/migrations/', 'src/storage/', 'node_modules/chdb/package.json'];

function contents(path: string): readonly string[] {
  const place = new URL(path, projectRoot);
  if (!path.endsWith('/')) return [readFileSync(place, 'utf8')];
  return readdirSync(place)
    .toSorted()
    .flatMap((name) => [name, readFileSync(new URL(name, place), 'utf8')]);
}

async function migrated(dataDir: string): Promise<void> {
  const log = createLogger('silent');
  const { startEmbeddedEngine } =
    await sourceModule<typeof import('../../src/storage/engine.ts')>('storage/engine');
  const engine = await startEmbeddedEngine({ dataDir, database: 'audit', log, unannounced: true });
  const storage = openStorage(engine.connection, log);
  try {
    await migrate(storage, { log });
  } finally {
    await storage.close();
    await engine.stop();
  }
}

async function make(template: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const own = await mkdtemp(join(folder, 'making-'));
  try {
    await migrated(own);
    await rename(join(own, 'engine'), template).catch((error: unknown) => {
      // Several processes may create it: the first one's stays.
      if (!existsSync(template)) throw error;
    });
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

async function findTemplate(): Promise<string> {
  const hash = createHash('sha256')
    .update(JSON.stringify(sources.map(contents)))
    .digest('hex');
  const template = join(folder, `engine-${hash.slice(0, 16)}`);
  if (!existsSync(template)) await make(template);
  return template;
}

let template: Promise<string> | undefined;

export async function copyEngineTemplate(dataDir: string): Promise<void> {
  const engine = join(dataDir, 'engine');
  if (existsSync(engine)) return;
  template ??= findTemplate();
  await promisify(execFile)('cp', ['-a', await template, engine]);
}
