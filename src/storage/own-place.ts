import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { readIfThere, replaceFile } from '../base/files/durable-file.ts';
import { isDiskFull } from '../base/errors/system-error.ts';

/**
 * True if host and inode are those of the last run. Then the directory is no copy, and its lock proves that the last server has
 * ended, in whatever container.
 */
export async function isAtHome(dataDir: string): Promise<boolean> {
  const path = join(dataDir, 'last-run');
  const { dev, ino } = await stat(dataDir);
  const location = `${hostname()} ${dev} ${ino}`;
  if ((await readIfThere(path))?.trim() === location) return true;
  try {
    await replaceFile(path, `${location}\n`);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  }
  return false;
}
