import { type FileHandle, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { syncDirectory } from '../../base/files/durable-file.ts';
import { Problem } from '../../base/errors/problem.ts';
import { ifThere } from '../../base/errors/system-error.ts';
import { AppendFile } from '../../base/files/append-file.ts';
import type { ForwardedEvent } from './batch.ts';
import { type FormatName, formatEvents } from './formats.ts';
import { type Delivery, type FileState, orTransient, type Sink } from './sink.ts';

export interface FileSinkOptions {
  readonly path: string;
  readonly format: FormatName;
  /** The file is rotated before it exceeds this; batches are not split. */
  readonly rotateBytes: number | undefined;
  /** Undefined: all. */
  readonly rotateKeep: number | undefined;
  readonly warn: (text: string) => void;
}

const tailBytes = 64 * 1024;

/**
 * Appends to a file. A batch is synced before the checkpoint, which stores the file's length: after a crash
 * each event occurs once.
 */
export class FileSink implements Sink {
  readonly #options: FileSinkOptions;
  #file: AppendFile;
  #inode: number;

  private constructor(options: FileSinkOptions, file: AppendFile, inode: number) {
    this.#options = options;
    this.#file = file;
    this.#inode = inode;
  }

  static async open(given: FileSinkOptions, known: FileState | undefined): Promise<FileSink> {
    const options = { ...given, path: resolve(given.path) };
    if (known !== undefined) await checkKnown(options.path, known);
    const file = await openFile(options.path);
    try {
      await file.truncate(await usableLength(file, known, options));
      await file.handle.sync();
      await syncDirectory(dirname(options.path));
      return new FileSink(options, file, (await file.handle.stat()).ino);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async deliver(events: readonly ForwardedEvent[], { saveState }: Delivery) {
    const { format, rotateBytes = Infinity } = this.#options;
    const body = formatEvents(format, events);
    const { bytes } = this.#file;
    if (bytes > 0 && bytes + body.length > rotateBytes) {
      await this.#rotate();
      await saveState();
    }
    await orTransient(this.#file.append(body).then(() => this.#file.sync()));
    return { rejected: 0 };
  }

  state(): FileState {
    return { path: this.#options.path, inode: this.#inode, bytes: this.#file.bytes };
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #rotate(): Promise<void> {
    const { path, rotateKeep } = this.#options;
    const numbers = await closedNumbers(path);
    const next = Math.max(0, ...numbers) + 1;
    await rename(path, `${path}.${next}`);
    const opened = await openFile(path);
    await this.#file.close();
    this.#file = opened;
    this.#inode = (await opened.handle.stat()).ino;
    await syncDirectory(dirname(path));
    const tooMany = rotateKeep === undefined ? [] : numbers.filter((number) => number <= next - rotateKeep);
    for (const number of tooMany) await rm(`${path}.${number}`, { force: true });
  }
}

/**
 * Throws if the file is not the checkpoint's or is shorter: those events would not be delivered again. A
 * restored copy is accepted; after an interrupted rotation the known file is beside the new one.
 */
async function checkKnown(path: string, known: FileState): Promise<void> {
  const whatToDo = `put back ${known.path} with its first ${known.bytes} bytes, or start with a new --checkpoint`;
  if (known.path !== path)
    throw new Error(
      `--to names ${path}, but the checkpoint belongs to ${known.path}: name that file, or ${whatToDo}`,
    );
  const facts = await ifThere(stat(path));
  const isWhole = facts !== undefined && facts.size >= known.bytes;
  if (isWhole || (facts?.ino !== known.inode && (await wasRotated(path, known)))) return;
  const state = facts === undefined ? 'is missing' : `has ${facts.size} bytes`;
  throw new Error(`${path} ${state}; the checkpoint expects ${known.bytes} bytes: ${whatToDo}`);
}

async function wasRotated(path: string, { inode, bytes }: FileState): Promise<boolean> {
  for (const number of await closedNumbers(path)) {
    const facts = await ifThere(stat(`${path}.${number}`));
    if (facts?.ino === inode && facts.size >= bytes) return true;
  }
  return false;
}

async function openFile(path: string): Promise<AppendFile> {
  const file = await AppendFile.open(path);
  if ((await file.handle.stat()).isFile()) return file;
  await file.close();
  throw new Problem('malformed', `--to file:${path}: not a file; "-" writes to standard output`);
}

/**
 * The length at which writing continues. Later bytes are delivered again. Of an unknown file only our
 * unfinished line is cut.
 */
async function usableLength(
  { handle }: AppendFile,
  known: FileState | undefined,
  { path, warn }: FileSinkOptions,
): Promise<number> {
  const { size, ino } = await handle.stat();
  if (known?.inode === ino) return known.bytes;
  const whole = await wholeLines(handle, size);
  if (whole === size) return size;
  const first = Buffer.alloc(1);
  await handle.read(first, 0, 1, whole);
  if (first.toString() !== '{')
    throw new Error(`${path} does not end with a whole line, and was not written by this command`);
  warn(`${path}: an unfinished line of ${size - whole} bytes was removed from its end`);
  return whole;
}

async function wholeLines(handle: FileHandle, size: number): Promise<number> {
  const buffer = Buffer.alloc(tailBytes);
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - tailBytes);
    const { bytesRead } = await handle.read(buffer, 0, end - start, start);
    const at = buffer.subarray(0, bytesRead).lastIndexOf(0x0a);
    if (at !== -1) return start + at + 1;
    end = start;
  }
  return 0;
}

/** Numbers of closed files: 7 for `events.ndjson.7` and `events.ndjson.7.gz`. */
async function closedNumbers(path: string): Promise<number[]> {
  const prefix = `${basename(path)}.`;
  const names = (await readdir(dirname(path))).filter((name) => name.startsWith(prefix));
  return names
    .map((name) => Number(/^([1-9]\d{0,8})(\.|$)/.exec(name.slice(prefix.length))?.[1] ?? 0))
    .filter((number) => number > 0);
}
