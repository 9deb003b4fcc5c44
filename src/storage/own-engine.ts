import { readdir, stat, statfs } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { errorCode, fullDiskWords } from '../base/errors/system-error.ts';
import { limits as baseLimits } from '../base/limits.ts';
import type { Logger } from '../base/observability/log.ts';
import type { EmbeddedEngine } from './engine.ts';
import { limits } from './limits.ts';
import type { Storage } from './storage.ts';

/** What a process that sends segments asks of the one that runs the embedded engine. Rejects where it cannot be told. */
export interface OwnEngine {
  /** Before an INSERT: whether the engine's disk has room, and its process, which `checkWritten` is to find again. */
  look(): Promise<EngineLook>;
  /**
   * After an INSERT: looks at the parts that are new, merged ones too. Rejects when one is cut short, and then starts
   * the engine again; also when the engine is not that of the look any more, as it may have set the new part aside.
   */
  checkWritten(engineProcess: number): Promise<void>;
}

export interface EngineLook {
  readonly hasRoom: boolean;
  /** Id of the engine's process; 0 while it is down. */
  readonly process: number;
}

/** Whether the engine takes events, by the disk of its directory. */
async function hasRoom(directory: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize >= limits.engineFreeBytesMin;
}

/**
 * Rejects where a disk has little room. The engine does not notice that a full disk cuts the file short in which it writes a
 * table's definition, and with such a file none ever starts again.
 */
export async function requireRoom(dataDir: string): Promise<void> {
  if (!(await hasRoom(join(dataDir, 'engine')))) throw new Error(fullDiskWords(dataDir));
}

/** The engine that this process runs. */
export class RunningEngine implements OwnEngine {
  readonly #engine: EmbeddedEngine;
  readonly #directory: string;
  readonly #written: WrittenParts;
  readonly #log: Logger;
  #checks = 0;

  constructor(engine: EmbeddedEngine, dataDir: string, written: WrittenParts, log: Logger) {
    this.#engine = engine;
    this.#directory = join(dataDir, 'engine');
    this.#written = written;
    this.#log = log;
  }

  async look(): Promise<EngineLook> {
    return { hasRoom: await hasRoom(this.#directory), process: this.#engine.pid() ?? 0 };
  }

  async checkWritten(engineProcess: number): Promise<void> {
    await this.checkParts();
    if (engineProcess !== this.#engine.pid())
      throw new Error('the engine has ended since it was given a segment');
    this.#checks += 1;
  }

  /** INSERTs that were looked at and are whole, since the start. */
  checks(): number {
    return this.#checks;
  }

  /** Rejects when a new part is cut short; the engine is then ending, and sets the part aside when it starts. */
  async checkParts(): Promise<void> {
    const broken = await this.#written.findBroken();
    if (broken.length === 0) return;
    const facts = { parts: broken.slice(0, baseLimits.damageShownMax) };
    this.#log.error(facts, 'the engine could not write its files and has not noticed; it is started again');
    const pid = this.#engine.pid();
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    throw new Error('the engine has not written what it was given');
  }
}

/**
 * Whether the engine takes writes: the last INSERT of a segment has gone well, and its disk has room.
 *
 * The embedded engine answers an INSERT as stored although writing its files has failed. So nothing is sent to it
 * while its disk has little room, and the files are looked at before the log may forget a segment. Where they are not
 * whole the engine is started again: it then sets the part aside, and the segment, which counts as doubtful, is sent
 * once more.
 */
export class WriteHealth {
  readonly #own: OwnEngine | undefined;
  #isFailing = false;

  /** `own` is undefined for a ClickHouse server, of which only its answers are known. */
  constructor(own: OwnEngine | undefined) {
    this.#own = own;
  }

  /** The same sink, whose outcomes count, and are true. */
  watch<S, T>(sink: (segment: S) => Promise<T>): (segment: S) => Promise<T> {
    return async (segment) => {
      try {
        const before = await this.#own?.look();
        if (before?.hasRoom === false) throw new Error('the disk of the engine is almost full');
        const outcome = await sink(segment);
        if (before !== undefined) await this.#own?.checkWritten(before.process);
        this.#isFailing = false;
        return outcome;
      } catch (error) {
        this.#isFailing = true;
        throw error;
      }
    };
  }

  async takesWrites(): Promise<boolean> {
    if (this.#own === undefined || this.#isFailing) return !this.#isFailing;
    // What cannot be told is not ready.
    const look = await this.#own.look().catch(() => undefined);
    return look?.hasRoom ?? false;
  }
}

/** Files that the engine does not count among the bytes of a part. */
const uncounted: ReadonlySet<string> = new Set([
  'checksums.txt',
  'columns.txt',
  'columns_substreams.txt',
  'default_compression_codec.txt',
  'metadata_version.txt',
]);

interface NewPart {
  readonly name: string;
  readonly path: string;
  readonly bytes: string;
}

/**
 * Whether the files of new parts are as long as the engine believes. The embedded engine does not notice when a write
 * fails (a full disk, an input/output error): it answers as if all had been stored, and the part cannot be read.
 */
export class WrittenParts {
  readonly #storage: Storage;
  readonly #table: string;
  #whole = new Set<string>();

  constructor(storage: Storage, table = 'events') {
    this.#storage = storage;
    this.#table = table;
  }

  /** Takes the parts that are there for whole: the engine has just loaded them, and then it looks at their files. */
  async trustLoaded(): Promise<void> {
    this.#whole = new Set((await this.#active()).map(({ name }) => name));
  }

  /** The names of parts that are not whole, among those that were not found whole before. */
  async findBroken(): Promise<string[]> {
    const active = await this.#active();
    const names = new Set(active.map(({ name }) => name));
    for (const name of this.#whole) if (!names.has(name)) this.#whole.delete(name);
    const broken: string[] = [];
    for (const part of active) {
      if (this.#whole.has(part.name)) continue;
      if ((await isWhole(part)) === false) broken.push(part.name);
      else this.#whole.add(part.name);
    }
    return broken;
  }

  #active(): Promise<NewPart[]> {
    return this.#storage.rows<NewPart>(
      `SELECT name, path, bytes_on_disk AS bytes FROM system.parts
       WHERE database = currentDatabase() AND table = {table:String} AND active`,
      { table: this.#table },
    );
  }
}

/** Undefined where the part has been merged away and removed in the meantime. */
async function isWhole({ path, bytes }: NewPart): Promise<boolean | undefined> {
  try {
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    const sizes = await Promise.all(files.map(async (file) => ({ file, size: (await stat(file)).size })));
    const counted = sizes.filter(({ file }) => !uncounted.has(basename(file)));
    const sum = counted.reduce((total, { size }) => total + size, 0);
    return (
      sum >= Number(bytes) && sizes.every(({ file, size }) => size > 0 || !uncounted.has(basename(file)))
    );
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
