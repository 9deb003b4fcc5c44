import { constants } from 'node:fs';
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  unlink,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode, ifThere, namingFile } from '../base/errors/system-error.ts';
import { namesIn, replaceFile, syncDirectory } from '../base/files/durable-file.ts';
import { segmentOfName } from './segment.ts';

export interface LogFile {
  /** Writes the parts at the end; resolves when they survive a power cut. */
  append(parts: readonly Uint8Array[]): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

export interface LogReader {
  /** Fills `into` from offset `from`; returns the bytes read, fewer only at the end of the file. */
  read(into: Uint8Array, from: number): Promise<number>;
  size(): Promise<number>;
  close(): Promise<void>;
}

/**
 * The file operations of the log. Tests substitute one that drops or tears unsynced writes, since a process
 * killed with -9 loses none.
 */
export interface LogFiles {
  list(): Promise<string[]>;
  read(name: string): Promise<Buffer>;
  openReader(name: string): Promise<LogReader>;
  /** A new, empty file; fails if it exists. Its name is durable only after `syncDirectory`. */
  create(name: string): Promise<LogFile>;
  open(name: string): Promise<LogFile>;
  remove(name: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  syncDirectory(): Promise<void>;
  freeBytes(): Promise<number>;
  /** `wal-head` (log-head.ts). */
  readonly head: SyncedFile;
  /** `wal-order` (order-numbers.ts). */
  readonly order: SyncedFile;
}

export interface SyncedFile {
  read(): Promise<Buffer | undefined>;
  /** Replaces the content; resolves when it survives a power cut. Not reentrant. */
  write(content: Uint8Array): Promise<void>;
  remove(): Promise<void>;
}

/** On Linux such a write is its own fdatasync: one call on a libuv thread instead of two. */
const syncedWrites = process.platform === 'linux' ? constants.O_DSYNC : 0;
/** writev takes no more; several calls would be several syncs. */
const partsPerCallMax = 1024;

export async function openLogFiles(directory: string): Promise<LogFiles> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return {
    async list() {
      return (await readdir(directory, { withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map((entry) => entry.name)
        .sort();
    },
    read: (name) => namingFile(join(directory, name), () => readFile(join(directory, name))),
    async openReader(name) {
      const path = join(directory, name);
      return logReader(path, await open(path, constants.O_RDONLY));
    },
    create: async (name) =>
      logFile(
        await open(
          join(directory, name),
          constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | syncedWrites,
          0o600,
        ),
        0,
      ),
    async open(name) {
      const path = join(directory, name);
      return logFile(await open(path, constants.O_WRONLY | syncedWrites), (await stat(path)).size);
    },
    remove: (name) => unlink(join(directory, name)),
    rename: (from, to) => rename(join(directory, from), join(directory, to)),
    syncDirectory: () => syncDirectory(directory),
    async freeBytes() {
      const { bavail, bsize } = await statfs(directory);
      return bavail * bsize;
    },
    head: besideLog(directory, 'head'),
    order: besideLog(directory, 'order'),
  };
}

/** A file beside the log's folder, for facts that the folder itself cannot prove. */
export function besideLog(directory: string, name: 'head' | 'order'): SyncedFile {
  const path = `${directory}-${name}`;
  return {
    read: () => ifThere(namingFile(path, () => readFile(path))),
    write: (content) =>
      namingFile(path, () =>
        content.length <= sectorBytes ? overwrite(path, content) : replaceFile(path, content),
      ),
    async remove() {
      await rm(path, { force: true });
      await ifThere(syncDirectory(dirname(path)));
    },
  };
}

const sectorBytes = 512;

/** Within one disk sector, so a power cut leaves the old content or the new, and a full disk has room. */
async function overwrite(path: string, content: Uint8Array): Promise<void> {
  try {
    const handle = await open(path, constants.O_WRONLY | syncedWrites);
    try {
      await handle.write(content, 0, content.length, 0);
      if (syncedWrites === 0) await handle.datasync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    await replaceFile(path, content);
  }
}

/** Ascending numbers of the segments in a log folder. */
export async function segmentsIn(directory: string): Promise<number[]> {
  const numbers = (await namesIn(directory)).flatMap((name) => segmentOfName(name) ?? []);
  return numbers.toSorted((one, other) => one - other);
}

export async function newestSegmentIn(dataDir: string): Promise<number> {
  return (await segmentsIn(join(dataDir, 'wal'))).at(-1) ?? 0;
}

function logFile(handle: FileHandle, end: number): LogFile {
  let position = end;
  return {
    async append(parts) {
      let rest: Uint8Array[] = parts.length > partsPerCallMax ? [Buffer.concat(parts)] : [...parts];
      while (rest.length > 0) {
        const { bytesWritten } = await handle.writev(rest, position);
        position += bytesWritten;
        rest = unwritten(rest, bytesWritten);
      }
      if (syncedWrites === 0) await handle.datasync();
    },
    async truncate(length) {
      await handle.truncate(length);
      await handle.datasync();
      position = length;
    },
    close: () => handle.close(),
  };
}

function logReader(path: string, handle: FileHandle): LogReader {
  return {
    async read(into, from) {
      let length = 0;
      while (length < into.length) {
        const at = length;
        const read = () => handle.read(into, at, into.length - at, from + at);
        const { bytesRead } = await namingFile(path, read);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      return length;
    },
    size: async () => (await handle.stat()).size,
    close: () => handle.close(),
  };
}

/** A disk that fills up writes a part first; continue with the rest. */
function unwritten(parts: readonly Uint8Array[], written: number): Uint8Array[] {
  let skip = written;
  let index = 0;
  for (; index < parts.length; index++) {
    const length = (parts[index] as Uint8Array).length;
    if (skip < length) break;
    skip -= length;
  }
  if (index === parts.length) return [];
  return [(parts[index] as Uint8Array).subarray(skip), ...parts.slice(index + 1)];
}
