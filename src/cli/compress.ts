import { Transform, type TransformCallback } from 'node:stream';
import { createGzip } from 'node:zlib';
import { limits } from './limits.ts';

export type FileCompression = 'none' | 'gzip' | 'zstd';

/** What the end of a file's name asks for. */
export function compressionOfName(name: string): FileCompression {
  if (name.endsWith('.gz')) return 'gzip';
  return name.endsWith('.zst') ? 'zstd' : 'none';
}

/** Frames of a few megabytes, one after the other: what every reader of the format takes for one file. */
async function createZstdFrames(): Promise<Transform> {
  // Loaded when it is needed: compiling it takes a moment.
  const { Zstd } = await import('@hpcc-js/wasm-zstd');
  const zstd = await Zstd.load();
  let held: Buffer[] = [];
  let heldBytes = 0;
  const frame = (): Buffer => {
    // A view of the module's own memory is given, which its next call overwrites.
    const bytes = Buffer.from(zstd.compress(Buffer.concat(held, heldBytes)));
    held = [];
    heldBytes = 0;
    return bytes;
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      held.push(chunk);
      heldBytes += chunk.length;
      if (heldBytes < limits.zstdFrameBytes) done();
      else done(null, frame());
    },
    flush(done: TransformCallback) {
      if (heldBytes > 0) done(null, frame());
      else done();
    },
  });
}

/** A stream that compresses, to be used for one part of a file; parts one after the other make a whole file. */
export async function createFileCompressor(compression: FileCompression): Promise<Transform | undefined> {
  switch (compression) {
    case 'none':
      return undefined;
    case 'gzip':
      return createGzip({ level: 6, chunkSize: 64 * 1024 });
    case 'zstd':
      return createZstdFrames();
    default:
      return compression satisfies never;
  }
}
