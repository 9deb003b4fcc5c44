import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readOrCreateFile } from '../base/durable-file.ts';
import type { Logger } from '../base/log.ts';
import { errorCode } from '../base/system-error.ts';
import { ConfigError } from './config.ts';

const secretBytes = 32;
const secretBytesMin = 32;

/** Mode bits of the group and of everybody else. */
const othersBits = 0o077;
/** By any of these a directory is known to be the service's own. */
const ownNames = ['engine', 'idempotency', 'instance-id', 'session-secret', 'wal'];

type Warn = Pick<Logger, 'warn'>;

const octal = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, '0');

/**
 * Makes the data directory. Everything in it is private to the service's user (mode 0700), also where the directory
 * was there before: it is what protects the files in it. Throws ConfigError where others may enter it and that cannot
 * be changed.
 */
export async function makeDataDir(dataDir: string, log: Warn): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const { mode } = await stat(dataDir);
  if ((mode & othersBits) === 0) return;
  if (!(await isOwnDirectory(dataDir, mode)) || !(await madePrivate(() => chmod(dataDir, 0o700)))) {
    throw new ConfigError([
      `DATA_DIR is ${JSON.stringify(dataDir)}: allowed is a directory that only the service's user can enter (mode ` +
        `0700), but this one has mode ${octal(mode)} and is another user's, is shared or holds other files; change its mode, or ` +
        'name a directory in it',
    ]);
  }
  log.warn({ path: dataDir, mode: octal(mode) }, 'others could enter DATA_DIR; its mode is 0700 now');
}

/**
 * Empty, or made by the service. Any other might be somebody's home, or one that all share (with the sticky bit, such as
 * /tmp): its mode is not ours to change.
 */
async function isOwnDirectory(dataDir: string, mode: number): Promise<boolean> {
  const names = await readdir(dataDir);
  const isShared = (mode & 0o1000) !== 0;
  return !isShared && (names.length === 0 || names.some((name) => ownNames.includes(name)));
}

/** False where the mode cannot be changed: the file is another user's, or the file system has no say. */
async function madePrivate(change: () => Promise<void>): Promise<boolean> {
  try {
    await change();
    return true;
  } catch (error) {
    if (['EPERM', 'EACCES', 'EROFS', 'ENOTSUP'].includes(errorCode(error) ?? '')) return false;
    throw error;
  }
}

/** A secret that others may have read is still in use, so whoever runs the service has to know. */
async function keepPrivate(path: string, log: Warn): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & othersBits) === 0) return;
  if (!(await madePrivate(() => chmod(path, 0o600)))) {
    throw new ConfigError([
      `${path} has mode ${octal(mode)}: allowed is a file that only the service's user can read (mode 0600)`,
    ]);
  }
  log.warn(
    { path, mode: octal(mode) },
    'others could read the key that signs sessions; its mode is 0600 now. To end what they could sign, remove it and restart',
  );
}

/**
 * The key that signs sessions, at least 32 bytes: the configured one, else the one in `DATA_DIR/session-secret`, which
 * is made when it is missing (mode 0600). Processes that start together get the same one.
 */
export async function sessionSecret(
  config: { readonly sessionSecret: string | undefined; readonly dataDir: string },
  log: Warn,
): Promise<string> {
  if (config.sessionSecret !== undefined) return config.sessionSecret;
  await makeDataDir(config.dataDir, log);
  const path = join(config.dataDir, 'session-secret');
  const text = await readOrCreateFile(path, `${randomBytes(secretBytes).toString('base64url')}\n`);
  await keepPrivate(path, log);
  const secret = text.trim();
  if (Buffer.byteLength(secret) >= secretBytesMin) return secret;
  throw new ConfigError([
    `${path} is shorter than ${secretBytesMin} bytes: remove it, or set SESSION_SECRET`,
  ]);
}
