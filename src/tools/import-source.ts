import { createReadStream, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { Problem } from '../base/errors/problem.ts';
import { fileErrorWords } from '../base/errors/system-error.ts';
import { decompressZstdStream, isZstd } from '../base/bytes/zstd-stream.ts';

type SourceCompression = 'none' | 'gzip' | 'zstd' | 'br';

export interface ImportSource {
  /** Undefined: standard input, read once from its beginning. */
  readonly path: string | undefined;
  readonly compression: SourceCompression;
  /** Undefined if unknown. */
  readonly fileBytes: number | undefined;
  fileBytesRead(): number;
  /** The decompressed text from this byte; for standard input from 0 only. */
  text(offset: number): AsyncIterable<Buffer>;
}

function detectCompression(start: Buffer, path: string | undefined): SourceCompression {
  if (start.length >= 2 && start.readUInt16BE(0) === 0x1f8b) return 'gzip';
  if (start.length >= 4 && isZstd(start)) return 'zstd';
  // Brotli has no magic number.
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

/** Throws Problem `malformed` unless the path is a readable file. */
async function lookAt(path: string): Promise<{ readonly facts: Stats; readonly start: Buffer }> {
  try {
    const facts = await stat(path);
    if (facts.isDirectory()) throw new Problem('malformed', `cannot read ${path}: it is a directory`);
    let start: Buffer = Buffer.alloc(0);
    // Bytes read from a pipe or terminal cannot be read again.
    if (!facts.isFile()) return { facts, start };
    for await (const bytes of createReadStream(path, { end: 3 })) start = bytes as Buffer;
    return { facts, start };
  } catch (error) {
    const words = fileErrorWords(error);
    throw words === undefined ? error : new Problem('malformed', words);
  }
}

/** The first bytes determine the compression. A pipe counts as standard input. */
export async function openFileSource(path: string): Promise<ImportSource> {
  const { facts, start } = await lookAt(path);
  if (!facts.isFile()) return openInputSource(opened(path));
  const compression = detectCompression(start, path);
  let read = 0;
  return {
    path,
    compression,
    fileBytes: facts.size,
    fileBytesRead: () => read,
    text(offset) {
      const isPlain = compression === 'none';
      read = isPlain ? offset : 0;
      const raw = createReadStream(path, { highWaterMark: 256 * 1024, start: read });
      const counted = counting(raw, (bytes) => {
        read += bytes;
      });
      return isPlain ? counted : skipping(decompressed(counted, compression), offset);
    },
  };
}

/** Opens lazily: a pipe waits for its writer, and an unhandled error would end the process. */
async function* opened(path: string): AsyncGenerator<Buffer, void, undefined> {
  yield* createReadStream(path) as AsyncIterable<Buffer>;
}

/** Likewise, standard input. */
export function openInputSource(input: AsyncIterable<Buffer | string>): ImportSource {
  let read = 0;
  const chunks = counting(input, (bytes) => {
    read += bytes;
  });
  return {
    path: undefined,
    compression: 'none',
    fileBytes: undefined,
    fileBytesRead: () => read,
    async *text() {
      let start = Buffer.alloc(0);
      // The first bytes may arrive one by one.
      while (start.length < 4) {
        const next = await chunks.next();
        if (next.done === true) break;
        start = Buffer.concat([start, next.value]);
      }
      const whole = async function* () {
        yield start;
        yield* chunks;
      };
      yield* decompressed(whole(), detectCompression(start, undefined));
    },
  };
}

export async function peek(
  text: AsyncIterable<Buffer>,
  bytesMax: number,
): Promise<{ readonly head: Buffer; readonly whole: AsyncGenerator<Buffer, void, undefined> }> {
  const pieces = text[Symbol.asyncIterator]();
  const read: Buffer[] = [];
  for (let bytes = 0; bytes < bytesMax; ) {
    const next = await pieces.next();
    if (next.done === true) break;
    read.push(next.value);
    bytes += next.value.length;
  }
  const head = Buffer.concat(read);
  async function* all(): AsyncGenerator<Buffer, void, undefined> {
    try {
      yield head;
      for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) yield next.value;
    } finally {
      await pieces.return?.();
    }
  }
  return { head, whole: all() };
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

function decompressed(chunks: AsyncIterable<Buffer>, compression: SourceCompression): AsyncIterable<Buffer> {
  if (compression === 'none') return chunks;
  return compression === 'zstd' ? decompressZstdStream(chunks) : decompressedByZlib(chunks, compression);
}

/** Throws a Problem for bytes that zlib would ignore: after a br stream, or after a zero byte in gzip. */
async function* decompressedByZlib(
  chunks: AsyncIterable<Buffer>,
  compression: 'gzip' | 'br',
): AsyncGenerator<Buffer, void, undefined> {
  const create = compression === 'gzip' ? createGunzip : createBrotliDecompress;
  const decompressor = create({ chunkSize: 256 * 1024 });
  let given = 0;
  const counted = counting(chunks, (bytes) => {
    given += bytes;
  });
  // A failure destroys the decompressor, so its reader gets the error.
  pipeline(counted, decompressor, () => undefined);
  yield* decompressor as AsyncIterable<Buffer>;
  if (decompressor.bytesWritten < given)
    throw new Problem('malformed', `the file has extra bytes after its ${compression} data`);
}
