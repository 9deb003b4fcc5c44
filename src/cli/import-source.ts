import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { limits } from './limits.ts';
import { decompressZstdStream, isZstd } from './zstd-stream.ts';

type SourceCompression = 'none' | 'gzip' | 'zstd' | 'br';

/** NDJSON of source events, from a file or from standard input. */
export interface ImportSource {
  /** Undefined: standard input, which can be read once and from its beginning only. */
  readonly path: string | undefined;
  readonly compression: SourceCompression;
  /** Bytes of the file as it is; undefined where that cannot be known. */
  readonly fileBytes: number | undefined;
  /** How many bytes of the file have been read so far. */
  fileBytesRead(): number;
  /** The text from a byte of it on; of standard input, once and from 0. */
  text(offset: number): AsyncIterable<Buffer>;
}

function compressionOf(start: Buffer, path: string | undefined): SourceCompression {
  if (start.length >= 2 && start.readUInt16BE(0) === 0x1f8b) return 'gzip';
  if (start.length >= 4 && isZstd(start)) return 'zstd';
  // Brotli has no mark of its own.
  return path?.endsWith('.br') === true ? 'br' : 'none';
}

async function* skipping(
  text: AsyncIterable<Buffer>,
  bytes: number,
): AsyncGenerator<Buffer, void, undefined> {
  let left = bytes;
  for await (const chunk of text) {
    if (left >= chunk.length) left -= chunk.length;
    else {
      yield left === 0 ? chunk : chunk.subarray(left);
      left = 0;
    }
  }
}

/** A file, compressed or not as its first bytes tell. Rejects when it cannot be read. */
export async function openFileSource(path: string): Promise<ImportSource> {
  const file = await open(path, 'r');
  let start: Buffer;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    start = buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
  const facts = await stat(path);
  const compression = compressionOf(start, path);
  let read = 0;
  return {
    path,
    compression,
    fileBytes: facts.isFile() ? facts.size : undefined,
    fileBytesRead: () => read,
    text(offset) {
      const isPlain = compression === 'none';
      read = isPlain ? offset : 0;
      const raw = createReadStream(path, { highWaterMark: 256 * 1024, start: isPlain ? offset : 0 });
      const counted = counting(raw, (bytes) => {
        read += bytes;
      });
      return isPlain ? counted : skipping(decompressed(counted, compression), offset);
    },
  };
}

/** Standard input, likewise. */
export function openInputSource(input: Readable | NodeJS.ReadableStream): ImportSource {
  let read = 0;
  const source: ImportSource = {
    path: undefined,
    compression: 'none',
    fileBytes: undefined,
    fileBytesRead: () => read,
    async *text() {
      const chunks = counting(input as AsyncIterable<Buffer | string>, (bytes) => {
        read += bytes;
      });
      let start = Buffer.alloc(0);
      // The first bytes may come one by one.
      while (start.length < 4) {
        const next = await chunks.next();
        if (next.done === true) break;
        start = Buffer.concat([start, next.value]);
      }
      const whole = async function* () {
        yield start;
        yield* chunks;
      };
      const compression = compressionOf(start, undefined);
      yield* compression === 'none' ? whole() : decompressed(whole(), compression);
    },
  };
  return source;
}

async function* counting(
  chunks: AsyncIterable<Buffer | string>,
  passing: (bytes: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of chunks) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    passing(bytes.length);
    yield bytes;
  }
}

function decompressed(
  chunks: AsyncIterable<Buffer>,
  compression: Exclude<SourceCompression, 'none'>,
): AsyncIterable<Buffer> {
  if (compression === 'zstd') return decompressZstdStream(chunks);
  const create = compression === 'gzip' ? createGunzip : createBrotliDecompress;
  const decompressor = create({ chunkSize: 256 * 1024 });
  // Whoever reads the decompressor hears of every failure from it.
  pipeline(chunks, decompressor, () => undefined);
  return decompressor;
}

/** What a text begins with tells it from another: the SHA-256 of at most so many bytes of it. */
export async function headOf(
  source: ImportSource,
  bytesMax: number,
): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of source.text(0)) {
    const part = chunk.subarray(0, bytesMax - bytes);
    hash.update(part);
    bytes += part.length;
    if (bytes >= bytesMax) break;
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** Whole lines of a text that are sent together. Where it ends depends on the text alone, not on how it was read. */
export interface ImportChunk {
  /** First byte in the text, and the one after the last. */
  readonly offset: number;
  readonly end: number;
  /** Number of the line after its last one; the first line of a text is 1. */
  readonly nextLine: number;
  /** Its lines that are not blank, and their numbers. */
  readonly lines: readonly Buffer[];
  readonly numbers: readonly number[];
  /** Lines that are too long to be an event. */
  readonly tooLong: readonly number[];
}

const newline = 0x0a;

/** Spaces, tabs and carriage returns alone; such a line is no event. */
function isBlank(line: Buffer): boolean {
  for (const byte of line) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  return true;
}

function withoutMark(line: Buffer): Buffer {
  return line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;
}

/** Divides a text, which begins at `offset` with line `firstLine`, into chunks; holds one chunk and one line. */
export async function* chunksOf(
  text: AsyncIterable<Buffer>,
  { offset, firstLine }: { readonly offset: number; readonly firstLine: number },
): AsyncGenerator<ImportChunk, void, undefined> {
  let chunk = emptyChunk(offset, firstLine);
  let held: Buffer[] = [];
  let heldBytes = 0;

  const endLine = (last: Buffer, withNewline: number): void => {
    const lineBytes = heldBytes + last.length;
    if (heldBytes > limits.importLineBytesMax) chunk.tooLong.push(chunk.nextLine);
    else {
      const whole = held.length === 0 ? last : Buffer.concat([...held, last]);
      const line = chunk.end === 0 ? withoutMark(whole) : whole;
      if (line.length > limits.importLineBytesMax) chunk.tooLong.push(chunk.nextLine);
      else if (!isBlank(line)) {
        chunk.lines.push(line);
        chunk.numbers.push(chunk.nextLine);
      }
    }
    chunk.end += lineBytes + withNewline;
    chunk.nextLine += 1;
    held = [];
    heldBytes = 0;
  };

  for await (const piece of text) {
    let at = 0;
    for (let stop = piece.indexOf(newline); stop >= 0; stop = piece.indexOf(newline, at)) {
      endLine(piece.subarray(at, stop), 1);
      at = stop + 1;
      const isFull =
        chunk.end - chunk.offset >= limits.importChunkBytes ||
        chunk.lines.length >= limits.importChunkLinesMax;
      if (!isFull) continue;
      yield chunk;
      chunk = emptyChunk(chunk.end, chunk.nextLine);
    }
    // Of a line that is too long already only the length is kept.
    if (heldBytes > limits.importLineBytesMax) held = [];
    else if (at < piece.length) held.push(piece.subarray(at));
    heldBytes += piece.length - at;
  }
  if (heldBytes > 0) endLine(Buffer.alloc(0), 0);
  if (chunk.end > chunk.offset) yield chunk;
}

function emptyChunk(offset: number, nextLine: number) {
  const lines: Buffer[] = [];
  const numbers: number[] = [];
  const tooLong: number[] = [];
  return { offset, end: offset, nextLine, lines, numbers, tooLong };
}
