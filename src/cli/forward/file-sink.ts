import { constants, type FileHandle, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { syncDirectory } from '../../base/durable-file.ts';
import { Problem } from '../../base/problem.ts';
import type { ForwardedEvent } from './batch.ts';
import { orTransient } from './durable.ts';
import { type FormatName, formatEvents } from './formats.ts';
import type { FileState, Sink } from './sink.ts';

export interface FileSinkOptions {
  readonly path: string;
  readonly format: FormatName;
  /** A file is closed before it would grow above this; a batch is never divided. Undefined: never. */
  readonly rotateBytes: number | undefined;
  /** How many closed files are kept; undefined: all. */
  readonly rotateKeep: number | undefined;
  readonly warn: (text: string) => void;
}

const { O_RDWR, O_CREAT } = constants;
const tailBytes = 64 * 1024;

async function openFile(path: string): Promise<FileHandle> {
  const handle = await open(path, O_RDWR | O_CREAT, 0o600);
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new Problem('malformed', `--to file:${path}: not a file; "-" writes to standard output`);
}

/** The length up to and including the last line end; a file without one has none. */
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

/**
 * The length at which writing goes on. What lies behind the checkpoint's length was written by a run that ended
 * before it could say so, and comes again. In a file that the checkpoint does not know, only an unfinished line of
 * ours at its end is taken off; an end that is something else is not ours to cut.
 */
async function usableLength(
  handle: FileHandle,
  known: FileState | undefined,
  { path, warn }: FileSinkOptions,
): Promise<number> {
  const { size, ino } = await handle.stat();
  if (known !== undefined && known.path === path && known.inode === ino) {
    if (size < known.bytes) warn(`${path} is shorter than it was left; going on at its end`);
    if (size >= known.bytes) return known.bytes;
  }
  const whole = await wholeLines(handle, size);
  if (whole === size) return size;
  const first = Buffer.alloc(1);
  await handle.read(first, 0, 1, whole);
  if (first.toString() !== '{')
    throw new Error(`${path} does not end with a whole line, and is not of this command`);
  warn(`${path}: an unfinished line of ${size - whole} bytes was taken off its end`);
  return whole;
}

/** Cuts the file to the length at which writing goes on; the file is closed again when it cannot be used. */
async function beginning(handle: FileHandle, known: FileState | undefined, options: FileSinkOptions) {
  try {
    const size = await usableLength(handle, known, options);
    await handle.truncate(size);
    await handle.sync();
    await syncDirectory(dirname(options.path));
    return { size, inode: (await handle.stat()).ino };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Numbers of the closed files beside a path: `events.ndjson.7` is 7, and so is `events.ndjson.7.gz`. */
async function closedNumbers(path: string): Promise<number[]> {
  const prefix = `${basename(path)}.`;
  const names = (await readdir(dirname(path))).filter((name) => name.startsWith(prefix));
  return names
    .map((name) => name.slice(prefix.length))
    .map((rest) => Number(/^([1-9]\d{0,8})(\.|$)/.exec(rest)?.[1] ?? 0))
    .filter((number) => number > 0);
}

/**
 * Appends to a file. A batch is synced before the checkpoint says so, and the checkpoint remembers the file's length,
 * so after a crash at any moment each event is there once.
 */
export async function openFileSink(given: FileSinkOptions, known: FileState | undefined): Promise<Sink> {
  const options = { ...given, path: resolve(given.path) };
  const { path, format, rotateBytes, rotateKeep } = options;
  let handle = await openFile(path);
  let { size, inode } = await beginning(handle, known, options);
  let prepared: { readonly events: readonly ForwardedEvent[]; readonly body: Buffer } | undefined;

  function bodyOf(events: readonly ForwardedEvent[]): Buffer {
    if (prepared?.events !== events) prepared = { events, body: formatEvents(format, events) };
    return prepared.body;
  }

  async function rotate(): Promise<void> {
    const numbers = await closedNumbers(path);
    const next = Math.max(0, ...numbers) + 1;
    await rename(path, join(dirname(path), `${basename(path)}.${next}`));
    const opened = await openFile(path);
    await handle.close();
    handle = opened;
    inode = (await handle.stat()).ino;
    size = 0;
    await syncDirectory(dirname(path));
    const tooMany = rotateKeep === undefined ? [] : numbers.filter((number) => number <= next - rotateKeep);
    for (const number of tooMany) await rm(`${path}.${number}`, { force: true });
  }

  /** At a place of its own, so that an attempt after a failed one writes over what that left. */
  async function append(body: Buffer): Promise<void> {
    for (let written = 0; written < body.length; ) {
      const { bytesWritten } = await handle.write(body, written, body.length - written, size + written);
      written += bytesWritten;
    }
    await handle.datasync();
    size += body.length;
  }

  return {
    async prepare(events) {
      if (rotateBytes === undefined || size === 0 || size + bodyOf(events).length <= rotateBytes)
        return false;
      await rotate();
      return true;
    },
    async deliver(events) {
      await orTransient(append(bodyOf(events)));
      prepared = undefined;
      return { rejected: 0 };
    },
    state: () => ({ path, inode, bytes: size }),
    close: () => handle.close(),
  };
}
