import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import { Problem } from '../base/errors/problem.ts';
import { decompressZstd, loadZstd, ZstdSizeError } from '../base/bytes/zstd.ts';

export const contentEncodings = ['identity', 'gzip', 'deflate', 'br', 'zstd'] as const;
export type ContentEncoding = (typeof contentEncodings)[number];

/**
 * The body after its Content-Encoding; runs in a worker, so it may block. Rejects with a Problem: 413 when more than
 * `bytesMax` comes out, 400 when the data is malformed or cut short, or has bytes behind its end.
 */
export async function decompressBody(
  body: Uint8Array,
  encoding: ContentEncoding,
  bytesMax: number,
): Promise<Uint8Array> {
  if (encoding === 'identity') {
    if (body.length > bytesMax) throw tooLarge(bytesMax);
    return body;
  }
  if (encoding === 'zstd') await loadZstd();
  try {
    return decompressors[encoding](body, bytesMax);
  } catch (error) {
    if (error instanceof Problem) throw error;
    if (error instanceof ZstdSizeError || codeOf(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(bytesMax);
    throw new Problem('malformed', `The body is not valid ${encoding} data.`, { cause: error });
  }
}

/** Makes zlib return how much of its input it has read; the types have it for gzip and deflate only. */
const withInfo = { info: true };

const decompressors: Record<
  Exclude<ContentEncoding, 'identity'>,
  (body: Uint8Array, maxOutputLength: number) => Uint8Array
> = {
  gzip: (body, maxOutputLength) => wholly(body, 'gzip', gunzipSync(body, { maxOutputLength, ...withInfo })),
  br: (body, maxOutputLength) =>
    wholly(body, 'br', brotliDecompressSync(body, { maxOutputLength, ...withInfo })),
  zstd: decompressZstd,
  deflate(body, maxOutputLength) {
    // The name means the zlib format, but many clients send the bare stream inside it; its first byte tells.
    const zlibHeader = body.length > 1 && ((body[0] as number) & 15) === 8;
    const checked = zlibHeader && ((body[0] as number) * 256 + (body[1] as number)) % 31 === 0;
    const inflate = checked ? inflateSync : inflateRawSync;
    return wholly(body, 'deflate', inflate(body, { maxOutputLength, ...withInfo }));
  },
};

/**
 * The output of a decompression that has read the whole body: zlib ignores bytes after a stream of deflate or br, and
 * after a zero byte between members of gzip. Throws a Problem if there are any.
 */
function wholly(body: Uint8Array, encoding: ContentEncoding, result: unknown): Uint8Array {
  const { buffer, engine } = result as { buffer: Buffer; engine: { bytesWritten: number } };
  const left = body.length - engine.bytesWritten;
  if (left > 0)
    throw new Problem('malformed', `The body has ${left} bytes after the end of its ${encoding} data.`);
  return buffer;
}

function tooLarge(bytesMax: number): Problem {
  return new Problem('too_large', `The body is larger than ${bytesMax} bytes after decompression.`);
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
