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
import { type EmbeddedEngine, startEmbeddedEngine } from './engine.ts';
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

/** A ClickHouse server that starts at the same moment, or none. */
const serverStartMsMax = 20_000;
/** How long a command waits for the engine: other commands, of a few seconds each, may have it. */
const cliEngineWaitMsMax = 30_000;
const cliEngineWaitDelayMs = 200;
/** How long a starting server waits for a command that runs the engine; a service manager gives a start 90 seconds. */
const serverEngineWaitMsMax = 60_000;

/** What it takes to reach the engine. */
interface EngineOptions {
  readonly dataDir: string;
  readonly clickhouse: {
    /** Undefined: the embedded engine. */
    readonly url: string | undefined;
    /** The addresses of further nodes. */
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
  /** What the view for operators puts around the stored text of an event. */
  readonly envelope: { readonly head: string; readonly tail: string };
  readonly damage: DamageRegister;
}

/** The embedded engine. */
interface HeldEngine {
  readonly storage: Storage;
  readonly engine: EmbeddedEngine;
}

/** The storage of a service, migrated. */
export interface ServiceStorage {
  readonly storage: Storage;
  readonly engineWrites: EngineWrites;
  /** The embedded engine, which shares its disk with the log, and its clock with us; undefined: a ClickHouse server is used. */
  readonly held: HeldEngine | undefined;
  /** This server among those that share a ClickHouse server; undefined with the embedded engine. */
  readonly instance: string | undefined;
}

/**
 * Starts the embedded engine, or waits for the ClickHouse server; makes the tables and the view for operators. The
 * caller makes sure that no other server uses the data directory.
 */
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

/** Starts the embedded engine, and makes the tables in it. */
async function holdEngine(options: StorageOptions): Promise<HeldEngine> {
  const { damage, log } = options;
  const engine = await startEngine(options);
  options.stops.add(() => engine.stop());
  const storage = connect(options, engine.connection, (part) => reportUnreadable(damage, log, part));
  await makeTables(options, storage);
  showEngine({ storage, engine });
  return { storage, engine };
}

async function reachServer(options: StorageOptions, url: string): Promise<ServiceStorage> {
  const { damage, log } = options;
  const { user, cluster } = options.clickhouse;
  const storage = connect(options, serverConnection(options, url), (part) =>
    reportUnreadable(damage, log, part),
  );
  await waitForServer(storage, url, user, log);
  await checkRights(storage, user, cluster);
  const instance = await instanceOf(options.dataDir);
  await makeTables(options, storage);
  showEngine({ storage, engine: undefined });
  return { storage, engineWrites: new EngineWrites({ own: undefined, log }), held: undefined, instance };
}

/** Tells the operator of a part that reads have found damaged, once. */
function reportUnreadable(damage: DamageRegister, log: Logger, part: string): void {
  const detail = 'a damaged part of a table: reads that need it fail';
  if (!damage.report({ kind: 'unreadable', id: part, detail })) return;
  log.error({ part }, 'a part of a table is damaged, and reads that need it fail; see `auditlog doctor`');
}

/** By what a data directory is known among those that share an engine: a UUID that outlives restarts. */
export async function instanceOf(dataDir: string): Promise<string> {
  return (await readOrCreateFile(join(dataDir, 'instance-id'), randomUUID())).trim();
}

function serverConnection({ clickhouse }: EngineOptions, url: string): EngineConnection {
  const { otherUrls, user, password, database, cluster } = clickhouse;
  return { url, otherUrls, user, password, database, headers: {}, cluster };
}

function connect(
  { log, stops }: StorageOptions,
  connection: EngineConnection,
  onDamagedPart: (part: string) => void,
): Storage {
  const storage = openStorage(connection, log, onDamagedPart);
  stops.add(() => storage.close());
  return storage;
}

/** Asks for the room of the embedded engine; a ClickHouse server looks after its own disk. */
function roomOf({ dataDir, clickhouse }: EngineOptions): (() => Promise<void>) | undefined {
  return clickhouse.url === undefined ? () => requireRoom(dataDir) : undefined;
}

async function makeTables(options: StorageOptions, storage: Storage): Promise<void> {
  const { envelope, log } = options;
  const { database, cluster } = options.clickhouse;
  const room = roomOf(options);
  await migrate(storage, { log, cluster, requireRoom: room });
  await keepEventsView(storage, { database, cluster, ...envelope }, room);
}

/** No other server has the directory (see `lockDirectory`), but a command may, until it ends. */
async function startEngine(options: EngineOptions): Promise<EmbeddedEngine> {
  const deadline = performance.now() + serverEngineWaitMsMax;
  for (let told = false; ; told = true) {
    const engine = await startUnlessLocked(options, deadline, false);
    if (!(engine instanceof DataDirLockedError)) return engine;
    const facts = { dataDir: options.dataDir, pid: engine.pid, waitMsMax: serverEngineWaitMsMax };
    if (!told) options.log.warn(facts, 'a command runs the engine of DATA_DIR: waiting for its end');
    await sleep(limits.engineRestartDelayMsMin);
  }
}

/** The error while another process holds the data directory; after the deadline that rejects. */
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

/** The storage for a command, and whether servers may be at work on its engine at the same time. */
export interface ReachedStorage {
  readonly storage: Storage;
  readonly isShared: boolean;
}

/**
 * The storage for a command, migrated: the ClickHouse server, else the engine of the server that runs on the data
 * directory, else an engine of its own until `stops` runs. Commands without a server take turns: an engine that ends
 * with one command is no other's. `asItIs`: what is damaged stays so, for the
 * command that looks at it. Rejects with Problem `malformed` where there are no tables and the command is none that `makes` them.
 */
export async function reachStorage(
  options: EngineOptions & { readonly asItIs?: boolean | undefined; readonly makes?: boolean | undefined },
): Promise<ReachedStorage> {
  const { clickhouse, log, stops } = options;
  const { url, cluster } = clickhouse;
  const { connection, isShared } =
    url === undefined
      ? await reachEngine(options)
      : { connection: serverConnection(options, url), isShared: true };
  const storage = openStorage(connection, log);
  stops.add(() => storage.close());
  // A server that has just started its engine is about to make the tables.
  const isOfServer = isShared && url === undefined;
  if (options.makes !== true && !isOfServer && !(await hasTables(storage))) throw noTables(options);
  try {
    await migrate(storage, { log, cluster, requireRoom: roomOf(options) });
  } catch (error) {
    // The tables are there, and what is noted of their migrations cannot be read: it can be repaired.
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
    `there is no data in ${where}: name that of the service, or begin with "auditlog init"`,
  );
}

async function reachEngine(
  options: EngineOptions,
): Promise<{ readonly connection: EngineConnection; readonly isShared: boolean }> {
  const { dataDir, log, stops } = options;
  const deadline = performance.now() + cliEngineWaitMsMax;
  for (let first = true; ; first = false) {
    const running = await readEngineFile(dataDir, first ? log : undefined);
    if (running !== undefined) return { connection: running, isShared: true };
    // The engine of a server comes back by itself, and one of ours would keep it from that.
    if ((await ifThere(isServed(dataDir))) === true) {
      if (performance.now() > deadline) throw await noEngine(dataDir);
    } else {
      const engine = await startUnlessLocked(options, deadline, true);
      if (!(engine instanceof DataDirLockedError)) {
        stops.add(() => engine.stop());
        return { connection: engine.connection, isShared: false };
      }
    }
    // A server that holds the directory is about to announce its engine; a command ends, and then it is our turn.
    await sleep(cliEngineWaitDelayMs);
  }
}

/** Why a server has no engine that answers, as far as a command can tell. */
async function noEngine(dataDir: string): Promise<Error> {
  const holder = await engineHolder(join(dataDir, 'engine'));
  if (holder !== undefined) return new DataDirLockedError(dataDir, holder);
  return new Error(
    `the server that uses DATA_DIR ${dataDir} has no engine running: its log says why; ` +
      'if it uses a ClickHouse server, set CLICKHOUSE_URL for commands, too',
  );
}

/**
 * A ClickHouse server may be starting at the same moment, as in a compose file: it is waited for, but not for ever.
 * One that answers and refuses is not going to change its mind.
 */
async function waitForServer(storage: Storage, url: string, user: string, log: Logger): Promise<void> {
  const deadline = performance.now() + serverStartMsMax;
  // In a database that is there already: ours may still have to be made.
  const options = { settings: { database: 'default' }, timeoutMs: limits.readinessMsMax };
  for (let told = false; ; told = true) {
    try {
      await storage.rows('SELECT 1', {}, options);
      return;
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      if (error.failure === 'refused')
        throw new Error(
          `the ClickHouse server at ${url} refuses the user "${user}": ${operatorWords(error)}`,
          { cause: error },
        );
      if (performance.now() > deadline)
        throw new Error(`no ClickHouse server answers at ${url} (CLICKHOUSE_URL): ${error.message}`, {
          cause: error,
        });
      if (!told) log.warn({ url, ...errorFacts(error) }, 'waiting for the ClickHouse server');
      await sleep(limits.engineRestartDelayMsMin);
    }
  }
}

/**
 * An error in words for the operator where the reason is that the disk of DATA_DIR is full; any other one as it is. A file
 * elsewhere, such as that of an export, names itself.
 */
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
