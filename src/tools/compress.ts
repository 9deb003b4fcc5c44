import type { Transform } from 'node:stream';
import { createGzip } from 'node:zlib';
import { ZstdCompressor } from '../base/bytes/zstd-compressor.ts';

export type FileCompression = 'none' | 'gzip' | 'zstd';

const zstdLevel = 3;

export function compressionOfName(name: string): FileCompression {
  if (name.endsWith('.gz')) return 'gzip';
  return name.endsWith('.zst') ? 'zstd' : 'none';
}

/** The concatenated parts are a valid file. */
export function createFileCompressor(compression: FileCompression): Transform | undefined {
  switch (compression) {
    case 'none':
      return undefined;
    case 'gzip':
      return createGzip({ level: 6, chunkSize: 64 * 1024 });
    case 'zstd':
      return new ZstdCompressor(zstdLevel);
    default:
      return compression satisfies never;
  }
}
