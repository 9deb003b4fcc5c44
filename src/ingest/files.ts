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

/** An open file of the log. Offsets and lengths in bytes. */
export interface LogFile {
  /** Writes all parts at the end of what was written before, and resolves when they survive a power cut. */
  append(parts: readonly Uint8Array[]): Promise<void>;
  /** Cuts the file; resolves when that survives a power cut. */
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

/** A file of the log that is read a piece at a time. */
export interface LogReader {
  /** Fills `into` with what begins at `from`; resolves with how many bytes that are, fewer only at the file's end. */
  read(into: Uint8Array, from: number): Promise<number>;
  /** Bytes of the file now. */
  size(): Promise<number>;
  close(): Promise<void>;
}

/**
 * Everything the log asks of a file system: the seam where a test puts one that drops or tears what was not synced
 * (a process killed with -9 loses nothing that it wrote, so killing it never tests a sync).
 */
export interface LogFiles {
  list(): Promise<string[]>;
  read(name: string): Promise<Buffer>;
  openReader(name: string): Promise<LogReader>;
  /** A new, empty file; fails when it exists. Its name is durable only after `syncDirectory`. */
  create(name: string): Promise<LogFile>;
  /** An existing file, to cut a torn tail. */
  open(name: string): Promise<LogFile>;
  remove(name: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  syncDirectory(): Promise<void>;
  /** Bytes of the disk that are free for us. */
  freeBytes(): Promise<number>;
  /** `wal-head`: see log-head.ts. */
  readonly head: SyncedFile;
  /** `wal-order`: see order-numbers.ts. */
  readonly order: SyncedFile;
}

/** A small file beside the log's folder. */
export interface SyncedFile {
  /** Undefined where there is no such file. */
  read(): Promise<Buffer | undefined>;
  /** Replaces the content; resolves when that survives a power cut. Not to be called again before that. */
  write(content: Uint8Array): Promise<void>;
  remove(): Promise<void>;
}

/**
 * On Linux a write to a file that is opened so is its own fdatasync: one call instead of two. Each call is made on
 * another thread, and coming back from one costs more than a small write when the processors are busy.
 */
const syncedWrites = process.platform === 'linux' ? constants.O_DSYNC : 0;
/** As many parts go into one call; more would be several, each with a sync of its own. */
const partsPerCallMax = 1024;

/** The real file system below `directory`, which is created with mode 0700. */
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

/** A file beside the folder of a log, which tells what nothing in the folder can. */
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

/** Within one sector of the disk, so a power cut leaves the content before or this one; a full disk has the room. */
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

/** The numbers of the segments in a log folder, whoever has it open, rising. */
export async function segmentsIn(directory: string): Promise<number[]> {
  const numbers = (await namesIn(directory)).flatMap((name) => segmentOfName(name) ?? []);
  return numbers.toSorted((one, other) => one - other);
}

/** The newest segment in the log of a data directory, whoever has it open; 0 if it has none. */
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

/** A disk that fills up writes a part first and fails at the next call; what is left goes on from there. */
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
