import { buffers, type Lease } from '../base/bytes/buffer-pool.ts';

export class FrameMemory {
  static readonly none = new FrameMemory([]);
  #leases: readonly Lease<ArrayBuffer>[];

  constructor(memory: readonly ArrayBuffer[]) {
    this.#leases = memory.map((buffer) => buffers.adopt(buffer));
  }

  /**
   * Runs work that reads the frames. If it fails, a write may still be reading them, so the memory is left to
   * the collector.
   */
  async lend<T>(work: () => Promise<T>): Promise<T> {
    const leases = this.#leases;
    this.#leases = [];
    const result = await work();
    this.#leases = leases;
    return result;
  }

  release(): void {
    for (const lease of this.#leases) lease.release();
    this.#leases = [];
  }
}
