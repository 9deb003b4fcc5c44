import { limits } from './limits.ts';

/**
 * Large buffers that are used again. Each new one costs page faults and, as memory that the collector only counts,
 * full collections; at a few hundred batches a second those cost more than the batches themselves.
 */
export interface BufferPool {
  /** A buffer of at least `bytes`, its content undefined; it belongs to the caller and may be transferred. */
  take(bytes: number): ArrayBuffer;
  /** Takes a buffer back that nobody uses any more. One of another size, or too many, is left to the collector. */
  give(buffer: ArrayBuffer): void;
}

const smallestBytes = 64 * 1024;
const largestBytes = 16 * 1024 * 1024;

/** Keeps at most `bytesMax` of unused buffers, in sizes that are powers of two. */
export function createBufferPool(bytesMax: number): BufferPool {
  const unused = new Map<number, ArrayBuffer[]>();
  let unusedBytes = 0;
  return {
    take(bytes) {
      if (bytes > largestBytes) return Buffer.allocUnsafeSlow(bytes).buffer;
      const size = Math.max(smallestBytes, 2 ** Math.ceil(Math.log2(bytes)));
      const buffer = unused.get(size)?.pop();
      if (buffer === undefined) return Buffer.allocUnsafeSlow(size).buffer;
      unusedBytes -= size;
      return buffer;
    },
    give(buffer) {
      const size = buffer.byteLength;
      const fits = size >= smallestBytes && size <= largestBytes && Number.isInteger(Math.log2(size));
      if (!fits || unusedBytes + size > bytesMax) return;
      unusedBytes += size;
      const same = unused.get(size);
      if (same === undefined) unused.set(size, [buffer]);
      else same.push(buffer);
    },
  };
}

/** The buffers of this thread. */
export const buffers = createBufferPool(limits.bufferPoolBytesMax);
