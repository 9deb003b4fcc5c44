import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readOrCreateFile } from '../base/durable-file.ts';
import type { Logger } from '../base/log.ts';
import { ConfigError } from './config.ts';
import { makeDataDir, makePrivate } from './data-dir.ts';

const secretBytes = 32;
const secretBytesMin = 32;

type Warn = Pick<Logger, 'warn'>;

/** A secret that others may have read is still in use, so the operator has to know. */
async function keepPrivate(path: string, log: Warn): Promise<void> {
  const before = await makePrivate(path, 0o600);
  if (before === undefined) return;
  if (!before.changed) {
    throw new ConfigError([
      `${path} has mode ${before.mode}: allowed is a file that only the service's user can read (mode 0600)`,
    ]);
  }
  log.warn(
    { path, mode: before.mode },
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
