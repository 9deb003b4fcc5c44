import { randomBytes, randomInt } from 'node:crypto';
import { chmod, mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve as resolvePath } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { projectFile } from '../base/files/project-file.ts';
import { fullDiskWords, isDiskFull } from '../base/errors/system-error.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { counter } from '../base/observability/metrics.ts';
import { removeCutMutations } from './engine-writes.ts';
import { defaultMemoryBytesMax, type EngineConfig, tokenHeader } from './engine-config.ts';
import { engineHolder, removeEngineFile, writeEngineFile } from './engine-file.ts';
import {
  DataDirLockedError,
  type EngineEnd,
  EngineProcess,
  EngineStartError,
  findEngineLibrary,
  releaseStatement,
} from './engine-process.ts';
import { shortMessage } from './exception.ts';
import { limits } from './limits.ts';
import { askEngine } from './statement-client.ts';
import type { EngineConnection } from './storage.ts';

const engineStopMsMax = 8_000;
const enginePortAttemptsMax = 50;
const engineBindAttemptsMax = 5;

export interface EngineOptions {
  readonly dataDir: string;
  /** Name that the connection carries; the migrations create it. */
  readonly database: string;
  readonly log: Logger;
  /** Bytes that the engine's own accounting may reach; its process can be a fifth larger. */
  readonly memoryBytesMax?: number;
  /**
   * No other process is told of this engine: `engine.json` is not written. For an engine that ends with the work of
   * one command, which could be in the middle of another's.
   */
  readonly unannounced?: boolean;
}

/**
 * A port that is free now, outside the range that systems give to outgoing connections: the engine comes back to
 * the same port after a restart, and nothing should have borrowed it meanwhile.
 */
async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < enginePortAttemptsMax; attempt += 1) {
    const port = randomInt(20_000, 32_768);
    const free = await new Promise<boolean>((resolve) => {
      const probe = createServer();
      probe.once('error', () => resolve(false));
      probe.listen({ host: '127.0.0.1', port }, () => probe.close(() => resolve(true)));
    });
    if (free) return port;
  }
  throw new Error('no free port on 127.0.0.1 for the embedded engine');
}

async function chooseConfig({ dataDir, database, memoryBytesMax }: EngineOptions): Promise<EngineConfig> {
  const port = await findFreePort();
  const secret = (): string => randomBytes(32).toString('base64url');
  return Object.freeze({
    engineDir: join(resolvePath(dataDir), 'engine'),
    port,
    url: `http://127.0.0.1:${port}`,
    user: 'audit',
    password: secret(),
    database,
    headers: Object.freeze({ [tokenHeader]: secret() }),
    memoryBytesMax: memoryBytesMax ?? defaultMemoryBytesMax(),
  });
}

/**
 * Starts the engine that runs beside this process and keeps it running. `DATA_DIR/engine.json` describes it while it
 * is up, unless it is unannounced.
 *
 * Rejects with DataDirLockedError when another process has the directory, and with an Error whose message tells the
 * operator what to do when the optional packages are missing or the engine does not come up.
 */
export async function startEmbeddedEngine(options: EngineOptions): Promise<EmbeddedEngine> {
  const { dataDir, log } = options;
  const library = await findEngineLibrary();
  const engineDir = join(dataDir, 'engine');
  await mkdir(engineDir, { recursive: true, mode: 0o700 });
  await chmod(engineDir, 0o700);
  const startedAt = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    const engine = new EmbeddedEngine(options, library, await chooseConfig(options));
    try {
      await engine.start();
      log.info({ pid: engine.pid(), ms: Math.round(performance.now() - startedAt) }, 'embedded engine is up');
      return engine;
    } catch (error) {
      // Taken since it was looked at: another may be free.
      const isTaken = errorFacts(error).error.includes('Address already in use');
      if (!isTaken || attempt === engineBindAttemptsMax) throw await explained(error, options);
    }
  }
}

/** Whether another process has the directory. */
const isDirectoryTaken = (error: unknown): boolean => errorFacts(error).error.includes('Code: 76.');

/** Why an engine cannot be started, in words for the operator where they are known. */
async function explained(error: unknown, { dataDir, log }: EngineOptions): Promise<unknown> {
  const text = errorFacts(error).error;
  if (isDirectoryTaken(error)) {
    return new DataDirLockedError(dataDir, await engineHolder(join(dataDir, 'engine')));
  }
  if (text.includes('No space left on device')) return new Error(fullDiskWords(dataDir), { cause: error });
  if (!(error instanceof EngineStartError)) return error;
  log.error({ error: shortMessage(text) }, 'the embedded engine ended at its start');
  return new Error(`the embedded engine of DATA_DIR ${dataDir} does not start: ${startWords(error)}`, {
    cause: error,
  });
}

function startWords({ message, how }: EngineStartError): string {
  const page = projectFile('docs/back-up.md');
  if (message.includes('Cannot parse definition from metadata file'))
    return `the definition of a table is cut short, as a full disk leaves it; restore a backup (${page})`;
  return `it ended (${how}); LOG_LEVEL=debug shows its words; if its files are damaged, restore a backup (${page})`;
}

/**
 * The engine of a data directory. One that ends unasked is started again after a delay (see `RestartDelay`). It ends
 * with this process, however that ends.
 */
export class EmbeddedEngine {
  readonly #options: EngineOptions;
  readonly #library: string;
  readonly #config: EngineConfig;
  readonly #delay = new RestartDelay();
  /** Ends all starts. */
  readonly #stopping = new AbortController();
  #running: EngineProcess | undefined;
  #restarts = 0;
  readonly #restartsTotal = counter(
    'auditlog_engine_restarts_total',
    'Starts of the embedded engine after it ended unasked',
    [],
  );
  #supervision: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  constructor(options: EngineOptions, library: string, config: EngineConfig) {
    this.#options = options;
    this.#library = library;
    this.#config = config;
  }

  /** Stays valid over restarts: port, password and header are chosen once. */
  get connection(): EngineConnection {
    const { url, user, password, database, headers } = this.#config;
    return { url, user, password, database, headers };
  }

  /** The first start; to be called once. */
  async start(): Promise<void> {
    this.#supervise(await this.#startOnce());
  }

  /** Process id of the engine, undefined while it is down. */
  pid(): number | undefined {
    return this.#running?.pid;
  }

  /** How often the engine has been started again after it ended unasked. */
  restarts(): number {
    return this.#restarts;
  }

  /** Ends the engine at once; it is started again. */
  kill(): void {
    this.#running?.kill();
  }

  /** Ends the engine and its restarts; at most `engineStopMsMax`, then it is killed. May be called twice. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const { dataDir, log } = this.#options;
    this.#stopping.abort();
    // First, so that no command finds an engine that is about to go.
    await removeEngineFile(dataDir);
    if (this.#running) await this.#end(this.#running);
    await this.#supervision;
    await removeEngineFile(dataDir);
    log.info({}, 'embedded engine is stopped');
  }

  async #end(engine: EngineProcess): Promise<void> {
    const { log } = this.#options;
    const deadline = sleep(engineStopMsMax, 'late' as const, { ref: false });
    try {
      await askEngine(this.#config, releaseStatement, limits.engineAskMsMax);
    } catch (error) {
      log.warn(errorFacts(error), 'the embedded engine did not take the request to stop');
      engine.kill();
    }
    if ((await Promise.race([engine.ended, deadline])) !== 'late') return;
    log.warn({ pid: engine.pid }, 'the embedded engine did not stop in time and is killed');
    engine.kill();
    await engine.ended;
  }

  /** A start, and a second one where only cut mutations stood against the first. */
  async #startOnce(): Promise<EngineProcess> {
    try {
      return await this.#tryStart();
    } catch (error) {
      // The directory of another engine is not to be touched.
      if (isDirectoryTaken(error) || this.#stopping.signal.aborted) throw error;
      const mutations = await removeCutMutations(this.#config.engineDir);
      if (mutations.length === 0) throw error;
      const { log } = this.#options;
      log.warn(
        { mutations },
        'mutations whose files a full disk has cut short are removed: no engine starts with them',
      );
      return this.#tryStart();
    }
  }

  /** Process, readiness, engine.json. On failure nothing is left running. */
  async #tryStart(): Promise<EngineProcess> {
    const engine = await EngineProcess.spawn(this.#library, this.#config);
    try {
      await engine.ready(this.#config, this.#stopping.signal);
      await engine.removeConfig();
      await this.#announce(engine);
      this.#stopping.signal.throwIfAborted();
      return engine;
    } catch (error) {
      engine.kill();
      await engine.ended;
      await engine.removeConfig();
      throw error;
    }
  }

  /** A full disk keeps commands from finding the engine; those who read it by way of this process can go on. */
  async #announce(engine: EngineProcess): Promise<void> {
    const { dataDir, log, unannounced } = this.#options;
    if (unannounced === true) return;
    try {
      await writeEngineFile(dataDir, { ...this.#config, pid: engine.pid ?? 0 });
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      log.error({ dataDir, ...errorFacts(error) }, 'the disk is full: engine.json could not be written');
    }
  }

  #supervise(engine: EngineProcess): void {
    const upSince = performance.now();
    this.#running = engine;
    this.#supervision = engine.ended.then((end) => this.#restart(end, performance.now() - upSince));
  }

  /** Starts the engine until one is up or it is to stop. */
  async #restart({ how, stderr }: EngineEnd, ranMs: number): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stopping;
    this.#running = undefined;
    if (signal.aborted) return;
    let delayMs = this.#delay.next(ranMs);
    log.error({ how, stderr: shortMessage(stderr), delayMs }, 'the embedded engine ended unasked');
    for (; ; delayMs = this.#delay.next(0)) {
      try {
        await sleep(delayMs, undefined, { signal });
        const engine = await this.#startOnce();
        this.#restarts += 1;
        this.#restartsTotal.inc();
        log.info({ pid: engine.pid, restarts: this.#restarts }, 'embedded engine is up again');
        return this.#supervise(engine);
      } catch (error) {
        if (signal.aborted) return;
        const facts = { error: shortMessage(errorFacts(error).error) };
        log.error(facts, 'the embedded engine did not restart');
      }
    }
  }
}

/**
 * How long to wait before an engine that ended is started again. The delay doubles with each end, so that one that
 * cannot run does not keep the machine busy, up to a bound that a reader can wait for; one that ran well is back at
 * once.
 */
export class RestartDelay {
  #nextMs: number = limits.engineRestartDelayMsMin;

  /** `ranMs`: for how long the engine answered before it ended; 0 for a start that failed. */
  next(ranMs: number): number {
    if (ranMs > limits.engineRestartDelayMsMax) this.#nextMs = limits.engineRestartDelayMsMin;
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(delayMs * 2, limits.engineRestartDelayMsMax);
    return delayMs;
  }
}
