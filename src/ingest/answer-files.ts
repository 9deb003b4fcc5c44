import { crc32c } from '@node-rs/crc32';
import { ifThere } from '../base/errors/system-error.ts';
import { recordBytes } from './answer-records.ts';
import type { LogFiles } from './files.ts';
import { limits } from './limits.ts';

/** What is read of a file at a time; small answers are gathered to blocks of this size. */
const idempotencyBlockBytesMax = 1024 * 1024;

/**
 * What a file of remembered answers consists of:
 *
 *     block   header(12) content
 *     header  "ANSW" of records, "ERRS" of errors (answer-records.ts) | u32 content bytes | u32 CRC-32C of these 8 bytes and the content
 *
 * What no whole block follows ends the file: a crash cut it short, and its segment is still in the log.
 */
export interface Block {
  readonly kind: BlockKind;
  readonly content: Buffer;
}

export type BlockKind = 'answers' | 'errors';
const marks = { answers: 'ANSW', errors: 'ERRS' } as const;
const headerBytes = 12;

function crcOf(block: Buffer, end: number): number {
  return crc32c(block.subarray(headerBytes, end), crc32c(block.subarray(0, 8)));
}

/** Blocks of parts that belong together each, with as many in one as fit, and a large one alone. */
export function encodeBlocks(kind: BlockKind, parts: readonly Uint8Array[]): Buffer[] {
  const blocks: Buffer[] = [];
  let group: Uint8Array[] = [];
  let bytes = 0;
  const end = (): void => {
    if (bytes > 0) blocks.push(blockOf(kind, group, bytes));
    [group, bytes] = [[], 0];
  };
  for (const part of parts) {
    if (part.length > limits.idempotencyPartBytesMax) throw new Error(`a part of ${part.length} bytes`);
    if (bytes + part.length > idempotencyBlockBytesMax) end();
    group.push(part);
    bytes += part.length;
  }
  end();
  return blocks;
}

function blockOf(kind: BlockKind, parts: readonly Uint8Array[], bytes: number): Buffer {
  const block = Buffer.concat([Buffer.alloc(headerBytes), ...parts], headerBytes + bytes);
  block.write(marks[kind], 0, 'latin1');
  block.writeUInt32LE(bytes, 4);
  block.writeUInt32LE(crcOf(block, block.length), 8);
  return block;
}

/** The block at an offset: `undefined` where there is less than a whole one, `damaged` where it never will be one. */
function blockAt(bytes: Buffer, offset: number): Block | 'damaged' | undefined {
  if (bytes.length - offset < headerBytes) return undefined;
  const mark = bytes.toString('latin1', offset, offset + 4);
  const kind = mark === marks.answers ? 'answers' : mark === marks.errors ? 'errors' : undefined;
  const length = bytes.readUInt32LE(offset + 4);
  if (kind === undefined || length > limits.idempotencyPartBytesMax) return 'damaged';
  if (kind === 'answers' && length % recordBytes > 0) return 'damaged';
  const end = headerBytes + length;
  if (bytes.length - offset < end) return undefined;
  const block = bytes.subarray(offset, offset + end);
  if (crcOf(block, end) !== block.readUInt32LE(8)) return 'damaged';
  return { kind, content: block.subarray(headerBytes) };
}

/** What of a file is no block: something before its last block, or what comes after that. */
export type Rest = 'damage' | 'end';

/**
 * The blocks that bytes begin with, as many at once as are in a piece of them; with a kind, also those of it that come
 * behind damage. `rest` is told what was not read.
 */
export async function* blocksOf(
  pieces: AsyncIterable<Uint8Array>,
  rest: (what: Rest) => void,
  kind?: BlockKind,
): AsyncGenerator<Block[]> {
  let held: Buffer = Buffer.alloc(0);
  let what: Rest | undefined;
  const take = (bytes: Buffer, isAll: boolean): Block[] => {
    const blocks: Block[] = [];
    let offset = 0;
    while (offset < bytes.length) {
      const block = blockAt(bytes, offset);
      if (block === undefined && !isAll) break;
      if (block === undefined || block === 'damaged') {
        what ??= 'end';
        offset = nextMark(bytes, offset + 1, kind);
      } else {
        if (what === 'end') what = 'damage';
        blocks.push(block);
        offset += headerBytes + block.content.length;
      }
    }
    held = bytes.subarray(offset);
    return blocks;
  };
  for await (const piece of pieces) {
    const blocks = take(Buffer.concat([held, piece]), false);
    if (blocks.length > 0) yield blocks;
    if (what !== undefined && kind === undefined) break;
  }
  const last = take(held, true);
  if (last.length > 0) yield last;
  if (what !== undefined) rest(what);
}

/** Where the next block of a kind may begin. */
function nextMark(bytes: Buffer, from: number, kind: BlockKind | undefined): number {
  if (kind === undefined) return bytes.length;
  const found = bytes.indexOf(marks[kind], from, 'latin1');
  return found >= 0 ? found : Math.max(from, bytes.length - marks[kind].length + 1);
}

/** A file. Those of an hour are numbered; each is written by one process, from its beginning to its first failure. */
interface AnswerFile {
  readonly name: string;
  readonly hour: number;
  readonly part: number;
}

type Folder = Pick<LogFiles, 'list' | 'openReader'>;

/** The files of a kind in a folder, oldest first. */
async function filesIn(folder: Folder, kind: BlockKind): Promise<AnswerFile[]> {
  const found = (await folder.list()).flatMap((name) => {
    const [, hour, part, ending] = /^(\d+)\.(\d+)\.(\w+)$/.exec(name) ?? [];
    return ending === kind ? [{ name, hour: Number(hour), part: Number(part) }] : [];
  });
  return found.toSorted((one, other) => one.hour - other.hour || one.part - other.part);
}

async function* piecesOf(folder: Folder, name: string): AsyncGenerator<Uint8Array> {
  const reader = await ifThere(folder.openReader(name));
  if (reader === undefined) return;
  try {
    const piece = Buffer.alloc(idempotencyBlockBytesMax);
    for (let at = 0, length = piece.length; length === piece.length; at += length) {
      length = await reader.read(piece, at);
      yield piece.subarray(0, length);
    }
  } finally {
    await reader.close();
  }
}

/**
 * The blocks of a kind in a folder, oldest first, of whose files a server may write and remove some meanwhile; `rest` is
 * told of those that have something else.
 */
export async function* answerBlocks(
  folder: Folder,
  kind: BlockKind,
  rest: (name: string, what: Rest) => void,
): AsyncGenerator<Block[]> {
  for (const { name } of await filesIn(folder, kind))
    yield* blocksOf(piecesOf(folder, name), (what) => rest(name, what), kind);
}

/** A file, and how many bytes are in it. */
interface SizedFile extends AnswerFile {
  bytes: number;
}

/**
 * The files that remembered answers, or their errors, are kept in over restarts. Bounded: past `bytesMax` bytes the oldest
 * go first, as they do in memory. Nothing is ever written behind what may be torn: a new run, and a write after one that
 * failed, begin a file.
 */
export class AnswerFiles {
  readonly #files: LogFiles;
  readonly #kind: BlockKind;
  readonly #bytesMax: number;
  /** Oldest first. */
  readonly #list: SizedFile[] = [];
  /** The last of the list, where its end is known. */
  #open: SizedFile | undefined;

  private constructor(files: LogFiles, kind: BlockKind, bytesMax: number) {
    this.#files = files;
    this.#kind = kind;
    this.#bytesMax = bytesMax;
  }

  static async open(files: LogFiles, kind: BlockKind, bytesMax: number): Promise<AnswerFiles> {
    const opened = new AnswerFiles(files, kind, bytesMax);
    for (const file of await filesIn(files, kind)) {
      const reader = await files.openReader(file.name);
      try {
        opened.#list.push({ ...file, bytes: await reader.size() });
      } finally {
        await reader.close();
      }
    }
    return opened;
  }

  /** Adds blocks to the file of an hour, durably. */
  async append(hour: number, blocks: readonly Buffer[]): Promise<void> {
    if (blocks.length === 0) return;
    const target = this.#open;
    const isFit =
      target !== undefined && target.hour >= hour && target.bytes < limits.idempotencyFileBytesMax;
    const file = isFit ? await ifThere(this.#files.open(target.name)) : undefined;
    this.#open = undefined;
    const written = file === undefined ? this.#next(hour) : (target as SizedFile);
    const output = file ?? (await this.#create(written));
    // Before it is written: a write that failed may have left some of it.
    written.bytes += blocks.reduce((sum, { length }) => sum + length, 0);
    try {
      await output.append(blocks);
    } finally {
      await output.close();
    }
    if (file === undefined) await this.#files.syncDirectory();
    this.#open = written;
    await this.#removeWhile((oldest) => oldest !== written && this.#bytes() > this.#bytesMax);
  }

  /** Removes the files of hours before this one. */
  removeBefore(hour: number): Promise<void> {
    return this.#removeWhile((oldest) => oldest.hour < hour);
  }

  #next(hour: number): SizedFile {
    const last = this.#list.at(-1);
    const at = last !== undefined && last.hour >= hour ? last : { hour, part: -1 };
    const part = at.part + 1;
    return { name: `${at.hour}.${part}.${this.#kind}`, hour: at.hour, part, bytes: 0 };
  }

  async #create(file: SizedFile): Promise<Awaited<ReturnType<LogFiles['create']>>> {
    // Listed first: a creation that failed may have left its name, which must not be taken again.
    this.#list.push(file);
    return this.#files.create(file.name);
  }

  async #removeWhile(isOver: (oldest: SizedFile) => boolean): Promise<void> {
    for (let [oldest] = this.#list; oldest !== undefined && isOver(oldest); [oldest] = this.#list) {
      await ifThere(this.#files.remove(oldest.name));
      if (this.#open === oldest) this.#open = undefined;
      this.#list.shift();
    }
  }

  #bytes(): number {
    return this.#list.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
