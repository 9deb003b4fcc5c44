import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { readIfThere, readOrCreateFile } from '../base/files/durable-file.ts';
import type { Logger } from '../base/observability/log.ts';
import { ConfigError } from './config.ts';
import { hasData, makeDataDir, makePrivate } from './data-dir.ts';
import { projectFile } from '../base/files/project-file.ts';

const secretBytes = 32;
const secretBytesMin = 32;

type Warn = Pick<Logger, 'warn'>;

async function keepPrivate(path: string, log: Warn, words: string): Promise<void> {
  const before = await makePrivate(path, 0o600);
  if (before === undefined) return;
  if (!before.changed) {
    throw new ConfigError([
      `${path} has mode ${before.mode}: allowed is a file that only the service's user can read (mode 0600)`,
    ]);
  }
  log.warn({ path, mode: before.mode }, `others could read ${words}`);
}

/**
 * The configured key, else the one in `DATA_DIR/session-secret` (mode 0600), created if missing. Processes that start together
 * get the same one.
 */
export async function sessionSecret(
  config: { readonly sessionSecret: string | undefined; readonly dataDir: string },
  log: Warn,
): Promise<string> {
  if (config.sessionSecret !== undefined) return config.sessionSecret;
  const words =
    'the key that signs sessions; its mode is 0600 now. To end what they could sign, remove it and restart';
  return generated(config.dataDir, 'session-secret', 'SESSION_SECRET', words, log);
}

/** As `sessionSecret`. A person's pseudonym depends on the key. */
export async function pseudonymSecret(
  config: { readonly pseudonymSecret: string | undefined; readonly dataDir: string },
  log: Warn,
): Promise<string> {
  if (config.pseudonymSecret !== undefined) return config.pseudonymSecret;
  const words =
    'the key that pseudonyms are made with; its mode is 0600 now. Whoever has it can tell whose a pseudonym is';
  return generated(config.dataDir, 'pseudonym-secret', 'PSEUDONYM_SECRET', words, log);
}

/** Rejects with a ConfigError if a command would create a secret that the servers have in their DATA_DIR. */
export async function requireKnownSecret(
  dataDir: string,
  variable: string,
  given: string | undefined,
): Promise<void> {
  if (given !== undefined || (await hasData(dataDir))) return;
  throw new ConfigError([
    `${variable} is not set, and there is no data in DATA_DIR ${resolve(dataDir)}: set it to what the servers have, or ` +
      'name the DATA_DIR of one of them',
  ]);
}

async function generated(
  dataDir: string,
  name: string,
  variable: string,
  words: string,
  log: Warn,
): Promise<string> {
  await makeDataDir(dataDir, log);
  const path = join(dataDir, name);
  const text = await readOrCreateFile(path, `${randomBytes(secretBytes).toString('base64url')}\n`);
  await keepPrivate(path, log, words);
  const secret = text.trim();
  if (Buffer.byteLength(secret) >= secretBytesMin) return secret;
  throw new ConfigError([`${path} is shorter than ${secretBytesMin} bytes: remove it, or set ${variable}`]);
}

export interface EvidenceKeys {
  readonly current: string;
  /** The replaced key, if the operator keeps it. */
  readonly previous: string | undefined;
}

/**
 * The configured key, else the one in `DATA_DIR/evidence-key` (mode 0600), created if `made`; and the replaced one in
 * `evidence-key.previous`.
 */
export async function evidenceKeys(
  { evidenceKey, dataDir }: { readonly evidenceKey: string | undefined; readonly dataDir: string },
  log: Warn,
  made: () => string,
): Promise<EvidenceKeys> {
  if (evidenceKey === undefined) await makeDataDir(dataDir, log);
  const path = join(dataDir, 'evidence-key');
  const page = projectFile('docs/evidence.md');
  const words = `the key that signs evidence; its mode is 0600 now. ${page} says how to replace it`;
  const current = evidenceKey ?? (await readOrCreateFile(path, `${made()}\n`));
  if (evidenceKey === undefined) await keepPrivate(path, log, words);
  const previousPath = `${path}.previous`;
  const previous = await readIfThere(previousPath);
  if (previous !== undefined) await keepPrivate(previousPath, log, words);
  return { current: current.trim(), previous: previous?.trim() };
}
