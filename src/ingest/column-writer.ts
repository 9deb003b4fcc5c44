import type { Piece } from '../ocsf/byte-sink.ts';

/** The growing bytes of one column in ClickHouse's Native layout (little-endian; strings as varint length + bytes). */
export interface ColumnWriter {
  uint16(value: number): void;
  /** A non-negative safe integer as UInt64. */
  uint64(value: number): void;
  /** A safe integer as Int64. */
  int64(value: number): void;
  /** The canonical text of a UUID, in the engine's order: two little-endian 64-bit halves, high half first. */
  uuid(text: string): void;
  /** Short ASCII text. */
  string(text: string): void;
  piece(value: Piece): void;
  /** As `uuid`; an empty piece is the nil UUID. */
  uuidPiece(value: Piece): void;
  /** Values written since the last reset. */
  count(): number;
  length(): number;
  copyTo(target: Uint8Array, offset: number): number;
  reset(): void;
}

/** Below this many bytes a loop in JavaScript beats the call into the runtime. */
const loopBytesMax = 20;
/** A column that grew past this is given back after the batch, so that one huge batch does not pin memory. */
const keptBytesMax = 8 * 1024 * 1024;

function hexDigit(code: number): number {
  return code <= 57 ? code - 48 : (code | 32) - 87;
}

/** Offsets of the 32 hex digits inside `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`, two a byte. */
const uuidDigits = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

export function columnWriter(initialBytes: number): ColumnWriter {
  let bytes = Buffer.allocUnsafeSlow(initialBytes);
  let length = 0;
  let count = 0;

  function reserve(more: number): void {
    if (length + more <= bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(bytes.length * 2, length + more));
    bytes.copy(grown, 0, 0, length);
    bytes = grown;
  }

  function varint(value: number): void {
    let rest = value;
    while (rest >= 128) {
      bytes[length++] = (rest % 128) + 128;
      rest = Math.floor(rest / 128);
    }
    bytes[length++] = rest;
  }

  return {
    uint16(value) {
      reserve(2);
      length = bytes.writeUInt16LE(value, length);
      count += 1;
    },
    uint64(value) {
      reserve(8);
      length = bytes.writeUInt32LE(value % 4_294_967_296, length);
      length = bytes.writeUInt32LE(Math.floor(value / 4_294_967_296), length);
      count += 1;
    },
    int64(value) {
      reserve(8);
      const high = Math.floor(value / 4_294_967_296);
      length = bytes.writeUInt32LE(value - high * 4_294_967_296, length);
      length = bytes.writeInt32LE(high, length);
      count += 1;
    },
    uuid(text) {
      reserve(16);
      for (let i = 0; i < 16; i++) {
        const digit = uuidDigits[i] as number;
        const byte = hexDigit(text.charCodeAt(digit)) * 16 + hexDigit(text.charCodeAt(digit + 1));
        bytes[length + (i < 8 ? 7 - i : 23 - i)] = byte;
      }
      length += 16;
      count += 1;
    },
    string(text) {
      const characters = text.length;
      reserve(characters + 5);
      count += 1;
      varint(characters);
      for (let i = 0; i < characters; i++) bytes[length++] = text.charCodeAt(i);
    },
    piece({ bytes: from, start, end }) {
      const size = end - start;
      reserve(size + 5);
      count += 1;
      varint(size);
      if (size > loopBytesMax) bytes.set(from.subarray(start, end), length);
      else for (let at = 0; at < size; at++) bytes[length + at] = from[start + at] as number;
      length += size;
    },
    uuidPiece({ bytes: from, start, end }) {
      reserve(16);
      count += 1;
      if (start === end) bytes.fill(0, length, length + 16);
      else {
        for (let i = 0; i < 16; i++) {
          const digit = start + (uuidDigits[i] as number);
          const byte = hexDigit(from[digit] as number) * 16 + hexDigit(from[digit + 1] as number);
          bytes[length + (i < 8 ? 7 - i : 23 - i)] = byte;
        }
      }
      length += 16;
    },
    count: () => count,
    length: () => length,
    copyTo(target, offset) {
      target.set(bytes.subarray(0, length), offset);
      return offset + length;
    },
    reset() {
      length = 0;
      count = 0;
      if (bytes.length > keptBytesMax) bytes = Buffer.allocUnsafeSlow(initialBytes);
    },
  };
}
