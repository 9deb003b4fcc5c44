import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { readIfThere, replaceFile } from '../base/files/durable-file.ts';
import { isDiskFull } from '../base/errors/system-error.ts';

/**
 * Whether a data directory is where its last server had it: then it is no copy, and as its lock says, that server has
 * ended, in whatever container. It is known by its place on the disk, which a copy has not.
 */
export async function isAtHome(dataDir: string): Promise<boolean> {
  const path = join(dataDir, 'last-run');
  const { dev, ino } = await stat(dataDir);
  const place = `${hostname()} ${dev} ${ino}`;
  if ((await readIfThere(path))?.trim() === place) return true;
  try {
    await replaceFile(path, `${place}\n`);
  } catch (error) {
    // No reason not to start: the next start then takes its time to look for others.
    if (!isDiskFull(error)) throw error;
  }
  return false;
}
