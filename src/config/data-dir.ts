import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode, isDiskFull } from '../base/system-error.ts';
import type { Logger } from '../base/log.ts';
import { ConfigError } from './config.ts';
import { makeDataDir } from './secrets.ts';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system there is read-only',
  ENOTDIR: 'a part of the path is not a directory',
  ENOENT: 'nothing can be made there',
};

/**
 * Makes a directory and those above it. Node's own way (`recursive`) never ends in a file system that lets nobody make
 * any, such as /proc.
 */
async function makeDirectories(path: string): Promise<void> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return;
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeDirectories(dirname(path));
    try {
      return await mkdir(path, { mode: 0o700 });
    } catch (failure) {
      // Another process was faster.
      if (errorCode(failure) !== 'EEXIST') throw failure;
      return;
    }
  }
  throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
}

/** Only a file that is really made tells: access rights say nothing to root, nor in /proc. */
async function tryToWrite(dataDir: string): Promise<void> {
  const probe = join(dataDir, `probe.${process.pid}.tmp`);
  try {
    await writeFile(probe, '', { mode: 0o600 });
  } catch (error) {
    // What is stored can still be read.
    if (!isDiskFull(error)) throw error;
  }
  await rm(probe, { force: true });
}

/**
 * Makes the data directory, private to the service's user, and sees to it that files can be made in it. Rejects with
 * a ConfigError that names it where that is not so. A full disk is not an error.
 */
export async function prepareDataDir(dataDir: string, log: Pick<Logger, 'warn'>): Promise<void> {
  try {
    await makeDirectories(dataDir);
    await makeDataDir(dataDir, log);
    await tryToWrite(dataDir);
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    const why = reasons[code] ?? code;
    throw new ConfigError([
      `DATA_DIR is ${JSON.stringify(dataDir)}: ${why}; allowed is a directory that this user can make files in`,
    ]);
  }
}
