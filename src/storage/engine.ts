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
const announceMs = 1_000;

export interface EngineOptions {
  readonly dataDir: string;
  readonly database: string;
  readonly log: Logger;
  /** Bound of the engine's own accounting; the process may be a fifth larger. */
  readonly memoryBytesMax?: number;
  /**
   * Does not write `engine.json`: for an engine that ends with one command, perhaps in the middle of
   * another's work.
   */
  readonly unannounced?: boolean;
}

/** Outside the range of outgoing connections, so that it stays free over a restart of the engine. */
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
  throw new Error('No free port on 127.0.0.1 for the embedded engine');
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
 * `DATA_DIR/engine.json` describes the engine. Rejects with DataDirLockedError if another process has the directory, and with an
 * Error for the operator if optional packages are missing or the engine does not start.
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
      log.info({ pid: engine.pid(), ms: Math.round(performance.now() - startedAt) }, 'Embedded engine is up');
      return engine;
    } catch (error) {
      const isTaken = errorFacts(error).error.includes('Address already in use');
      if (!isTaken || attempt === engineBindAttemptsMax) throw await explained(error, options);
    }
  }
}

const isDirectoryTaken = (error: unknown): boolean => errorFacts(error).error.includes('Code: 76.');

async function explained(error: unknown, { dataDir, log }: EngineOptions): Promise<unknown> {
  const text = errorFacts(error).error;
  if (isDirectoryTaken(error)) {
    return new DataDirLockedError(dataDir, await engineHolder(join(dataDir, 'engine')));
  }
  if (text.includes('No space left on device')) return new Error(fullDiskWords(dataDir), { cause: error });
  if (!(error instanceof EngineStartError)) return error;
  log.error({ error: shortMessage(text) }, 'The embedded engine ended at its start');
  return new Error(`The embedded engine of DATA_DIR ${dataDir} does not start: ${startWords(error)}`, {
    cause: error,
  });
}

function startWords({ message, how }: EngineStartError): string {
  const page = projectFile('docs/back-up.md');
  if (message.includes('Cannot parse definition from metadata file'))
    return `a table definition is truncated, as after a full disk; restore a backup (${page})`;
  return `it ended (${how}); LOG_LEVEL=debug shows its output; if its files are damaged, restore a backup (${page})`;
}

/** Restarts the engine, with a delay, if it ends unexpectedly. */
export class EmbeddedEngine {
  readonly #options: EngineOptions;
  readonly #library: string;
  readonly #config: EngineConfig;
  readonly #delay = new RestartDelay();
  readonly #stopping = new AbortController();
  #running: EngineProcess | undefined;
  #restarts = 0;
  readonly #restartsTotal = counter(
    'auditlog_engine_restarts_total',
    'Restarts of the embedded engine after unexpected ends',
    [],
  );
  #supervision: Promise<void> = Promise.resolve();
  #isUnannounced = false;
  #announcing: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  constructor(options: EngineOptions, library: string, config: EngineConfig) {
    this.#options = options;
    this.#library = library;
    this.#config = config;
  }

  get connection(): EngineConnection {
    const { url, user, password, database, headers } = this.#config;
    return { url, user, password, database, headers };
  }

  async start(): Promise<void> {
    this.#supervise(await this.#startOnce());
  }

  pid(): number | undefined {
    return this.#running?.pid;
  }

  restarts(): number {
    return this.#restarts;
  }

  kill(): void {
    this.#running?.kill();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const { dataDir, log } = this.#options;
    this.#stopping.abort();
    await removeEngineFile(dataDir);
    if (this.#running) await this.#end(this.#running);
    await Promise.all([this.#supervision, this.#announcing]);
    await removeEngineFile(dataDir);
    log.info({}, 'Embedded engine is stopped');
  }

  async #end(engine: EngineProcess): Promise<void> {
    const { log } = this.#options;
    const deadline = sleep(engineStopMsMax, 'late' as const, { ref: false });
    try {
      await askEngine(this.#config, releaseStatement, limits.engineAskMsMax);
    } catch (error) {
      log.warn(errorFacts(error), 'The embedded engine did not accept the request to stop; killing it');
      engine.kill();
    }
    if ((await Promise.race([engine.ended, deadline])) !== 'late') return;
    log.warn({ pid: engine.pid }, 'The embedded engine did not stop in time; killing it');
    engine.kill();
    await engine.ended;
  }

  async #startOnce(): Promise<EngineProcess> {
    try {
      return await this.#tryStart();
    } catch (error) {
      // Never touch the directory of another engine.
      if (isDirectoryTaken(error) || this.#stopping.signal.aborted) throw error;
      const mutations = await removeCutMutations(this.#config.engineDir);
      if (mutations.length === 0) throw error;
      const { log } = this.#options;
      log.warn({ mutations }, 'Removed truncated mutation files, with which the engine cannot start');
      return this.#tryStart();
    }
  }

  async #tryStart(): Promise<EngineProcess> {
    const engine = await EngineProcess.spawn(this.#library, this.#config);
    try {
      await engine.ready(this.#config, this.#stopping.signal);
      await engine.removeConfig();
      this.#isUnannounced = !(await this.#announce(engine));
      this.#stopping.signal.throwIfAborted();
      return engine;
    } catch (error) {
      engine.kill();
      await engine.ended;
      await engine.removeConfig();
      throw error;
    }
  }

  /** False on a full disk. */
  async #announce(engine: EngineProcess): Promise<boolean> {
    const { dataDir, log, unannounced } = this.#options;
    if (unannounced === true) return true;
    try {
      await writeEngineFile(dataDir, { ...this.#config, pid: engine.pid ?? 0 });
      return true;
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      if (!this.#isUnannounced)
        log.error(
          { dataDir, ...errorFacts(error) },
          'The disk is full: engine.json was not written, so commands do not find the engine',
        );
      return false;
    }
  }

  /** Until there is room, only readers through this process can continue. */
  async #announceLater(engine: EngineProcess): Promise<void> {
    const { signal } = this.#stopping;
    try {
      do await sleep(announceMs, undefined, { signal });
      while (this.#running === engine && !(await this.#announce(engine)));
    } catch (error) {
      if (!signal.aborted) this.#options.log.error(errorFacts(error), 'Writing engine.json failed');
    }
  }

  #supervise(engine: EngineProcess): void {
    const upSince = performance.now();
    this.#running = engine;
    if (this.#isUnannounced) this.#announcing = this.#announceLater(engine);
    this.#supervision = engine.ended.then((end) => this.#restart(end, performance.now() - upSince));
  }

  async #restart({ how, stderr }: EngineEnd, ranMs: number): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stopping;
    this.#running = undefined;
    if (signal.aborted) return;
    let delayMs = this.#delay.next(ranMs);
    log.error(
      { how, stderr: shortMessage(stderr), delayMs },
      'The embedded engine ended unexpectedly; restarting it',
    );
    for (; ; delayMs = this.#delay.next(0)) {
      try {
        await sleep(delayMs, undefined, { signal });
        const engine = await this.#startOnce();
        this.#restarts += 1;
        this.#restartsTotal.inc();
        log.info({ pid: engine.pid, restarts: this.#restarts }, 'Embedded engine is up again');
        return this.#supervise(engine);
      } catch (error) {
        if (signal.aborted) return;
        const facts = { error: shortMessage(errorFacts(error).error) };
        log.error(facts, 'The embedded engine did not restart; will retry');
      }
    }
  }
}

/** Doubles with each end, up to a bound that readers can wait for; short again after a long run. */
export class RestartDelay {
  #nextMs: number = limits.engineRestartDelayMsMin;

  next(ranMs: number): number {
    if (ranMs > limits.engineRestartDelayMsMax) this.#nextMs = limits.engineRestartDelayMsMin;
    const delayMs = this.#nextMs;
    this.#nextMs = Math.min(delayMs * 2, limits.engineRestartDelayMsMax);
    return delayMs;
  }
}
