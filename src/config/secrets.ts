import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from './config.ts';

const secretBytes = 32;
const secretBytesMin = 32;

/** Everything in the directory is private to the service's user; a directory that exists keeps its mode. */
export async function makeDataDir(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
}

async function readSecret(path: string): Promise<string | undefined> {
  try {
    const text = (await readFile(path, 'utf8')).trim();
    if (Buffer.byteLength(text) >= secretBytesMin) return text;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  throw new ConfigError([
    `${path} is shorter than ${secretBytesMin} bytes: remove it, or set SESSION_SECRET`,
  ]);
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * The key that signs sessions, at least 32 bytes: the configured one, else the one in `DATA_DIR/session-secret`, which
 * is made when it is missing (mode 0600). Processes that start together get the same one.
 */
export async function sessionSecret(config: {
  readonly sessionSecret: string | undefined;
  readonly dataDir: string;
}): Promise<string> {
  if (config.sessionSecret !== undefined) return config.sessionSecret;
  await makeDataDir(config.dataDir);
  const path = join(config.dataDir, 'session-secret');
  const existing = await readSecret(path);
  if (existing !== undefined) return existing;

  // A link never replaces: of several processes, one places its complete file and the others read that.
  const draft = `${path}.${randomBytes(8).toString('hex')}`;
  await writeSynced(draft, `${randomBytes(secretBytes).toString('base64url')}\n`);
  try {
    await link(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await unlink(draft);
  }
  const agreed = await readSecret(path);
  if (agreed === undefined) throw new Error(`${path} disappeared while it was being made`);
  return agreed;
}
