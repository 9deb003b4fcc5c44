import { chmod, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type DirectoryLock, isServed, lockDirectory, lockHolder } from '../base/files/directory-lock.ts';
import {
  makeDirectories,
  namesIn,
  readIfThere,
  replaceFile,
  syncDirectory,
} from '../base/files/durable-file.ts';
import { removeServerFile } from '../base/files/server-file.ts';
import { errorCode, ifThere, isDiskFull } from '../base/errors/system-error.ts';
import type { Logger } from '../base/observability/log.ts';
import { ConfigError } from './config.ts';
import { checkOpenFiles } from './open-files.ts';

type Warn = Pick<Logger, 'warn'>;

const othersBits = 0o077;
/** Any of these names marks a directory as the service's. */
const ownNames = [
  'engine',
  'evidence-key',
  'idempotency',
  'instance-id',
  'journal-mark',
  'pseudonym-secret',
  'restoring',
  'session-secret',
  'wal',
  'wal-head',
];

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system there is read-only',
  ENOTDIR: 'a part of the path is not a directory',
  ENOENT: 'nothing can be made there',
};

/**
 * Makes a file or directory private. Undefined if it was; else its mode in octal, and whether it could be
 * changed (not for other users' files or on some file systems).
 */
export async function makePrivate(
  path: string,
  privateMode: number,
  mayChange = true,
): Promise<{ readonly mode: string; readonly changed: boolean } | undefined> {
  const { mode: bits } = await stat(path);
  if ((bits & othersBits) === 0) return undefined;
  const mode = (bits & 0o7777).toString(8).padStart(4, '0');
  try {
    if (mayChange) await chmod(path, privateMode);
    return { mode, changed: mayChange };
  } catch (error) {
    if (!['EPERM', 'EACCES', 'EROFS', 'ENOTSUP'].includes(errorCode(error) ?? '')) throw error;
    return { mode, changed: false };
  }
}

/**
 * Makes the data directory (mode 0700, which protects its files). Throws ConfigError if others may enter it
 * and that cannot be changed.
 */
export async function makeDataDir(dataDir: string, log: Warn): Promise<void> {
  await makeDirectories(dataDir);
  const before = await makePrivate(dataDir, 0o700, await isOwnDirectory(dataDir));
  if (before === undefined) return;
  const { mode, changed } = before;
  if (!changed) {
    throw new ConfigError([
      `DATA_DIR is ${JSON.stringify(dataDir)}: allowed is a directory that only the service's user can enter (mode ` +
        `0700), but this one has mode ${mode} and is another user's, is shared or holds other files; change its mode, or ` +
        'name a directory in it',
    ]);
  }
  log.warn({ path: dataDir, mode }, 'Others could enter DATA_DIR; its mode is 0700 now');
}

/** It may be a home or shared directory (such as /tmp), whose mode must not change. */
async function isOwnDirectory(dataDir: string): Promise<boolean> {
  const isShared = ((await stat(dataDir)).mode & 0o1000) !== 0;
  const names = await readdir(dataDir);
  return !isShared && (names.length === 0 || names.some((name) => ownNames.includes(name)));
}

async function listNames(dataDir: string): Promise<string[]> {
  try {
    return await namesIn(dataDir);
  } catch (error) {
    throw unusable(dataDir, error);
  }
}

export async function hasData(dataDir: string): Promise<boolean> {
  const names = await listNames(dataDir);
  return names.some((name) => ownNames.includes(name) || name.startsWith('lock.'));
}

export async function requireData(dataDir: string): Promise<void> {
  if (!(await hasData(dataDir))) throw noData(dataDir, 'name the directory of the service');
}

/** A starting server is about to create the data. */
export async function requireEngineData(dataDir: string): Promise<void> {
  const names = await listNames(dataDir);
  if (names.includes('engine') || names.includes('restoring') || (await ifThere(isServed(dataDir))) === true)
    return;
  throw noData(
    dataDir,
    'name the directory of the service, set CLICKHOUSE_URL if its server uses one, or begin with "auditlog init"',
  );
}

function noData(dataDir: string, remedy: string): ConfigError {
  return new ConfigError([`there is no data in DATA_DIR ${resolve(dataDir)}: ${remedy}`]);
}

/** Access rights mean nothing for root, or in /proc. */
async function tryToWrite(dataDir: string): Promise<void> {
  const probe = join(dataDir, `probe.${process.pid}.tmp`);
  try {
    await writeFile(probe, '', { mode: 0o600 });
  } catch (error) {
    // Stored events can still be read.
    if (!isDiskFull(error)) throw error;
  }
  await rm(probe, { force: true });
}

/** Rejects with a ConfigError. A full disk is no error. */
export async function prepareDataDir(dataDir: string, log: Warn): Promise<void> {
  try {
    await makeDataDir(dataDir, log);
    await tryToWrite(dataDir);
  } catch (error) {
    throw unusable(dataDir, error);
  }
}

function unusable(dataDir: string, error: unknown): unknown {
  const code = errorCode(error);
  if (code === undefined) return error;
  const why = reasons[code] ?? code;
  return new ConfigError([
    `DATA_DIR is ${JSON.stringify(dataDir)}: ${why}; allowed is a directory that this user can make files in`,
  ]);
}

/** Rejects with a ConfigError, or a DirectoryInUseError if another server uses the directory. */
export async function takeDataDir(dataDir: string, log: Logger): Promise<DirectoryLock> {
  checkOpenFiles();
  await prepareDataDir(dataDir, log);
  const lock = await lockDirectory(dataDir, 'server');
  // Left by a killed server, or copied.
  await removeServerFile(dataDir);
  return lock;
}

const restoringFile = (dataDir: string): string => join(dataDir, 'restoring');
const restoringTemporary = 'restoring.tmp';

/** '' before anything of the backup exists, undefined when done. */
export async function markRestoring(dataDir: string, backup: string | undefined): Promise<void> {
  if (backup !== undefined)
    return replaceFile(restoringFile(dataDir), `${backup}\n`, join(dataDir, restoringTemporary));
  await rm(restoringFile(dataDir), { force: true });
  await syncDirectory(dataDir);
}

export async function restoringInto(dataDir: string): Promise<string | undefined> {
  return (await readIfThere(restoringFile(dataDir)))?.trim();
}

export function isOfRestore(name: string): boolean {
  return name === 'restoring' || name === restoringTemporary || /^probe\.\d+\.tmp$/.test(name);
}

/** Rejects with a ConfigError during or after an unfinished restore. `evenIf`: the command that finishes it. */
export async function requireUsable(dataDir: string, evenIf?: 'restoring'): Promise<void> {
  const backup = evenIf === 'restoring' ? undefined : await restoringInto(dataDir);
  if (backup === undefined) return;
  const what = backup === '' ? 'a backup' : `the backup ${backup}`;
  const holder = await lockHolder(dataDir);
  throw new ConfigError([
    holder?.kind === 'command'
      ? `DATA_DIR is ${dataDir}: process ${holder.pid} restores ${what} into it; wait for its end`
      : `DATA_DIR is ${dataDir}: the restore of ${what} into it was not finished; run the same "auditlog restore" ` +
        'again, or remove the directory to begin anew',
  ]);
}
