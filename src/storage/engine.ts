import { randomBytes, randomInt } from 'node:crypto';
import { chmod, mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve as resolvePath } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fullDiskWords, isDiskFull } from '../base/system-error.ts';
import { limits } from './limits.ts';
import { errorFacts } from '../base/log.ts';
import type { Logger } from '../base/log.ts';
import { askEngine } from './statement-client.ts';
import { defaultMemoryBytesMax, tokenHeader } from './engine-config.ts';
import type { EngineConfig } from './engine-config.ts';
import { removeEngineFile, writeEngineFile } from './engine-file.ts';
import {
  DataDirLockedError,
  findEngineLibrary,
  releaseStatement,
  spawnEngine,
  waitUntilReady,
} from './engine-process.ts';
import type { EngineEnd, EngineProcess } from './engine-process.ts';
import { engineHolder } from './engine-holder.ts';
import { RestartDelay } from './restart-delay.ts';
import { shortMessage } from './exception.ts';
import type { EngineConnection } from './storage.ts';

export interface EngineOptions {
  readonly dataDir: string;
  /** Name that the connection carries; the migrations create it. */
  readonly database: string;
  readonly log: Logger;
  /** Bytes that the engine's own accounting may reach; its process can be a fifth larger. */
  readonly memoryBytesMax?: number;
}

/**
 * A port that is free now, outside the range that systems give to outgoing connections: the engine comes back to
 * the same port after a restart, and nothing should have borrowed it meanwhile.
 */
async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < limits.enginePortAttemptsMax; attempt += 1) {
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

async function chooseConfig(options: EngineOptions): Promise<EngineConfig> {
  return {
    engineDir: join(resolvePath(options.dataDir), 'engine'),
    port: await findFreePort(),
    user: 'audit',
    password: randomBytes(32).toString('base64url'),
    token: randomBytes(32).toString('base64url'),
    memoryBytesMax: options.memoryBytesMax ?? defaultMemoryBytesMax(),
  };
}

function connectionOf(config: EngineConfig, database: string): EngineConnection {
  return Object.freeze({
    url: `http://127.0.0.1:${config.port}`,
    user: config.user,
    password: config.password,
    database,
    headers: Object.freeze({ [tokenHeader]: config.token }),
  });
}

async function endProcess(engine: EngineProcess, connection: EngineConnection, log: Logger): Promise<void> {
  const deadline = sleep(limits.engineStopMsMax, 'late' as const, { ref: false });
  try {
    await askEngine(connection, releaseStatement, limits.engineAskMsMax);
  } catch (error) {
    log.warn(errorFacts(error), 'the embedded engine did not take the request to stop');
    engine.kill();
  }
  if ((await Promise.race([engine.ended, deadline])) !== 'late') return;
  log.warn({ pid: engine.pid }, 'the embedded engine did not stop in time and is killed');
  engine.kill();
  await engine.ended;
}

interface Start {
  readonly log: Logger;
  readonly library: string;
  readonly config: EngineConfig;
  readonly connection: EngineConnection;
  readonly dataDir: string;
  /** Ends all starts. */
  readonly stopping: AbortController;
}

/** A full disk keeps commands from finding the engine; those who read it by way of this process can go on. */
async function announce({ dataDir, connection, log }: Start, engine: EngineProcess): Promise<void> {
  try {
    await writeEngineFile(dataDir, { ...connection, pid: engine.pid ?? 0 });
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    log.error({ dataDir, ...errorFacts(error) }, 'the disk is full: engine.json could not be written');
  }
}

/** One start: process, readiness, engine.json. On failure nothing is left running. */
async function startOnce(start: Start): Promise<EngineProcess> {
  const engine = await spawnEngine(start.library, start.config);
  try {
    await waitUntilReady(engine, start.connection, start.stopping.signal);
    start.stopping.signal.throwIfAborted();
    await engine.removeConfig();
    await announce(start, engine);
    return engine;
  } catch (error) {
    engine.kill();
    await engine.ended;
    await engine.removeConfig();
    throw error;
  }
}

/** The first start, which may meet a locked directory (final) or a port taken meanwhile (try another). */
async function startFirst(library: string, options: EngineOptions) {
  const { dataDir, database, log } = options;
  const stopping = new AbortController();
  for (let attempt = 1; ; attempt += 1) {
    const config = await chooseConfig(options);
    const start = { log, library, config, connection: connectionOf(config, database), dataDir, stopping };
    try {
      return { start, engine: await startOnce(start) };
    } catch (error) {
      const text = error instanceof Error ? error.message : '';
      if (text.includes('Code: 76.')) {
        const holder = await engineHolder(config.engineDir);
        throw new DataDirLockedError(dataDir, holder?.stopped === true ? holder.pid : undefined);
      }
      if (text.includes('No space left on device')) throw new Error(fullDiskWords(dataDir), { cause: error });
      const taken = text.includes('Address already in use');
      if (!taken || attempt === limits.engineBindAttemptsMax) throw error;
    }
  }
}

/** Starts an engine until one is up; undefined once the signal has ended the attempts. */
async function startAgain(
  start: Start,
  firstDelayMs: number,
  delay: RestartDelay,
): Promise<EngineProcess | undefined> {
  for (let delayMs = firstDelayMs; ; delayMs = delay.next(0)) {
    try {
      await sleep(delayMs, undefined, { signal: start.stopping.signal });
      return await startOnce(start);
    } catch (error) {
      if (start.stopping.signal.aborted) return undefined;
      start.log.error(
        { error: shortMessage(errorFacts(error).error) },
        'the embedded engine did not restart',
      );
    }
  }
}

/**
 * Starts the engine that runs beside this process and keeps it running. `DATA_DIR/engine.json` describes it while it
 * is up.
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
  const { start, engine } = await startFirst(library, options);
  log.info({ pid: engine.pid, ms: Math.round(performance.now() - startedAt) }, 'embedded engine is up');
  return new EmbeddedEngine(start, engine);
}

/**
 * The engine of a data directory. One that ends unasked is started again after a delay (see `RestartDelay`). It ends
 * with this process, however that ends.
 */
export class EmbeddedEngine {
  /** Stays valid over restarts: port, password and header are chosen once. */
  readonly connection: EngineConnection;
  readonly #start: Start;
  readonly #delay = new RestartDelay();
  #running: EngineProcess | undefined;
  #restarts = 0;
  #supervision: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  constructor(start: Start, engine: EngineProcess) {
    this.connection = start.connection;
    this.#start = start;
    this.#supervise(engine);
  }

  /** Process id of the engine, undefined while it is down. */
  pid(): number | undefined {
    return this.#running?.pid;
  }

  /** How often the engine has been started again after it ended unasked. */
  restarts(): number {
    return this.#restarts;
  }

  /** True from the engine's first answer until its process ends. */
  healthy(): boolean {
    return this.#running !== undefined;
  }

  /** Ends the engine and its restarts; at most `engineStopMsMax`, then it is killed. May be called twice. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const { stopping, dataDir, log } = this.#start;
    stopping.abort();
    // First, so that no command finds an engine that is about to go.
    await removeEngineFile(dataDir);
    if (this.#running) await endProcess(this.#running, this.connection, log);
    await this.#supervision;
    await removeEngineFile(dataDir);
    log.info({}, 'embedded engine is stopped');
  }

  #supervise(engine: EngineProcess): void {
    const upSince = performance.now();
    this.#running = engine;
    this.#supervision = engine.ended.then((end) => this.#restart(end, performance.now() - upSince));
  }

  async #restart({ how, stderr }: EngineEnd, ranMs: number): Promise<void> {
    const { stopping, log } = this.#start;
    this.#running = undefined;
    if (stopping.signal.aborted) return;
    const delayMs = this.#delay.next(ranMs);
    log.error({ how, stderr: shortMessage(stderr), delayMs }, 'the embedded engine ended unasked');
    const again = await startAgain(this.#start, delayMs, this.#delay);
    if (again === undefined) return;
    if (stopping.signal.aborted) {
      again.kill();
      await again.ended;
      return;
    }
    this.#restarts += 1;
    log.info({ pid: again.pid, restarts: this.#restarts }, 'embedded engine is up again');
    this.#supervise(again);
  }
}
