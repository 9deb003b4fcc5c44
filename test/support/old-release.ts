import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { migrate } from '../../src/storage/migrate.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { silentLog } from './engine.ts';
import { projectRoot } from './project-root.ts';

/** The last migration of release 0.1.0: events in partitions by the month of their own time. */
const lastMigration = 5;
const directory = new URL('schema/migrations/', projectRoot);

/** Columns of the table of events that release 0.1.0 did not have. */
export const columnsSince010 = ['own'];

/** Makes the database as release 0.1.0 left it. The files of its migrations are unchanged, which checksums see to. */
export async function migrateAsRelease010(storage: Storage): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'auditlog-migrations-'));
  try {
    for (const name of await readdir(directory)) {
      if (Number(name.slice(0, 4)) <= lastMigration)
        await copyFile(new URL(name, directory), join(folder, name));
    }
    await migrate(storage, { log: silentLog, directory: pathToFileURL(`${folder}/`) });
  } finally {
    await rm(folder, { recursive: true });
  }
}
