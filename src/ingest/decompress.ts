import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import { Problem } from '../base/errors/problem.ts';
import { decompressZstd, loadZstd, ZstdSizeError } from '../base/bytes/zstd.ts';

export const contentEncodings = ['identity', 'gzip', 'deflate', 'br', 'zstd'] as const;
export type ContentEncoding = (typeof contentEncodings)[number];

/**
 * Decodes the Content-Encoding of a body; blocks, so it runs in a worker. Rejects with a Problem: 413 beyond
 * `bytesMax`, 400 if the data is malformed, cut short, or followed by other bytes.
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
    // `deflate` means the zlib format, but many clients send the bare stream; the header tells them apart.
    const zlibHeader = body.length > 1 && ((body[0] as number) & 15) === 8;
    const checked = zlibHeader && ((body[0] as number) * 256 + (body[1] as number)) % 31 === 0;
    const inflate = checked ? inflateSync : inflateRawSync;
    return wholly(body, 'deflate', inflate(body, { maxOutputLength, ...withInfo }));
  },
};

/**
 * zlib ignores bytes after a deflate or br stream, and after a zero byte between gzip members. Throws a
 * Problem if there are any.
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
