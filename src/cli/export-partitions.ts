import { createHash, type Hash } from 'node:crypto';
import { mkdir, open, type FileHandle, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { DirectoryLock } from '../base/files/directory-lock.ts';
import { replaceFile, syncDirectory } from '../base/files/durable-file.ts';
import { errorCode, namingFile } from '../base/errors/system-error.ts';
import { ocsfFacts } from '../ocsf/ocsf110/facts.ts';
import { type EventColumns, eventColumns } from './parquet/columns.ts';
import { lockPartial } from './export-file.ts';
import { ParquetFile } from './parquet/file.ts';

export interface PartitionResult {
  readonly file: string;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * OCSF 1.1.0 events as Parquet files by class and day, in a directory that appears only when complete:
 *
 *     DIR.partial/files/            becomes DIR
 *       account_change/
 *         eventDay=20260901/NAME.parquet
 *
 * Events come newest first, so one file of each class is open at a time. The next export discards an interrupted one.
 */
export class PartitionedExport {
  readonly #directory: string;
  readonly #name: string;
  readonly #lock: DirectoryLock;
  readonly #columns = new Map<number, EventColumns>();
  readonly #open = new Map<number, Partition>();
  readonly #finished: PartitionResult[] = [];
  #day = '';

  private constructor(directory: string, name: string, lock: DirectoryLock) {
    this.#directory = directory;
    this.#name = name;
    this.#lock = lock;
  }

  /** `name` is each file's name without extension. Throws if a file is in the way. */
  static async open(directory: string, name: string): Promise<PartitionedExport> {
    await checkAbsent(directory);
    const partial = `${directory}.partial`;
    await mkdir(partial, { mode: 0o700 }).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error;
    });
    const lock = await lockPartial(partial, directory);
    const made = new PartitionedExport(directory, name, lock);
    try {
      await made.restart();
      return made;
    } catch (error) {
      await made.close();
      throw error;
    }
  }

  async restart(): Promise<void> {
    await this.#closeAll((one) => one.abandon());
    this.#finished.length = 0;
    this.#day = '';
    await rm(this.#files, { recursive: true, force: true });
    await mkdir(this.#files, { mode: 0o700 });
  }

  /** Adds an event's line. No event may be of a later day than the one before. */
  async add(line: string): Promise<void> {
    const { classUid, day } = readPartition(line);
    if (day !== this.#day) {
      if (this.#day !== '' && day > this.#day) throw new Error('events of an export are not newest first');
      await this.#finishDay();
      this.#day = day;
    }
    const partition = this.#open.get(classUid) ?? (await this.#begin(classUid));
    await partition.add(line);
  }

  /** Renames the directory and its manifest. */
  async finish(manifest: (files: readonly PartitionResult[]) => object): Promise<readonly PartitionResult[]> {
    await this.#finishDay();
    await syncDirectory(this.#files);
    const text = `${JSON.stringify(manifest(this.#finished), undefined, 2)}\n`;
    const temporary = join(`${this.#directory}.partial`, 'manifest.json');
    await replaceFile(`${this.#directory}.manifest.json`, text, temporary);
    await rename(this.#files, this.#directory);
    await syncDirectory(dirname(this.#directory));
    return this.#finished;
  }

  async close(): Promise<void> {
    try {
      await this.#closeAll((one) => one.abandon());
      await rm(`${this.#directory}.partial`, { recursive: true, force: true });
    } finally {
      await this.#lock.release();
    }
  }

  get #files(): string {
    return join(`${this.#directory}.partial`, 'files');
  }

  async #begin(classUid: number): Promise<Partition> {
    const columns = this.#columns.get(classUid) ?? eventColumns(classUid);
    this.#columns.set(classUid, columns);
    const className = ocsfFacts().classes.get(classUid)?.name ?? String(classUid);
    const path = join(className, `eventDay=${this.#day}`, `${this.#name}.parquet`);
    const partition = await Partition.create(this.#files, path, columns);
    this.#open.set(classUid, partition);
    return partition;
  }

  async #finishDay(): Promise<void> {
    await this.#closeAll(async (one) => {
      this.#finished.push(await one.finish());
    });
  }

  /** Throws the first of several failures, once all files are closed. */
  async #closeAll(close: (partition: Partition) => Promise<void>): Promise<void> {
    const partitions = [...this.#open.values()];
    this.#open.clear();
    const ends = await Promise.allSettled(partitions.map(close));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }
}

class Partition {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #directory: string;
  readonly #parquet: ParquetFile;
  readonly #hash: Hash = createHash('sha256');
  #rows = 0;
  #bytes = 0;

  private constructor(path: string, directory: string, handle: FileHandle, parquet: ParquetFile) {
    this.#path = path;
    this.#directory = directory;
    this.#handle = handle;
    this.#parquet = parquet;
  }

  static async create(root: string, path: string, columns: EventColumns): Promise<Partition> {
    const directory = join(root, dirname(path));
    await mkdir(directory, { mode: 0o700, recursive: true });
    const parquet = await ParquetFile.create(columns);
    return new Partition(path, directory, await open(join(root, path), 'wx', 0o600), parquet);
  }

  async add(line: string): Promise<void> {
    this.#parquet.add(line);
    this.#rows += 1;
    if (this.#parquet.isFull) await this.#write(await this.#parquet.group());
  }

  async finish(): Promise<PartitionResult> {
    try {
      await this.#write(await this.#parquet.end());
      await namingFile(this.#path, () => this.#handle.sync());
    } finally {
      await this.#handle.close();
    }
    await syncDirectory(this.#directory);
    await syncDirectory(dirname(this.#directory));
    const sha256 = this.#hash.digest('hex');
    return { file: this.#path, rows: this.#rows, bytes: this.#bytes, sha256 };
  }

  abandon(): Promise<void> {
    return this.#handle.close();
  }

  async #write(bytes: Buffer): Promise<void> {
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
    await namingFile(this.#path, () => this.#handle.appendFile(bytes));
  }
}

/** No text can contain these members at this position (parquet/file.ts). */
const classPattern = /"class_uid":(\d+)/;
const timePattern = /,"time":(\d+)/;

function readPartition(line: string): { readonly classUid: number; readonly day: string } {
  const classUid = Number(classPattern.exec(line)?.[1] ?? Number.NaN);
  const time = Number(timePattern.exec(line)?.[1] ?? Number.NaN);
  return { classUid, day: new Date(time).toISOString().slice(0, 10).replaceAll('-', '') };
}

/** The new directory replaces only an empty one. */
async function checkAbsent(directory: string): Promise<void> {
  const reason = await readdir(directory).then(
    (names) => (names.length === 0 ? undefined : 'the directory is not empty'),
    (error: unknown) => {
      if (errorCode(error) === 'ENOENT') return undefined;
      if (errorCode(error) === 'ENOTDIR') return 'it is a file';
      throw error;
    },
  );
  if (reason !== undefined) throw new Error(`cannot write ${directory}: ${reason}`);
}
