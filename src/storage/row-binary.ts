export class RowBinary {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  uint16(): number {
    return this.#bytes.readUInt16LE(this.#skip(2));
  }

  uint64(): bigint {
    return this.#bytes.readBigUInt64LE(this.#skip(8));
  }

  /** No copy. */
  fixed(length: number): Buffer {
    const from = this.#skip(length);
    return this.#bytes.subarray(from, from + length);
  }

  /** No copy. */
  string(): Buffer {
    let length = 0;
    for (let factor = 1; ; factor *= 128) {
      const group = this.#bytes.readUInt8(this.#skip(1));
      length += (group & 127) * factor;
      if (group < 128) return this.fixed(length);
    }
  }

  #skip(length: number): number {
    const from = this.#at;
    this.#at += length;
    return from;
  }
}
