import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDiskFull } from '../base/errors/system-error.ts';
import { limits } from './limits.ts';
import { StatementClient } from './statement-client.ts';
import { type EngineConfig, renderConfig } from './engine-config.ts';
import { type Holder, isAlive } from './engine-file.ts';
import { EngineError } from '../base/errors/engine-error.ts';

const engineStderrBytesMax = 16 * 1024;
const enginePollDelayMs = 10;
const keeperQuery = 'SELECT sleepEachRow(1) FROM numbers(100000000)';

/** Opens the listener, then runs for three years; the engine runs as long as this query. */
const keeperStatement = `SYSTEM START LISTEN HTTP; ${keeperQuery} SETTINGS max_block_size=1, function_sleep_max_microseconds_per_block=0 FORMAT Null`;

/** Cancels that query; then the engine shuts its tables down and returns. */
export const releaseStatement = `KILL QUERY WHERE query LIKE '${keeperQuery}%' ASYNC`;

/** Fails until that query runs, whose id identifies the process (engine-writes.ts). */
const keeperIsThere = `SELECT throwIf(count() = 0) FROM system.processes WHERE query LIKE '${keeperQuery}%'`;

export interface EngineEnd {
  readonly how: string;
  readonly stderr: string;
}

export class EngineStartError extends Error {
  readonly how: string;

  constructor({ how, stderr }: EngineEnd) {
    super(`The embedded engine ended at its start (${how}): ${stderr.trim()}`);
    this.name = 'EngineStartError';
    this.how = how;
  }
}

export class DataDirLockedError extends Error {
  readonly pid: number | undefined;

  /** `holder`: the engine with the directory. A stopped one does not end with its server. */
  constructor(dataDir: string, holder?: Holder) {
    super(`Another process uses DATA_DIR ${dataDir}${holder === undefined ? '' : describeHolder(holder)}`);
    this.name = 'DataDirLockedError';
    this.pid = holder?.startedBy;
  }
}

function describeHolder({ pid, startedBy, stopped }: Holder): string {
  if (!stopped) return `: process ${startedBy} runs its engine; wait until it ends`;
  return `: its engine, process ${pid}, was stopped by a signal (SIGSTOP); find out who did that, then continue it with kill -CONT ${pid}`;
}

export async function findEngineLibrary(): Promise<string> {
  try {
    createRequire(import.meta.url).resolve('ffi-rs');
    const { libchdbPath } = await import('chdb/libchdb');
    return libchdbPath();
  } catch (error) {
    throw new Error(
      'The embedded engine needs the optional packages chdb and ffi-rs: install them, or set CLICKHOUSE_URL',
      { cause: error },
    );
  }
}

/** Unique, so that this process overwrites no other's file before it learns that the directory is in use. */
async function writeConfigTo(directory: string, config: EngineConfig): Promise<string> {
  const file = join(directory, `config-${process.pid}-${randomBytes(6).toString('hex')}.xml`);
  try {
    await writeFile(file, renderConfig(config, file), { mode: 0o600, flag: 'wx' });
    return file;
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}

/** Needed only for the start, so it may be elsewhere: then a full disk can still be read. */
async function writeConfig(config: EngineConfig): Promise<string> {
  for (const directory of [config.engineDir, tmpdir()]) {
    try {
      return await writeConfigTo(directory, config);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
  }
  return writeConfigTo('/dev/shm', config);
}

async function removeStaleConfig(engineDir: string): Promise<void> {
  for (const name of await readdir(engineDir)) {
    const pid = /^(?:config|users)-(\d+)-[0-9a-f]+\.xml$/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(engineDir, name), { force: true });
  }
}

function childArguments(): string[] {
  const fromSource = import.meta.url.endsWith('.ts');
  const program = new URL(`./engine-child.${fromSource ? 'ts' : 'js'}`, import.meta.url);
  return [...(fromSource ? ['--import', import.meta.resolve('tsx')] : []), fileURLToPath(program)];
}

export class EngineProcess {
  readonly ended: Promise<EngineEnd>;
  readonly #child: ChildProcess;
  readonly #configFile: string;

  private constructor(child: ChildProcess, configFile: string) {
    this.#child = child;
    this.#configFile = configFile;
    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-engineStderrBytesMax);
    });
    this.ended = new Promise((resolve) => {
      child.once('error', (error) => resolve({ how: error.message, stderr }));
      child.once('close', (code, signal) => resolve({ how: signal ?? `exit code ${code}`, stderr }));
    });
  }

  static async spawn(libraryPath: string, config: EngineConfig): Promise<EngineProcess> {
    const { engineDir } = config;
    await removeStaleConfig(engineDir);
    const configFile = await writeConfig(config);
    const engineArguments = [
      `--config-file=${configFile}`,
      `--path=${engineDir}`,
      `--query=${keeperStatement}`,
    ];
    const child = spawn(process.execPath, [...childArguments(), libraryPath, ...engineArguments], {
      cwd: engineDir,
      env: { TZ: 'UTC' },
      // A process group of its own: an interrupt at the terminal must not reach it before this process has
      // drained.
      detached: true,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    return new EngineProcess(child, configFile);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  removeConfig(): Promise<void> {
    return rm(this.#configFile, { force: true });
  }

  async ready(config: EngineConfig, signal: AbortSignal): Promise<void> {
    let last: EngineEnd | undefined;
    void this.ended.then((end) => {
      last = end;
    });
    const client = new StatementClient(config, false);
    const question = { query: keeperIsThere, parameters: {}, settings: {}, timeoutMs: limits.engineAskMsMax };
    const deadline = performance.now() + limits.engineStartMsMax;
    try {
      while (performance.now() < deadline) {
        signal.throwIfAborted();
        if (last) throw new EngineStartError(last);
        try {
          await client.run(question);
          return;
        } catch (error) {
          if (!(error instanceof EngineError)) throw error;
        }
        await sleep(enginePollDelayMs);
      }
    } finally {
      await client.close();
    }
    throw new Error(
      `The embedded engine did not answer within ${limits.engineStartMsMax} ms; start again when the machine is less busy`,
    );
  }
}
