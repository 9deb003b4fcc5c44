import { limits } from '../limits.ts';

const pooledBufferBytesMax = 32 * 1024 * 1024;
const bufferKeptMs = 20_000;

const smallestBytes = 64 * 1024;

export function pooledBytes(bytes: number): number {
  return Math.max(smallestBytes, 2 ** Math.ceil(Math.log2(bytes)));
}

export interface BufferPoolOptions<Kind> {
  readonly bytesMax: number;
  readonly largestBytes: number;
  readonly allocate: (bytes: number) => Kind;
  /** Unused buffers are kept for this time to twice this time. */
  readonly keptMs?: number;
}

interface LeaseEnd<Kind> {
  released(memory: Kind): void;
  handedOver(memory: Kind): void;
}

/**
 * Pooled memory with one owner. A second release does nothing: the memory may belong to another request by
 * then.
 */
export class Lease<Kind extends ArrayBuffer | SharedArrayBuffer> {
  #memory: Kind | undefined;
  readonly #end: LeaseEnd<Kind>;

  constructor(memory: Kind, end: LeaseEnd<Kind>) {
    this.#memory = memory;
    this.#end = end;
  }

  /** Initial content is undefined. Throws once the lease has ended. */
  get memory(): Kind {
    if (this.#memory === undefined) throw new Error('a buffer is used after its release');
    return this.#memory;
  }

  release(): void {
    if (this.#memory === undefined) return;
    const memory = this.#memory;
    this.#memory = undefined;
    this.#end.released(memory);
  }

  /** Ends the lease without returning the memory: another thread or reader takes it. */
  handOver(): Kind {
    const { memory } = this;
    this.#memory = undefined;
    this.#end.handedOver(memory);
    return memory;
  }
}

interface Unused<Kind> {
  readonly buffers: Kind[];
  fewest: number;
}

/**
 * Reuses large buffers: new ones cost page faults and full collections, at a few hundred batches a second
 * more than the batches.
 */
export class BufferPool<Kind extends ArrayBuffer | SharedArrayBuffer> {
  readonly #options: BufferPoolOptions<Kind>;
  readonly #unused = new Map<number, Unused<Kind>>();
  readonly #own = new WeakSet<Kind>();
  readonly #end: LeaseEnd<Kind> = {
    released: (memory) => this.#keep(memory),
    handedOver: (memory) => this.#own.delete(memory),
  };
  #unusedBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BufferPoolOptions<Kind>) {
    this.#options = options;
  }

  unusedBytes(): number {
    return this.#unusedBytes;
  }

  take(bytes: number): Lease<Kind> {
    const { largestBytes, allocate } = this.#options;
    if (bytes > largestBytes) return this.#lease(allocate(bytes));
    const size = pooledBytes(bytes);
    return this.#lease(this.#spare(size) ?? allocate(size));
  }

  /** Throws if the pool or a lease has the memory. */
  adopt(memory: Kind): Lease<Kind> {
    if (this.#own.has(memory)) throw new Error('a returned buffer was not leased by the pool');
    return this.#lease(memory);
  }

  /** Like `adopt`, for memory that is no longer used. */
  give(memory: Kind): void {
    this.adopt(memory).release();
  }

  #lease(memory: Kind): Lease<Kind> {
    this.#own.add(memory);
    return new Lease(memory, this.#end);
  }

  #spare(size: number): Kind | undefined {
    // A task may return a larger buffer than it got.
    for (const spare of [size, size * 2, size * 4]) {
      const unused = this.#unused.get(spare);
      const buffer = unused?.buffers.pop();
      if (unused === undefined || buffer === undefined) continue;
      unused.fewest = Math.min(unused.fewest, unused.buffers.length);
      this.#unusedBytes -= spare;
      if (buffer.byteLength !== spare) throw new Error('an unused buffer was transferred by a former owner');
      return buffer;
    }
    return undefined;
  }

  #keep(buffer: Kind): void {
    const { bytesMax, largestBytes } = this.#options;
    const size = buffer.byteLength;
    const fits = size >= smallestBytes && size <= largestBytes && Number.isInteger(Math.log2(size));
    if (!fits || this.#unusedBytes + size > bytesMax) {
      this.#own.delete(buffer);
      return;
    }
    this.#unusedBytes += size;
    const same = this.#unused.get(size);
    if (same === undefined) this.#unused.set(size, { buffers: [buffer], fewest: 0 });
    else same.buffers.push(buffer);
    this.#lookLater();
  }

  #lookLater(): void {
    if (this.#timer !== undefined) return;
    const { keptMs = bufferKeptMs } = this.#options;
    this.#timer = setTimeout(() => this.#letGo(), keptMs).unref();
  }

  #letGo(): void {
    this.#timer = undefined;
    for (const [size, unused] of this.#unused) {
      for (const buffer of unused.buffers.splice(0, unused.fewest)) this.#own.delete(buffer);
      this.#unusedBytes -= size * unused.fewest;
      unused.fewest = unused.buffers.length;
      if (unused.fewest === 0) this.#unused.delete(size);
    }
    if (this.#unused.size > 0) this.#lookLater();
  }
}

export const buffers = new BufferPool<ArrayBuffer>({
  bytesMax: limits.bufferPoolBytesMax,
  largestBytes: pooledBufferBytesMax,
  allocate: (bytes) => Buffer.allocUnsafeSlow(bytes).buffer,
});
