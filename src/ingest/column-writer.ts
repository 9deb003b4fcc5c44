import { copyWords, type Piece, wordsBytesMax } from '../ocsf/byte-sink.ts';
import { noBytes, noView, viewOf } from '../ocsf/json-cursor.ts';

const initialBytes = 16 * 1024;
const keptBytesMax = 8 * 1024 * 1024;

/** Offsets of the 16 bytes inside `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`. */
const uuidDigits = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/** One column in ClickHouse's Native layout (little-endian; strings as varint length and bytes). */
export class ColumnWriter {
  #bytes = Buffer.allocUnsafeSlow(initialBytes);
  #view = viewOf(this.#bytes);
  /** Rows of one organization come together, so the last UUID is copied. */
  #lastUuid = '';
  #from: Uint8Array = noBytes;
  #fromView = noView;
  #length = 0;
  #count = 0;

  bool(value: boolean): void {
    this.#reserve(1);
    this.#length = this.#bytes.writeUInt8(value ? 1 : 0, this.#length);
  }

  uint16(value: number): void {
    this.#reserve(2);
    this.#view.setUint16(this.#length, value, true);
    this.#length += 2;
  }

  uint64(value: number): void {
    this.#reserve(8);
    this.#view.setUint32(this.#length, value % 4_294_967_296, true);
    this.#view.setUint32(this.#length + 4, Math.floor(value / 4_294_967_296), true);
    this.#length += 8;
  }

  int64(value: number): void {
    this.#reserve(8);
    const high = Math.floor(value / 4_294_967_296);
    this.#view.setUint32(this.#length, value - high * 4_294_967_296, true);
    this.#view.setInt32(this.#length + 4, high, true);
    this.#length += 8;
  }

  /** In the engine's order: two little-endian 64-bit halves, high half first. */
  uuid(text: string): void {
    this.#reserve(16);
    const at = this.#length;
    if (text === this.#lastUuid && at > 0) copyWords(this.#view, at - 16, this.#view, at, 16);
    else {
      const digits = Buffer.from(text, 'latin1');
      for (let i = 0; i < 16; i++) this.#bytes[at + (i < 8 ? 7 - i : 23 - i)] = hexByte(digits, i, 0);
    }
    this.#lastUuid = text;
    this.#length += 16;
  }

  /** As `uuid`; an empty piece is the nil UUID. */
  uuidPiece({ bytes: from, start, end }: Piece): void {
    this.#reserve(16);
    if (start === end) this.#bytes.fill(0, this.#length, this.#length + 16);
    else {
      for (let i = 0; i < 16; i++)
        this.#bytes[this.#length + (i < 8 ? 7 - i : 23 - i)] = hexByte(from, i, start);
    }
    this.#length += 16;
  }

  string(text: string): void {
    const characters = text.length;
    this.#reserve(characters + 5);
    this.#varint(characters);
    for (let i = 0; i < characters; i++) this.#bytes[this.#length++] = text.charCodeAt(i);
  }

  piece({ bytes: from, start, end }: Piece): void {
    const size = end - start;
    this.#reserve(size + 5);
    this.#varint(size);
    this.#count += 1;
    if (size > wordsBytesMax) this.#bytes.set(from.subarray(start, end), this.#length);
    else {
      if (from !== this.#from) {
        this.#from = from;
        this.#fromView = viewOf(from);
      }
      copyWords(this.#fromView, start, this.#view, this.#length, size);
    }
    this.#length += size;
  }

  count(): number {
    return this.#count;
  }

  length(): number {
    return this.#length;
  }

  copyTo(target: Uint8Array, offset: number): number {
    target.set(this.#bytes.subarray(0, this.#length), offset);
    return offset + this.#length;
  }

  reset(): void {
    this.#length = 0;
    this.#count = 0;
    this.#from = noBytes;
    this.#fromView = noView;
    if (this.#bytes.length > keptBytesMax) this.#use(Buffer.allocUnsafeSlow(initialBytes));
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#length + more));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#use(grown);
  }

  #use(bytes: Buffer<ArrayBuffer>): void {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }

  #varint(value: number): void {
    this.#length = writeVarint(this.#bytes, this.#length, value);
  }
}

export function writeVarint(target: Uint8Array, offset: number, value: number): number {
  let at = offset;
  let rest = value;
  while (rest >= 128) {
    target[at++] = (rest % 128) + 128;
    rest = Math.floor(rest / 128);
  }
  target[at++] = rest;
  return at;
}

function hexByte(from: Uint8Array, index: number, start: number): number {
  const digit = start + (uuidDigits[index] as number);
  return hexDigit(from[digit] as number) * 16 + hexDigit(from[digit + 1] as number);
}

function hexDigit(code: number): number {
  return code <= 57 ? code - 48 : (code | 32) - 87;
}
