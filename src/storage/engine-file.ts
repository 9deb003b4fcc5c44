import { readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { EngineError } from '../base/errors/engine-error.ts';
import { errorCode } from '../base/errors/system-error.ts';
import { isSameFile, readIfThere, replaceFile } from '../base/files/durable-file.ts';
import type { Logger } from '../base/observability/log.ts';
import { limits } from './limits.ts';
import { askEngine } from './statement-client.ts';
import type { EngineConnection } from './storage.ts';

export type EngineFile = EngineConnection & { readonly pid: number };

const engineFilePath = (dataDir: string): string => join(dataDir, 'engine.json');

export async function writeEngineFile(dataDir: string, file: EngineFile): Promise<void> {
  const { url, user, password, headers, database, pid } = file;
  const text = JSON.stringify({ url, user, password, headers, database, pid }, undefined, 2);
  await replaceFile(engineFilePath(dataDir), `${text}\n`);
}

export async function removeEngineFile(dataDir: string): Promise<void> {
  await rm(engineFilePath(dataDir), { force: true });
}

function isStringRecord(value: unknown): value is Record<string, string> {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((item) => typeof item === 'string')
  );
}

function parseEngineFile(text: string): EngineFile | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { url, user, password, headers, database, pid } = value as Readonly<
    Record<keyof EngineFile, unknown>
  >;
  if (typeof url !== 'string' || typeof user !== 'string' || typeof password !== 'string') return undefined;
  if (typeof database !== 'string' || typeof pid !== 'number' || !isStringRecord(headers)) return undefined;
  return { url, user, password, headers, database, pid };
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

function askPath(connection: EngineConnection): Promise<string> {
  const sql = "SELECT path FROM system.disks WHERE name = 'default' FORMAT RawBLOB";
  return askEngine(connection, sql, limits.engineAskMsMax);
}

/** A copied directory has the file of the original, whose engine may be running. */
async function isEngineOf(dataDir: string, path: string, log: Logger | undefined): Promise<boolean> {
  const engineDir = join(dataDir, 'engine');
  try {
    if (await isSameFile(path, engineDir)) return true;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
  log?.warn(
    { dataDir, engineOf: dirname(path) },
    'engine.json belongs to another data directory, of which this one seems to be a copy; it is ignored',
  );
  return false;
}

/**
 * Undefined without a valid file, or if the process is gone, does not answer within `engineAskMsMax`, or has another directory
 * (logged).
 */
export async function readEngineFile(dataDir: string, log?: Logger): Promise<EngineFile | undefined> {
  const text = await readIfThere(engineFilePath(dataDir));
  const file = text === undefined ? undefined : parseEngineFile(text);
  if (file === undefined || !isAlive(file.pid)) return undefined;
  try {
    return (await isEngineOf(dataDir, await askPath(file), log)) ? file : undefined;
  } catch (error) {
    if (error instanceof EngineError) return undefined;
    throw error;
  }
}

export interface Holder {
  readonly pid: number;
  readonly startedBy: number;
  /** By SIGSTOP or a debugger: it does not notice that its server is gone. */
  readonly stopped: boolean;
}

async function readHolder(pid: number): Promise<Holder> {
  // "pid (name) state parent …"; the name may contain anything.
  const text = await readFile(`/proc/${pid}/stat`, 'latin1');
  const [state = '', parent = ''] = text
    .slice(text.lastIndexOf(')') + 1)
    .trim()
    .split(' ');
  return { pid, startedBy: Number(parent), stopped: state === 'T' || state === 't' };
}

/** Undefined except on Linux, or if the process is gone or inaccessible. */
export async function engineHolder(engineDir: string): Promise<Holder | undefined> {
  try {
    const { ino } = await stat(join(engineDir, 'status'), { bigint: true });
    for (const line of (await readFile('/proc/locks', 'utf8')).split('\n')) {
      const [, pid, locked] = /FLOCK +\w+ +WRITE +(\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /.exec(line) ?? [];
      // Inodes are unique per disk only, but an engine works in its own directory.
      if (pid === undefined || locked !== String(ino)) continue;
      if (!(await isSameFile(`/proc/${pid}/cwd`, engineDir))) continue;
      return await readHolder(Number(pid));
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
  return undefined;
}
