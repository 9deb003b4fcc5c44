import { buffers, type Lease } from '../base/bytes/buffer-pool.ts';

/** The memory that mapped frames are in: workers gave it, and it goes back to be used again. */
export class FrameMemory {
  /** For frames whose memory others give back, or nobody. */
  static readonly none = new FrameMemory([]);
  #leases: readonly Lease<ArrayBuffer>[];

  constructor(memory: readonly ArrayBuffer[]) {
    this.#leases = memory.map((buffer) => buffers.adopt(buffer));
  }

  /**
   * Does work that reads the frames. If it fails, nobody knows what still reads them (an append that was given up may
   * be on its way to the disk), so the memory is left to the collector.
   */
  async lend<T>(work: () => Promise<T>): Promise<T> {
    const leases = this.#leases;
    this.#leases = [];
    const result = await work();
    this.#leases = leases;
    return result;
  }

  /** Gives the memory back, unless it is lent; called again it does nothing. */
  release(): void {
    for (const lease of this.#leases) lease.release();
    this.#leases = [];
  }
}
