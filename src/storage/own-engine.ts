import { readdir, stat, statfs } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { errorCode, fullDiskWords } from '../base/errors/system-error.ts';
import { limits as baseLimits } from '../base/limits.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { unlessAborted } from '../base/waiting/within.ts';
import type { EmbeddedEngine } from './engine.ts';
import { limits } from './limits.ts';
import type { Storage } from './storage.ts';

interface EngineLook {
  /** False also until all that was written when there was none has been found whole. */
  readonly hasRoom: boolean;
  /** Id of the engine's process; 0 while it is down. */
  readonly process: number;
}

/** Bytes that are free on the disk of a directory. */
async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/**
 * Rejects where a disk has little room. The engine does not notice that a full disk cuts the file short in which it writes a
 * table's definition, and with such a file none ever starts again.
 */
export async function requireRoom(dataDir: string): Promise<void> {
  const free = await freeBytesOf(join(dataDir, 'engine'));
  if (free < limits.engineFreeBytesMin) throw new Error(fullDiskWords(dataDir));
}

export interface RunningEngineOptions {
  readonly engine: EmbeddedEngine;
  readonly written: WrittenParts;
  readonly log: Logger;
  /** Of the engine's disk. */
  readonly freeBytes: () => Promise<number>;
}

/**
 * The embedded engine. Merges that were under way when the disk filled up are cut short, of whichever table, and
 * reads fail by them. So from then on all new parts are looked at, and nothing else is written before they were found whole
 * with room on the disk.
 */
export class RunningEngine {
  readonly #engine: EmbeddedEngine;
  readonly #written: WrittenParts;
  readonly #log: Logger;
  readonly #freeBytes: () => Promise<number>;
  readonly #looking: Repeated;
  /** There was no room since the parts were last found whole. */
  #isInDoubt = false;
  #checks = 0;

  constructor({ engine, written, log, freeBytes }: RunningEngineOptions) {
    this.#engine = engine;
    this.#written = written;
    this.#log = log;
    this.#freeBytes = freeBytes;
    const failed = (error: unknown): void =>
      log.debug(errorFacts(error), 'what was written to a full disk could not be looked at yet');
    this.#looking = new Repeated(limits.engineRoomLookMs, (signal) => this.#lookAtRoom(signal), failed);
  }

  static of(engine: EmbeddedEngine, dataDir: string, written: WrittenParts, log: Logger): RunningEngine {
    return new RunningEngine({ engine, written, log, freeBytes: () => freeBytesOf(join(dataDir, 'engine')) });
  }

  stop(): Promise<void> {
    return this.#looking.stop();
  }

  /** Before an INSERT: whether the engine's disk has room, and its process, which `checkWritten` is to find again. */
  async look(): Promise<EngineLook> {
    const hasRoom = await this.#hasRoom();
    return { hasRoom: hasRoom && !this.#isInDoubt, process: this.#engine.pid() ?? 0 };
  }

  async #hasRoom(): Promise<boolean> {
    const hasRoom = (await this.#freeBytes()) >= limits.engineFreeBytesMin;
    this.#isInDoubt ||= !hasRoom;
    return hasRoom;
  }

  async #lookAtRoom(signal: AbortSignal): Promise<void> {
    const hasRoom = await this.#hasRoom();
    if (!this.#isInDoubt) return;
    await unlessAborted(this.checkParts(), signal);
    this.#isInDoubt = !hasRoom;
  }

  /**
   * After an INSERT: looks at the parts that are new, merged ones too. Rejects when one is cut short, and then starts
   * the engine again; also when the engine is not that of the look any more, as it may have set the new part aside.
   */
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
  readonly #own: RunningEngine | undefined;
  #isFailing = false;

  /** `own` is undefined for a ClickHouse server, of which only its answers are known. */
  constructor(own: RunningEngine | undefined) {
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
  readonly table: string;
  readonly name: string;
  readonly path: string;
  readonly bytes: string;
}

/**
 * Whether the files of new parts are as long as the engine believes, of all tables. The embedded engine does not notice when
 * a write fails (a full disk, an input/output error): it answers as if all had been stored, and the part cannot be read.
 */
export class WrittenParts {
  readonly #storage: Storage;
  /** Paths of parts. */
  #whole = new Set<string>();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Takes the parts that are there for whole: the engine has just loaded them, and then it looks at their files. */
  async trustLoaded(): Promise<void> {
    this.#whole = new Set((await this.#active()).map(({ path }) => path));
  }

  /** Parts that are not whole, as `table/part`, among those that were not found whole before. */
  async findBroken(): Promise<string[]> {
    const active = await this.#active();
    const paths = new Set(active.map(({ path }) => path));
    for (const path of this.#whole) if (!paths.has(path)) this.#whole.delete(path);
    const broken: string[] = [];
    for (const part of active) {
      if (this.#whole.has(part.path)) continue;
      if ((await isWhole(part)) === false) broken.push(`${part.table}/${part.name}`);
      else this.#whole.add(part.path);
    }
    return broken;
  }

  #active(): Promise<NewPart[]> {
    return this.#storage.rows<NewPart>(
      `SELECT table, name, path, bytes_on_disk AS bytes FROM system.parts
       WHERE database = currentDatabase() AND active`,
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
