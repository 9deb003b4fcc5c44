import { randomUUID } from 'node:crypto';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DamageRegister } from '../base/observability/damage.ts';
import { isServed } from '../base/files/directory-lock.ts';
import { readOrCreateFile } from '../base/files/durable-file.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import { Problem } from '../base/errors/problem.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import type { StopStack } from '../base/processes/stop-stack.ts';
import { fullDiskWords, ifThere, isDiskFull } from '../base/errors/system-error.ts';
import { openStorage } from './client.ts';
import { EmbeddedEngine, startEmbeddedEngine } from './engine.ts';
import { EngineWrites, requireRoom } from './engine-writes.ts';
import { engineHolder, readEngineFile } from './engine-file.ts';
import { showEngine } from './engine-metrics.ts';
import { DataDirLockedError } from './engine-process.ts';
import { keepEventsView } from './events-view.ts';
import { isDamage, operatorWords } from './exception.ts';
import { limits } from './limits.ts';
import { hasTables, migrate } from './migrate.ts';
import { checkRights } from './rights.ts';
import type { EngineConnection, Storage } from './storage.ts';

const serverStartMsMax = 20_000;
const cliEngineWaitMsMax = 30_000;
const cliEngineWaitDelayMs = 200;
/** Wait of a starting server for a command's engine; service managers allow a start 90 seconds. */
const serverEngineWaitMsMax = 60_000;

interface EngineOptions {
  readonly dataDir: string;
  readonly clickhouse: {
    readonly url: string | undefined;
    readonly otherUrls: readonly string[];
    readonly user: string;
    readonly password: string;
    readonly database: string;
    readonly cluster: string | undefined;
  };
  readonly log: Logger;
  readonly stops: StopStack;
}

export interface StorageOptions extends EngineOptions {
  readonly envelope: { readonly head: string; readonly tail: string };
  readonly damage: DamageRegister;
}

interface HeldEngine {
  readonly storage: Storage;
  readonly engine: EmbeddedEngine;
}

export interface ServiceStorage {
  readonly storage: Storage;
  readonly engineWrites: EngineWrites;
  /** Shares disk and clock with the log; undefined with a ClickHouse server. */
  readonly held: HeldEngine | undefined;
  /** Undefined with the embedded engine. */
  readonly instance: string | undefined;
}

/** The caller holds the lock of the data directory. */
export async function startStorage(options: StorageOptions): Promise<ServiceStorage> {
  const { url } = options.clickhouse;
  if (url !== undefined) return reachServer(options, url);
  const held = await holdEngine(options);
  const { dataDir, log, stops } = options;
  const engineWrites = new EngineWrites({
    own: { storage: held.storage, dataDir, kill: () => held.engine.kill() },
    log,
  });
  stops.add(() => engineWrites.stop());
  return { storage: held.storage, engineWrites, held, instance: undefined };
}

async function holdEngine(options: StorageOptions): Promise<HeldEngine> {
  const { damage, log } = options;
  const engine = await startEngine(options);
  options.stops.add(() => engine.stop());
  const onDamagedPart = (part: string) => reportUnreadable(damage, log, part);
  const storage = connect(options, engine.connection, { onDamagedPart, pid: () => engine.pid() });
  await makeTables(options, storage);
  showEngine({ storage, engine });
  return { storage, engine };
}

async function reachServer(options: StorageOptions, url: string): Promise<ServiceStorage> {
  const { damage, log } = options;
  const { user, cluster } = options.clickhouse;
  const onDamagedPart = (part: string) => reportUnreadable(damage, log, part);
  const storage = connect(options, serverConnection(options, url), { onDamagedPart });
  await waitForServer(storage, url, user, log);
  await checkRights(storage, user, cluster);
  const instance = await readInstance(options.dataDir);
  await makeTables(options, storage);
  showEngine({ storage, engine: undefined });
  return { storage, engineWrites: new EngineWrites({ own: undefined, log }), held: undefined, instance };
}

function reportUnreadable(damage: DamageRegister, log: Logger, part: string): void {
  const detail = 'a damaged part of a table; reads that need it fail';
  if (!damage.report({ kind: 'unreadable', id: part, detail })) return;
  log.error({ part }, 'A part of a table is damaged, and reads that need it fail; run `auditlog doctor`');
}

async function readInstance(dataDir: string): Promise<string> {
  return (await readOrCreateFile(join(dataDir, 'instance-id'), randomUUID())).trim();
}

function serverConnection({ clickhouse }: EngineOptions, url: string): EngineConnection {
  const { otherUrls, user, password, database, cluster } = clickhouse;
  return { url, otherUrls, user, password, database, headers: {}, cluster };
}

function connect(
  { log, stops }: StorageOptions,
  connection: EngineConnection,
  more: Parameters<typeof openStorage>[2],
): Storage {
  const storage = openStorage(connection, log, more);
  stops.add(() => storage.close());
  return storage;
}

function roomCheck({ dataDir, clickhouse }: EngineOptions): (() => Promise<void>) | undefined {
  return clickhouse.url === undefined ? () => requireRoom(dataDir) : undefined;
}

async function makeTables(options: StorageOptions, storage: Storage): Promise<void> {
  const { envelope, log } = options;
  const { database, cluster } = options.clickhouse;
  const room = roomCheck(options);
  await migrate(storage, { log, cluster, requireRoom: room });
  await keepEventsView(storage, { database, cluster, ...envelope }, room);
}

async function startEngine(options: EngineOptions): Promise<EmbeddedEngine> {
  const deadline = performance.now() + serverEngineWaitMsMax;
  for (let isLogged = false; ; isLogged = true) {
    const engine = await startUnlessLocked(options, deadline, false);
    if (!(engine instanceof DataDirLockedError)) return engine;
    const facts = { dataDir: options.dataDir, pid: engine.pid, waitMsMax: serverEngineWaitMsMax };
    if (!isLogged) options.log.warn(facts, 'A command runs the engine of DATA_DIR; waiting until it ends');
    await sleep(limits.engineRestartDelayMsMin);
  }
}

async function startUnlessLocked(
  { dataDir, clickhouse, log }: EngineOptions,
  deadline: number,
  unannounced: boolean,
): Promise<EmbeddedEngine | DataDirLockedError> {
  try {
    return await startEmbeddedEngine({ dataDir, database: clickhouse.database, log, unannounced });
  } catch (error) {
    if (!(error instanceof DataDirLockedError) || performance.now() > deadline) throw error;
    return error;
  }
}

/** `isShared`: servers may use the engine at the same time. */
export interface ReachedStorage {
  readonly storage: Storage;
  readonly isShared: boolean;
}

/**
 * The ClickHouse server, else the engine of the server on the data directory, else an engine until `stops` runs. Commands without
 * a server take turns. `asItIs` tolerates damage. Rejects with Problem `malformed` without tables, unless the command `makes`
 * them.
 */
export async function reachStorage(
  options: EngineOptions & { readonly asItIs?: boolean | undefined; readonly makes?: boolean | undefined },
): Promise<ReachedStorage> {
  const { clickhouse, log, stops } = options;
  const { url, cluster } = clickhouse;
  const engine = url === undefined ? await reachEngine(options) : serverConnection(options, url);
  const isShared = !(engine instanceof EmbeddedEngine);
  const storage = isShared
    ? openStorage(engine, log)
    : openStorage(engine.connection, log, { pid: () => engine.pid() });
  stops.add(() => storage.close());
  const isOfServer = isShared && url === undefined;
  if (options.makes !== true && !isOfServer && !(await hasTables(storage))) throw noTables(options);
  try {
    await migrate(storage, { log, cluster, requireRoom: roomCheck(options) });
  } catch (error) {
    // The tables exist, and only the record of migrations is damaged, which can be repaired.
    const isRepairable = options.asItIs === true && error instanceof EngineError && isDamage(error);
    if (!isRepairable) throw error;
  }
  return { storage, isShared };
}

function noTables({ dataDir, clickhouse: { url, database } }: EngineOptions): Problem {
  const where =
    url === undefined
      ? `DATA_DIR ${resolve(dataDir)}`
      : `the database "${database}" of the ClickHouse server at ${url} (CLICKHOUSE_URL, CLICKHOUSE_DATABASE)`;
  return new Problem(
    'malformed',
    `There is no data in ${where}; name the one of the service, or run "auditlog init" first`,
  );
}

/** An engine of our own, or how to reach the one of a server. */
async function reachEngine(options: EngineOptions): Promise<EngineConnection | EmbeddedEngine> {
  const { dataDir, log, stops } = options;
  const deadline = performance.now() + cliEngineWaitMsMax;
  for (let first = true; ; first = false) {
    const running = await readEngineFile(dataDir, first ? log : undefined);
    if (running !== undefined) return running;
    // A server's engine restarts by itself; another one would prevent that.
    if ((await ifThere(isServed(dataDir))) === true) {
      if (performance.now() > deadline) throw await noEngine(dataDir);
    } else {
      const engine = await startUnlessLocked(options, deadline, true);
      if (!(engine instanceof DataDirLockedError)) {
        stops.add(() => engine.stop());
        return engine;
      }
    }
    await sleep(cliEngineWaitDelayMs);
  }
}

async function noEngine(dataDir: string): Promise<Error> {
  const holder = await engineHolder(join(dataDir, 'engine'));
  if (holder !== undefined) return new DataDirLockedError(dataDir, holder);
  return new Error(
    `The server on DATA_DIR ${dataDir} has no running engine; see its log; ` +
      'if it uses a ClickHouse server, set CLICKHOUSE_URL for commands, too',
  );
}

/** For a server that may be starting, as in a compose file. One that answers with a refusal will not change. */
async function waitForServer(storage: Storage, url: string, user: string, log: Logger): Promise<void> {
  const deadline = performance.now() + serverStartMsMax;
  const options = { settings: { database: 'default' }, timeoutMs: limits.readinessMsMax };
  for (let isLogged = false; ; isLogged = true) {
    try {
      await storage.rows('SELECT 1', {}, options);
      return;
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      if (error.failure === 'refused')
        throw new Error(
          `The ClickHouse server at ${url} rejects the user "${user}": ${operatorWords(error)}`,
          { cause: error },
        );
      if (performance.now() > deadline)
        throw new Error(`No ClickHouse server answers at ${url} (CLICKHOUSE_URL): ${error.message}`, {
          cause: error,
        });
      if (!isLogged) log.warn({ url, ...errorFacts(error) }, 'Waiting for the ClickHouse server');
      await sleep(limits.engineRestartDelayMsMin);
    }
  }
}

/** Returns other errors unchanged. Errors of files elsewhere name the file. */
export function explainFullDisk(
  error: unknown,
  { dataDir, clickhouse }: Pick<EngineOptions, 'dataDir' | 'clickhouse'>,
): unknown {
  const path: unknown = error instanceof Error && 'path' in error ? error.path : undefined;
  const isOfFile = isDiskFull(error) && (typeof path !== 'string' || path.startsWith(`${dataDir}/`));
  const isOfOwnEngine =
    error instanceof EngineError &&
    clickhouse.url === undefined &&
    /No space left on device|NOT_ENOUGH_SPACE/i.test(error.message);
  return isOfFile || isOfOwnEngine ? new Error(fullDiskWords(dataDir), { cause: error }) : error;
}
