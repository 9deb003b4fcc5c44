import { randomInt } from 'node:crypto';
import { digestBytes, recordBytes, timeOf } from './answer-records.ts';

const recordWords = recordBytes / 4;

class SlotHash {
  readonly #factors = [randomInt(2 ** 32), randomInt(2 ** 32)].map((factor) => factor | 1);

  of(words: Uint32Array, at: number): number {
    const [first = 1, second = 1] = this.#factors;
    return (Math.imul(words[at] as number, first) + Math.imul(words[at + 1] as number, second)) >>> 0;
  }
}

/**
 * Records in a row, and an open-addressing index of twice as many slots. A slot has the record's number, from
 * 1 on, and some hash bits above it, which rule out most other records.
 */
class Chunk {
  readonly #bytes: Buffer;
  readonly #words: Uint32Array;
  readonly #slots: Uint32Array;
  readonly #slotBits: number;
  readonly #hash: SlotHash;
  readonly #keysMax: number;
  #count = 0;
  newestMs = 0;

  constructor(keysMax: number, hash: SlotHash) {
    this.#keysMax = keysMax;
    this.#hash = hash;
    // The system allocates pages only when they are written.
    this.#bytes = Buffer.from(new ArrayBuffer(keysMax * recordBytes));
    this.#words = new Uint32Array(this.#bytes.buffer);
    this.#slotBits = Math.ceil(Math.log2(keysMax)) + 1;
    this.#slots = new Uint32Array(2 ** this.#slotBits);
  }

  get count(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count === this.#keysMax;
  }

  /**
   * Copies as many records as fit, from `offset` on, and returns their number. Replaces records of the same
   * id. Skips records older than `fromMs` (Unix): they would hide newer ones.
   */
  add(records: Uint8Array, offset: number, fromMs: number): number {
    const first = this.#count;
    const added = Math.min(this.#keysMax - first, (records.length - offset) / recordBytes);
    this.#bytes.set(records.subarray(offset, offset + added * recordBytes), first * recordBytes);
    for (let index = first; index < first + added; index += 1)
      if (timeOf(this.#bytes, index * recordBytes) >= fromMs) this.#index(index);
    return added;
  }

  /** Indexes the record, and moves it to the end or over the one that it replaces. */
  #index(index: number): void {
    const at = index * recordBytes;
    this.newestMs = Math.max(this.newestMs, timeOf(this.#bytes, at));
    const hash = this.#hash.of(this.#words, index * recordWords);
    const slot = this.#slotOf(hash, this.#words, index * recordWords);
    const found = this.#numberIn(slot);
    const target = found > 0 ? found - 1 : this.#count;
    if (target !== index) this.#bytes.copyWithin(target * recordBytes, at, at + recordBytes);
    if (found > 0) return;
    this.#count += 1;
    this.#slots[slot] = (hash << this.#slotBits) | this.#count;
  }

  find(id: Uint32Array): Buffer | undefined {
    const found = this.#numberIn(this.#slotOf(this.#hash.of(id, 0), id, 0));
    return found === 0 ? undefined : this.#recordAt(found - 1);
  }

  *records(): Generator<Buffer> {
    for (let index = this.#count - 1; index >= 0; index -= 1) yield this.#recordAt(index);
  }

  /** The slot of an id, or the free one for it; at most half the slots are used, so there is one. */
  #slotOf(hash: number, id: Uint32Array, at: number): number {
    const mask = this.#slots.length - 1;
    const mark = (hash << this.#slotBits) >>> this.#slotBits;
    for (let slot = hash >>> (32 - this.#slotBits); ; slot = (slot + 1) & mask) {
      const entry = this.#slots[slot] as number;
      if (entry === 0) return slot;
      if (entry >>> this.#slotBits === mark && this.#isAt((entry & mask) - 1, id, at)) return slot;
    }
  }

  #numberIn(slot: number): number {
    return (this.#slots[slot] as number) & (this.#slots.length - 1);
  }

  #isAt(index: number, id: Uint32Array, at: number): boolean {
    for (let word = 0; word < digestBytes / 4; word += 1)
      if (this.#words[index * recordWords + word] !== id[at + word]) return false;
    return true;
  }

  #recordAt(index: number): Buffer {
    return this.#bytes.subarray(index * recordBytes, (index + 1) * recordBytes);
  }
}

export interface TableBounds {
  readonly idempotencyChunkKeys: number;
  readonly idempotencyChunksMax: number;
}

/**
 * Remembered answers by id, 52 bytes each. Chunks are dropped whole, oldest first; the newest chunk with an
 * id counts.
 */
export class AnswerTable {
  readonly #bounds: TableBounds;
  readonly #hash = new SlotHash();
  readonly #chunks: Chunk[] = [];
  readonly #sought = Buffer.from(new ArrayBuffer(digestBytes));
  readonly #soughtWords = new Uint32Array(this.#sought.buffer);

  constructor(bounds: TableBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#chunks.reduce((sum, { count }) => sum + count, 0);
  }

  /**
   * Adds records and drops chunks beyond the bound; returns how many dropped records were not older than
   * `fromMs` (Unix).
   */
  add(records: Uint8Array, fromMs: number): number {
    let forgotten = 0;
    for (let offset = 0; offset < records.length; ) {
      let last = this.#chunks.at(-1);
      if (last === undefined || last.isFull) {
        last = new Chunk(this.#bounds.idempotencyChunkKeys, this.#hash);
        this.#chunks.push(last);
        forgotten += this.#trim(fromMs);
      }
      offset += last.add(records, offset, fromMs) * recordBytes;
    }
    return forgotten;
  }

  find(id: Uint8Array): Buffer | undefined {
    this.#sought.set(id);
    for (let index = this.#chunks.length - 1; index >= 0; index -= 1) {
      const found = this.#chunks[index]?.find(this.#soughtWords);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  removeBefore(fromMs: number): void {
    while ((this.#chunks[0]?.newestMs ?? Number.POSITIVE_INFINITY) < fromMs) this.#chunks.shift();
  }

  #trim(fromMs: number): number {
    const [oldest] = this.#chunks;
    if (oldest === undefined || this.#chunks.length <= this.#bounds.idempotencyChunksMax) return 0;
    this.#chunks.shift();
    let forgotten = 0;
    for (const record of oldest.records()) if (timeOf(record) >= fromMs) forgotten += 1;
    return forgotten;
  }
}
