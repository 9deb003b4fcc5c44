import { crc32c } from '@node-rs/crc32';
import { ifThere } from '../base/errors/system-error.ts';
import { recordBytes } from './answer-records.ts';
import type { LogFiles } from './files.ts';
import { limits } from './limits.ts';

const idempotencyBlockBytesMax = 1024 * 1024;

/**
 * A file of remembered answers:
 *
 *     block   header(12) content
 *     header  "ANSW" (records) or "ERRS" (errors, answer-records.ts) | u32 content bytes
 *             | u32 CRC-32C of these 8 bytes and the content
 *
 * A torn end is expected: its segment is still in the log.
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

/** Packs whole parts into blocks; a large part gets a block alone. */
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

/** `undefined` if the bytes end too early, `damaged` if no block can begin here. */
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

/** Bytes that are no block: before the last intact block, or after it. */
export type Rest = 'damage' | 'end';

/**
 * The blocks in `pieces`, as many at once as a piece has. With `kind`, also those of that kind behind damage.
 * Calls `rest` if bytes were skipped.
 */
export async function* blocksOf(
  pieces: AsyncIterable<Uint8Array>,
  rest: (skipped: Rest) => void,
  kind?: BlockKind,
): AsyncGenerator<Block[]> {
  let pending: Buffer = Buffer.alloc(0);
  let skipped: Rest | undefined;
  const take = (bytes: Buffer, isAll: boolean): Block[] => {
    const blocks: Block[] = [];
    let offset = 0;
    while (offset < bytes.length) {
      const block = blockAt(bytes, offset);
      if (block === undefined && !isAll) break;
      if (block === undefined || block === 'damaged') {
        skipped ??= 'end';
        offset = nextMark(bytes, offset + 1, kind);
      } else {
        if (skipped === 'end') skipped = 'damage';
        blocks.push(block);
        offset += headerBytes + block.content.length;
      }
    }
    pending = bytes.subarray(offset);
    return blocks;
  };
  for await (const piece of pieces) {
    const blocks = take(Buffer.concat([pending, piece]), false);
    if (blocks.length > 0) yield blocks;
    if (skipped !== undefined && kind === undefined) break;
  }
  const last = take(pending, true);
  if (last.length > 0) yield last;
  if (skipped !== undefined) rest(skipped);
}

function nextMark(bytes: Buffer, from: number, kind: BlockKind | undefined): number {
  if (kind === undefined) return bytes.length;
  const found = bytes.indexOf(marks[kind], from, 'latin1');
  return found >= 0 ? found : Math.max(from, bytes.length - marks[kind].length + 1);
}

/** Files of an hour are numbered; each is written by one process, from its beginning to its first failure. */
interface AnswerFile {
  readonly name: string;
  readonly hour: number;
  readonly part: number;
}

type Folder = Pick<LogFiles, 'list' | 'openReader'>;

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

export async function* answerBlocks(
  folder: Folder,
  kind: BlockKind,
  rest: (name: string, skipped: Rest) => void,
): AsyncGenerator<Block[]> {
  for (const { name } of await filesIn(folder, kind))
    yield* blocksOf(piecesOf(folder, name), (skipped) => rest(name, skipped), kind);
}

interface SizedFile extends AnswerFile {
  bytes: number;
}

/**
 * Keeps remembered answers, or their errors, over restarts. Past `bytesMax` bytes the oldest files go. Each
 * run, and each write after a failure, begins a file, so nothing is written behind a torn end.
 */
export class AnswerFiles {
  readonly #files: LogFiles;
  readonly #kind: BlockKind;
  readonly #bytesMax: number;
  readonly #list: SizedFile[] = [];
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

  async append(hour: number, blocks: readonly Buffer[]): Promise<void> {
    if (blocks.length === 0) return;
    const target = this.#open;
    const isFit =
      target !== undefined && target.hour >= hour && target.bytes < limits.idempotencyFileBytesMax;
    const file = isFit ? await ifThere(this.#files.open(target.name)) : undefined;
    this.#open = undefined;
    const written = file === undefined ? this.#next(hour) : (target as SizedFile);
    const output = file ?? (await this.#create(written));
    // Counted first: a failed write may leave some bytes.
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
    // Listed first: a failed creation may leave the name behind, so it cannot be reused.
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
