import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDirectoryLocked } from './directory-lock.ts';
import { errorFacts, type Logger } from '../observability/log.ts';
import { isDiskFull } from '../errors/system-error.ts';
import { readIfThere, replaceFile } from './durable-file.ts';

export interface ServerFile {
  readonly url: string;
  readonly pid: number;
  /** RFC 3339. */
  readonly started_at: string;
  /** SHA-256 of its certificate. Commands trust it for any host. */
  readonly certificate?: string | undefined;
}

export type ServerAddress = Pick<ServerFile, 'url' | 'certificate'>;

const serverFilePath = (dataDir: string): string => join(dataDir, 'server.json');

export async function writeServerFile(dataDir: string, server: ServerAddress, log: Logger): Promise<void> {
  const file: ServerFile = { ...server, pid: process.pid, started_at: startedAt() };
  try {
    await replaceFile(serverFilePath(dataDir), `${JSON.stringify(file, undefined, 2)}\n`);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    log.error({ dataDir, ...errorFacts(error) }, 'The disk is full: server.json could not be written');
  }
}

export async function removeServerFile(dataDir: string): Promise<void> {
  await rm(serverFilePath(dataDir), { force: true });
}

/** Undefined if none answers: a killed server leaves its file, and a copy has the original's. */
export async function readServerFile(
  dataDir: string,
  doesAnswer: (server: ServerAddress) => Promise<boolean>,
): Promise<ServerAddress | undefined> {
  const server = await parseServerFile(dataDir);
  if (server === undefined) return undefined;
  return (await isDirectoryLocked(dataDir)) && (await doesAnswer(server)) ? server : undefined;
}

export async function parseServerFile(dataDir: string): Promise<ServerFile | undefined> {
  const text = await readIfThere(serverFilePath(dataDir));
  try {
    return text === undefined ? undefined : (JSON.parse(text) as ServerFile);
  } catch {
    return undefined;
  }
}

const startedAt = (): string => new Date(Date.now() - process.uptime() * 1000).toISOString();

export async function answers(url: string, timeoutMs: number, ask = fetch): Promise<boolean> {
  try {
    const answer = await ask(`${url}/healthz`, { signal: AbortSignal.timeout(timeoutMs) });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}

export function localUrl(host: string, port: number, tls = false): string {
  const scheme = tls ? 'https' : 'http';
  if (host === '0.0.0.0' || host === '::') return `${scheme}://localhost:${port}`;
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
