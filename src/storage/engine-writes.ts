import { readdir, readFile, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineError } from '../base/errors/engine-error.ts';
import { fullDiskWords, ifThere } from '../base/errors/system-error.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { limits } from './limits.ts';
import type { Storage } from './storage.ts';

/** Much shorter than `old_parts_lifetime`, for which the engine keeps the sources of a truncated merge. */
const engineWritesLookMs = 1_000;

/**
 * The embedded engine counts failed writes, but does not report them (README.md, Failed writes). So a
 * statement with a failed write fails, and an engine with one is killed.
 */

interface EngineState {
  readonly engine: string;
  readonly failed: string;
  readonly path: string;
}

/** Process id of the engine, a child of this process; undefined while it restarts. */
export type EnginePid = () => number | undefined;

/** Returns no row while no write has failed. Half the cost of reading the whole state. */
const failedQuery = `SELECT value FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed'`;

/** Scalars, one thread and the quick reader take less than half the time of a join. */
const stateQuery = `SELECT argMax(query_id, elapsed) AS engine, toString((${failedQuery})) AS failed,
  (SELECT path FROM system.disks WHERE name = 'default') AS path FROM system.processes`;

const options = { settings: { database: 'default', max_threads: 1 }, timeoutMs: limits.engineAskMsMax };

async function askState(storage: Pick<Storage, 'readRows'>): Promise<EngineState> {
  const [state] = await storage.readRows<EngineState>(stateQuery, {}, options);
  if (state === undefined)
    throw new EngineError('unreachable', 'The engine did not report its failed writes');
  return state;
}

/**
 * Rejects with EngineError unless a single engine without a failed write ran all of `work`. Without
 * `pid`, asks the engine for its process id.
 */
export async function checkedWrite<T>(
  storage: Pick<Storage, 'readRows'>,
  work: () => Promise<T>,
  pid?: EnginePid,
): Promise<T> {
  const engine = async () => (pid === undefined ? (await askState(storage)).engine : pid());
  const before = await engine();
  const done = await work();
  const failed = await failedWrites(storage);
  if (before === undefined || (await engine()) !== before)
    throw new EngineError('unreachable', 'The engine ended during the statement');
  if (failed > 0)
    throw new EngineError('refused', 'A write of the engine failed: its disk is full or failing');
  return done;
}

/** A start on a full disk leaves the file `status` empty, which is harmless. */
async function failedWrites(storage: Pick<Storage, 'readRows'>): Promise<number> {
  const counted = await storage.readRows(failedQuery, {}, options);
  if (counted.length === 0) return 0;
  const { failed, path } = await askState(storage);
  const { size } = await stat(join(path, 'status'));
  return Number(failed) - (size === 0 ? 1 : 0);
}

/** Rejects if the disk has little room: no engine starts with a truncated table definition. */
export async function requireRoom(dataDir: string): Promise<void> {
  const { bavail, bsize } = await statfs(join(dataDir, 'engine'));
  if (bavail * bsize < limits.engineFreeBytesMin) throw new Error(fullDiskWords(dataDir));
}

export interface EngineWritesOptions {
  readonly own: { readonly storage: Storage; readonly dataDir: string; kill(): void } | undefined;
  readonly log: Logger;
}

export class EngineWrites {
  readonly #options: EngineWritesOptions;
  readonly #looking: Repeated | undefined;
  #isFailing = false;

  constructor(options: EngineWritesOptions) {
    this.#options = options;
    const failed = (error: unknown): void =>
      options.log.debug(errorFacts(error), 'Asking the engine for failed writes failed');
    if (options.own !== undefined)
      this.#looking = new Repeated(engineWritesLookMs, () => this.#look(), failed);
  }

  async stop(): Promise<void> {
    await this.#looking?.stop();
  }

  async #look(): Promise<void> {
    const { own, log } = this.#options;
    if (own === undefined) return;
    const failed = await failedWrites(own.storage);
    if (failed <= 0) return;
    log.error({ failedWrites: failed }, 'The engine failed to write its files; restarting it');
    own.kill();
  }

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
// No dot, which stops at separators such as U+2028; commands contain texts of events.
const wholeMutation = /^format version: 1\ncreate time: [^\n]+\ncommands: [^\n]+\n/;

/**
 * No engine starts with truncated mutation files. Returns the paths. Call while no engine runs. An unfinished mutation will be
 * requested again.
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

async function tableFolders(store: string): Promise<string[]> {
  const prefixes = (await ifThere(foldersIn(store))) ?? [];
  return (await Promise.all(prefixes.map(foldersIn))).flat();
}

async function foldersIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name));
}
