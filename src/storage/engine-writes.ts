import { readdir, readFile, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineError } from '../base/errors/engine-error.ts';
import { fullDiskWords, ifThere } from '../base/errors/system-error.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { limits } from './limits.ts';
import type { Parameters, QueryOptions, Storage } from './storage.ts';

/**
 * Time between looks for failed writes. Much shorter than `old_parts_lifetime`, for which the engine keeps the parts of a merge
 * that was cut short.
 */
const engineWritesLookMs = 1_000;

/**
 * The embedded engine does not notice a write that fails, as on a full disk (README.md, Failed writes). It only counts it. So a
 * statement has succeeded once the engine that ran it has no failed write, and an engine with a failed write is killed: the
 * next one sets aside the parts that are cut short, and reads those that they were merged from.
 */

interface EngineState {
  /** Of one process of the engine: the id of its oldest statement, which keeps it running from its start to its end. */
  readonly engine: string;
  readonly failed: string;
  readonly path: string;
}

const failedWrites = `(SELECT sum(value) FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed')`;

/** Scalars, one thread and the quick reader: less than half the time of a join. */
const stateQuery = `SELECT argMax(query_id, elapsed) AS engine, ${failedWrites} AS failed,
  (SELECT path FROM system.disks WHERE name = 'default') AS path FROM system.processes`;

const options = { settings: { database: 'default', max_threads: 1 }, timeoutMs: limits.engineAskMsMax };

/** In a database that is there already: the service's may still have to be made. */
async function askState(storage: Pick<Storage, 'readRows'>): Promise<EngineState> {
  const [state] = await storage.readRows<EngineState>(stateQuery, {}, options);
  if (state === undefined) throw new EngineError('unreachable', 'the engine does not tell its failed writes');
  return state;
}

/** Runs statements, and rejects with EngineError unless one engine, in which no write has failed, has run all of them. */
export async function checkedWrite<T>(
  storage: Pick<Storage, 'readRows'>,
  work: () => Promise<T>,
): Promise<T> {
  const before = await askState(storage);
  const done = await work();
  const state = await askState(storage);
  if (state.engine !== before.engine)
    throw new EngineError('unreachable', 'the engine has ended since it was given this');
  if (await hasFailedWrite(state))
    throw new EngineError('refused', 'a write of the engine has failed: its disk is full or failing');
  return done;
}

/**
 * Rows of a query by an engine in which no write has failed. What was answered as written before is on the disk then if it is among
 * the rows: this engine has written it, or has found it there at its start.
 */
export async function rowsOnDisk<T>(
  storage: Pick<Storage, 'readRows'>,
  query: string,
  parameters?: Parameters,
  { settings, ...more }: QueryOptions = {},
): Promise<T[]> {
  const oneThread = { ...more, settings: { max_threads: 1, ...settings } };
  const counted = `SELECT *, ${failedWrites} AS failed_writes FROM (${query})`;
  const rows = await storage.readRows<T & { failed_writes: string }>(counted, parameters, oneThread);
  if (rows.every(({ failed_writes: failed }) => failed === '0')) return rows;
  return checkedWrite(storage, () => storage.readRows<T>(query, parameters, oneThread));
}

/** A start on a full disk leaves the file `status` empty; no other file is written then, and nothing reads this one. */
async function hasFailedWrite({ failed, path }: EngineState): Promise<boolean> {
  if (failed === '0') return false;
  const { size } = await stat(join(path, 'status'));
  return Number(failed) > (size === 0 ? 1 : 0);
}

/** Rejects if a disk has little room. A statement that defines a table is not sent then: no engine starts with a cut definition. */
export async function requireRoom(dataDir: string): Promise<void> {
  const { bavail, bsize } = await statfs(join(dataDir, 'engine'));
  if (bavail * bsize < limits.engineFreeBytesMin) throw new Error(fullDiskWords(dataDir));
}

export interface EngineWritesOptions {
  /** Undefined for a ClickHouse server, which reports failed writes. */
  readonly own: { readonly storage: Storage; readonly dataDir: string; kill(): void } | undefined;
  readonly log: Logger;
}

/** Kills the embedded engine after a failed write, also of a merge, and knows whether the engine takes writes. */
export class EngineWrites {
  readonly #options: EngineWritesOptions;
  readonly #looking: Repeated | undefined;
  /** The last INSERT of a segment has failed. */
  #isFailing = false;

  constructor(options: EngineWritesOptions) {
    this.#options = options;
    const failed = (error: unknown): void =>
      options.log.debug(errorFacts(error), 'the engine could not be asked for failed writes');
    if (options.own !== undefined)
      this.#looking = new Repeated(engineWritesLookMs, () => this.#look(), failed);
  }

  async stop(): Promise<void> {
    await this.#looking?.stop();
  }

  async #look(): Promise<void> {
    const { own, log } = this.#options;
    if (own === undefined) return;
    const state = await askState(own.storage);
    if (!(await hasFailedWrite(state))) return;
    const facts = { failedWrites: Number(state.failed) };
    log.error(facts, 'the engine could not write its files and has not noticed; it is started again');
    own.kill();
  }

  /** The same sink, which sends nothing to an engine whose disk has little room. */
  watch<S, T>(sink: (segment: S) => Promise<T>): (segment: S) => Promise<T> {
    return async (segment) => {
      try {
        await this.#requireRoom();
        const outcome = await sink(segment);
        this.#isFailing = false;
        return outcome;
      } catch (error) {
        this.#isFailing = true;
        throw error;
      }
    };
  }

  async takesWrites(): Promise<boolean> {
    if (this.#isFailing) return false;
    return this.#requireRoom().then(
      () => true,
      () => false,
    );
  }

  async #requireRoom(): Promise<void> {
    const { own } = this.#options;
    if (own !== undefined) await requireRoom(own.dataDir);
  }
}

const mutationName = /^mutation_\d+\.txt$/;
// No dot, which ends at separators such as U+2028: texts of events stand in commands.
const wholeMutation = /^format version: 1\ncreate time: [^\n]+\ncommands: [^\n]+\n/;

/**
 * Removes the files of mutations that are cut short, as no engine starts with one, and returns their paths. To be called while no
 * engine runs. The mutation has not been answered as done, so it is asked for again.
 */
export async function removeCutMutations(engineDir: string): Promise<string[]> {
  const removed: string[] = [];
  for (const folder of await tableFolders(join(engineDir, 'store'))) {
    for (const file of (await readdir(folder)).filter((one) => mutationName.test(one))) {
      const path = join(folder, file);
      if (wholeMutation.test(await readFile(path, 'utf8'))) continue;
      await rm(path);
      removed.push(path);
    }
  }
  return removed;
}

/** The folder of each table, as the engine lays them out: `store/abc/abc…`. Files of others may lie beside them. */
async function tableFolders(store: string): Promise<string[]> {
  const prefixes = (await ifThere(foldersIn(store))) ?? [];
  return (await Promise.all(prefixes.map(foldersIn))).flat();
}

async function foldersIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name));
}
