import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDiskFull } from '../base/system-error.ts';
import { limits } from './limits.ts';
import { StatementClient } from './statement-client.ts';
import { renderConfig, renderUsers } from './engine-config.ts';
import type { EngineConfig } from './engine-config.ts';
import { isAlive } from './engine-file.ts';
import { EngineError } from '../base/engine-error.ts';
import type { EngineConnection } from './storage.ts';

const keeperQuery = 'SELECT sleepEachRow(1) FROM numbers(100000000)';

/** Opens the listener, then holds the session for three years; the engine runs as long as this does. */
const keeperStatement = `SYSTEM START LISTEN HTTP; ${keeperQuery} SETTINGS max_block_size=1, function_sleep_max_microseconds_per_block=0 FORMAT Null`;

/** Cancels the query above, which lets the engine shut its tables down and return. */
export const releaseStatement = `KILL QUERY WHERE query LIKE '${keeperQuery}%' ASYNC`;

export interface EngineEnd {
  /** Signal or exit code. */
  readonly how: string;
  readonly stderr: string;
}

/** One process of the engine, from its start to its end. */
export interface EngineProcess {
  readonly pid: number | undefined;
  /** Settles when the process has ended, with the last words it wrote to standard error. */
  readonly ended: Promise<EngineEnd>;
  kill(): void;
  /** The engine reads its configuration once; the files need not lie about while it runs. */
  removeConfig(): Promise<void>;
}

/** Another process has the data directory; the message is fit for the operator. */
export class DataDirLockedError extends Error {
  /** `stoppedPid`: an engine that holds the directory and is stopped, so that it does not end with its server. */
  constructor(dataDir: string, stoppedPid?: number) {
    const held = `another process uses DATA_DIR ${dataDir}`;
    super(
      stoppedPid === undefined
        ? held
        : `${held}: an engine whose process ${stoppedPid} is stopped (SIGSTOP); end it with kill -KILL ${stoppedPid}`,
    );
    this.name = 'DataDirLockedError';
  }
}

/** Absolute path of the engine's library; rejects when the optional packages are not installed. */
export async function findEngineLibrary(): Promise<string> {
  try {
    createRequire(import.meta.url).resolve('ffi-rs');
    const { libchdbPath } = await import('chdb/libchdb');
    return libchdbPath();
  } catch (error) {
    throw new Error(
      'the embedded engine needs the optional packages chdb and ffi-rs: install them, or set CLICKHOUSE_URL',
      { cause: error },
    );
  }
}

interface ConfigFiles {
  readonly config: string;
  readonly users: string;
}

async function removeFiles(files: ConfigFiles): Promise<void> {
  await Promise.all([files.config, files.users].map((file) => rm(file, { force: true })));
}

/**
 * The names are this process's own, so a process that is about to learn that the directory is taken does not write
 * over the files of the one that has it.
 */
async function writeConfigFilesTo(directory: string, config: EngineConfig): Promise<ConfigFiles> {
  const suffix = `${process.pid}-${randomBytes(6).toString('hex')}.xml`;
  const files = { config: join(directory, `config-${suffix}`), users: join(directory, `users-${suffix}`) };
  try {
    await writeFile(files.users, renderUsers(config), { mode: 0o600, flag: 'wx' });
    await writeFile(files.config, renderConfig(config, files.users), { mode: 0o600, flag: 'wx' });
    return files;
  } catch (error) {
    await removeFiles(files);
    throw error;
  }
}

/** For the moment of a start the files may lie elsewhere, so that an engine on a full disk can be read. */
async function writeConfigFiles(config: EngineConfig): Promise<ConfigFiles> {
  for (const directory of [config.engineDir, tmpdir()]) {
    try {
      return await writeConfigFilesTo(directory, config);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
  }
  return writeConfigFilesTo('/dev/shm', config);
}

/** Removes the configuration of processes that were killed while they started an engine. */
async function removeStaleConfigFiles(engineDir: string): Promise<void> {
  for (const name of await readdir(engineDir)) {
    const pid = /^(?:config|users)-(\d+)-[0-9a-f]+\.xml$/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(engineDir, name), { force: true });
  }
}

/**
 * Starts a process of the engine. Nothing secret is in its arguments, and its environment is not this process's.
 * From TypeScript sources the child needs the same loader as this process; from compiled ones it needs none.
 */
export async function spawnEngine(libraryPath: string, config: EngineConfig): Promise<EngineProcess> {
  await removeStaleConfigFiles(config.engineDir);
  const files = await writeConfigFiles(config);
  const fromSource = import.meta.url.endsWith('.ts');
  const program = new URL(`./engine-child.${fromSource ? 'ts' : 'js'}`, import.meta.url);
  const child = spawn(
    process.execPath,
    [
      ...(fromSource ? ['--import', import.meta.resolve('tsx')] : []),
      fileURLToPath(program),
      libraryPath,
      `--config-file=${files.config}`,
      `--path=${config.engineDir}`,
      `--query=${keeperStatement}`,
    ],
    {
      cwd: config.engineDir,
      env: { TZ: 'UTC' },
      // A group of its own: an interrupt typed at the terminal must not reach it before this process has drained.
      detached: true,
      stdio: ['pipe', 'ignore', 'pipe'],
    },
  );
  let stderr = '';
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text: string) => {
    stderr = (stderr + text).slice(-limits.engineStderrBytesMax);
  });
  const ended = new Promise<EngineEnd>((resolve) => {
    child.once('error', (error) => resolve({ how: error.message, stderr }));
    child.once('close', (code, signal) => resolve({ how: signal ?? `exit code ${code}`, stderr }));
  });
  return {
    pid: child.pid,
    ended,
    kill: () => void child.kill('SIGKILL'),
    removeConfig: () => removeFiles(files),
  };
}

/** Waits for the engine to answer. Rejects when it ends before that, on the signal, or after `engineStartMsMax`. */
export async function waitUntilReady(
  engine: EngineProcess,
  connection: EngineConnection,
  signal: AbortSignal,
): Promise<void> {
  let last: EngineEnd | undefined;
  void engine.ended.then((end) => {
    last = end;
  });
  const client = new StatementClient(connection, false);
  const question = { query: 'SELECT 1', parameters: {}, settings: {}, timeoutMs: limits.engineAskMsMax };
  const deadline = Date.now() + limits.engineStartMsMax;
  try {
    while (Date.now() < deadline) {
      signal.throwIfAborted();
      if (last)
        throw new Error(`the embedded engine ended at its start (${last.how}): ${last.stderr.trim()}`);
      try {
        await client.run(question);
        return;
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
      }
      await sleep(limits.enginePollDelayMs);
    }
  } finally {
    await client.close();
  }
  throw new Error(`the embedded engine did not answer within ${limits.engineStartMsMax} ms`);
}
