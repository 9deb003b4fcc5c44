import { limits } from './limits.ts';

const smallestBytes = 64 * 1024;

/** Bytes of the buffer that a pool hands out for so many. */
export function pooledBytes(bytes: number): number {
  return Math.max(smallestBytes, 2 ** Math.ceil(Math.log2(bytes)));
}

export interface BufferPoolOptions<Kind> {
  /** Of unused buffers, all together. */
  readonly bytesMax: number;
  /** Larger ones are not pooled. */
  readonly largestBytes: number;
  readonly allocate: (bytes: number) => Kind;
  /** An unused buffer is kept this long at least, and twice as long at most. */
  readonly keptMs?: number;
}

/** The unused buffers of a size, and the fewest that there were since it was last looked. */
interface Unused<Kind> {
  readonly buffers: Kind[];
  fewest: number;
}

/**
 * Large buffers that are used again, in sizes that are powers of two. Each new one costs page faults and, as memory that
 * the collector only counts, full collections; at a few hundred batches a second those cost more than the batches.
 * What nobody has needed for a while is left to the collector.
 */
export class BufferPool<Kind extends ArrayBuffer | SharedArrayBuffer> {
  readonly #options: BufferPoolOptions<Kind>;
  readonly #unused = new Map<number, Unused<Kind>>();
  #unusedBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BufferPoolOptions<Kind>) {
    this.#options = options;
  }

  unusedBytes(): number {
    return this.#unusedBytes;
  }

  /** A buffer of at least `bytes`, its content undefined; it belongs to the caller and may be transferred. */
  take(bytes: number): Kind {
    const { largestBytes, allocate } = this.#options;
    if (bytes > largestBytes) return allocate(bytes);
    const size = pooledBytes(bytes);
    // A task may outgrow its buffer and come back with a larger one: that serves the next such task.
    for (const spare of [size, size * 2, size * 4]) {
      const unused = this.#unused.get(spare);
      const buffer = unused?.buffers.pop();
      if (unused === undefined || buffer === undefined) continue;
      unused.fewest = Math.min(unused.fewest, unused.buffers.length);
      this.#unusedBytes -= spare;
      return buffer;
    }
    return allocate(size);
  }

  /** Takes a buffer back that is not used any more. One of another size, or too many, is left to the collector. */
  give(buffer: Kind): void {
    const { bytesMax, largestBytes } = this.#options;
    const size = buffer.byteLength;
    const fits = size >= smallestBytes && size <= largestBytes && Number.isInteger(Math.log2(size));
    if (!fits || this.#unusedBytes + size > bytesMax) return;
    this.#unusedBytes += size;
    const same = this.#unused.get(size);
    if (same === undefined) this.#unused.set(size, { buffers: [buffer], fewest: 0 });
    else same.buffers.push(buffer);
    this.#lookLater();
  }

  #lookLater(): void {
    if (this.#timer !== undefined) return;
    const { keptMs = limits.bufferKeptMs } = this.#options;
    this.#timer = setTimeout(() => this.#letGo(), keptMs).unref();
  }

  /** Lets go of what nobody has needed since the last time. */
  #letGo(): void {
    this.#timer = undefined;
    for (const [size, unused] of this.#unused) {
      unused.buffers.splice(0, unused.fewest);
      this.#unusedBytes -= size * unused.fewest;
      unused.fewest = unused.buffers.length;
      if (unused.fewest === 0) this.#unused.delete(size);
    }
    if (this.#unused.size > 0) this.#lookLater();
  }
}

/** The buffers of this thread. */
export const buffers = new BufferPool<ArrayBuffer>({
  bytesMax: limits.bufferPoolBytesMax,
  largestBytes: limits.pooledBufferBytesMax,
  allocate: (bytes) => Buffer.allocUnsafeSlow(bytes).buffer,
});
