import { limits } from './limits.ts';

const smallestBytes = 64 * 1024;
const largestBytes = 16 * 1024 * 1024;

/**
 * Large buffers that are used again, in sizes that are powers of two. Each new one costs page faults and, as memory that
 * the collector only counts, full collections; at a few hundred batches a second those cost more than the batches.
 */
export class BufferPool {
  readonly #bytesMax: number;
  readonly #unused = new Map<number, ArrayBuffer[]>();
  #unusedBytes = 0;

  /** Keeps at most `bytesMax` of unused buffers. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  unusedBytes(): number {
    return this.#unusedBytes;
  }

  /** A buffer of at least `bytes`, its content undefined; it belongs to the caller and may be transferred. */
  take(bytes: number): ArrayBuffer {
    if (bytes > largestBytes) return Buffer.allocUnsafeSlow(bytes).buffer;
    const size = Math.max(smallestBytes, 2 ** Math.ceil(Math.log2(bytes)));
    // A task may outgrow its buffer and come back with a larger one: that serves the next such task.
    for (const spare of [size, size * 2, size * 4]) {
      const buffer = this.#unused.get(spare)?.pop();
      if (buffer === undefined) continue;
      this.#unusedBytes -= spare;
      return buffer;
    }
    return Buffer.allocUnsafeSlow(size).buffer;
  }

  /** Takes a buffer back that is not used any more. One of another size, or too many, is left to the collector. */
  give(buffer: ArrayBuffer): void {
    const size = buffer.byteLength;
    const fits = size >= smallestBytes && size <= largestBytes && Number.isInteger(Math.log2(size));
    if (!fits || this.#unusedBytes + size > this.#bytesMax) return;
    this.#unusedBytes += size;
    const same = this.#unused.get(size);
    if (same === undefined) this.#unused.set(size, [buffer]);
    else same.push(buffer);
  }
}

/** The buffers of this thread. */
export const buffers = new BufferPool(limits.bufferPoolBytesMax);
