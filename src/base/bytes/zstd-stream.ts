import { loadZstd, ZstdBlocks, zstdBlockBytesMax, ZstdFormatError } from './zstd.ts';

const frameMagic = 0xfd2fb528;
const skippableMagic = 0x184d2a50;
const runBlock = 1;
const compressedBlock = 2;
const checksumBytes = 4;
const tinyFrame = Buffer.from('28b52ffd200109000078', 'hex');

const isSkippable = (magic: number): boolean => (magic & 0xfffffff0) >>> 0 === skippableMagic;

/** Whether these four bytes begin zstd data or a skippable frame. */
export function isZstd(start: Buffer): boolean {
  const magic = start.readUInt32LE(0);
  return magic === frameMagic || isSkippable(magic);
}

/**
 * Decompresses any number of frames, 128 KiB at a time. Throws a ZstdFormatError if data are malformed,
 * truncated or fail a checksum. It passes single blocks, because the library reports neither its input
 * position nor errors (only empty output).
 */
export async function* decompressZstdStream(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  await loadZstd();
  const input = new ChunkReader(chunks);
  const blocks = new ZstdBlocks();
  try {
    while (!(await input.isAtEnd())) {
      const magic = await input.take(4);
      if (magic.readUInt32LE() === frameMagic) yield* readFrame(magic, input, blocks);
      else if (isSkippable(magic.readUInt32LE())) await skip(input, (await input.take(4)).readUInt32LE());
      else throw malformed('not a frame');
    }
  } finally {
    blocks.free();
  }
}

async function* readFrame(
  magic: Buffer,
  input: ChunkReader,
  blocks: ZstdBlocks,
): AsyncGenerator<Buffer, void, undefined> {
  blocks.reset();
  const flags = await input.take(1);
  let before = Buffer.concat([magic, flags, await input.take(headerBytes(flags.readUInt8()))]);
  for (let isLast = false; !isLast; before = Buffer.alloc(0)) {
    const head = await input.take(3);
    const facts = head.readUIntLE(0, 3);
    isLast = (facts & 1) === 1;
    const type = (facts >> 1) & 3;
    const size = facts >> 3;
    if (size > zstdBlockBytesMax) throw malformed('a block is too large');
    const block = await input.take(type === runBlock ? 1 : size);
    const content = blocks.decode(Buffer.concat([before, head, block]));
    // No program writes an empty compressed block; other blocks have their size.
    const isGood = type === compressedBlock ? content.length > 0 : content.length === size;
    if (!isGood) throw malformed('a block or the header of its frame is damaged');
    if (content.length > 0) yield content;
  }
  if ((flags.readUInt8() & 4) === 0) return;
  blocks.decode(await input.take(checksumBytes));
  // After a wrong checksum the library refuses any further block.
  if (blocks.decode(tinyFrame).length !== 1) throw malformed('a checksum does not match');
}

function headerBytes(flags: number): number {
  const hasWindow = (flags & 32) === 0;
  const dictionaryBytes = [0, 1, 2, 4][flags & 3] as number;
  const sizeBytes = [hasWindow ? 0 : 1, 2, 4, 8][flags >> 6] as number;
  return (hasWindow ? 1 : 0) + dictionaryBytes + sizeBytes;
}

async function skip(input: ChunkReader, bytes: number): Promise<void> {
  for (let left = bytes; left > 0; ) left -= (await input.take(Math.min(left, zstdBlockBytesMax))).length;
}

function malformed(what: string): ZstdFormatError {
  return new ZstdFormatError(`the zstd data is malformed: ${what}`);
}

class ChunkReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async isAtEnd(): Promise<boolean> {
    return !(await this.#has(1));
  }

  async take(bytes: number): Promise<Buffer> {
    if (!(await this.#has(bytes))) throw new ZstdFormatError('the zstd data is truncated');
    const bytesRead = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    return bytesRead;
  }

  async #has(bytes: number): Promise<boolean> {
    while (this.#rest.length < bytes) {
      const next = await this.#chunks.next();
      if (next.done === true) return false;
      this.#rest = this.#rest.length === 0 ? next.value : Buffer.concat([this.#rest, next.value]);
    }
    return true;
  }
}
