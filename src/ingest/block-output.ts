import { crc32c } from '@node-rs/crc32';
import type { BlockBuilder } from './native-block.ts';
import type { Block } from './task.ts';

interface End {
  readonly length: number;
  readonly blocks: number;
}

export class BlockOutput {
  readonly blocks: Block[] = [];
  #bytes: Buffer<ArrayBuffer>;
  #length = 0;

  constructor(room: ArrayBuffer) {
    this.#bytes = Buffer.from(room);
  }

  buffer(): ArrayBuffer {
    return this.#bytes.buffer;
  }

  /** Moves rows into a block; `request` is set if they belong to one request only. */
  write(rows: BlockBuilder, request: number | undefined): void {
    const count = rows.rows();
    if (count === 0) return;
    this.#reserve(rows.bytes());
    const offset = this.#length;
    this.#length = rows.finish(this.#bytes, offset);
    const block = this.#bytes.subarray(offset, this.#length);
    this.blocks.push({ offset, length: block.length, rows: count, crc: crc32c(block), request });
  }

  end(): End {
    return { length: this.#length, blocks: this.blocks.length };
  }

  cut({ length, blocks }: End): void {
    this.#length = length;
    this.blocks.length = blocks;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    // A power of two, so that the pool of the main thread can reuse it.
    const grown = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(needed)));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
