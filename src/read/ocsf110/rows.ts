import { buffers } from '../../base/bytes/buffer-pool.ts';

const ocsf110TaskBytes = 384 * 1024;

/**
 * Rows of stored events in `FORMAT RowBinary`, little-endian:
 *
 *     | total, UInt64 | seq, UInt64 | time in microseconds, Int64 | length, LEB128 | source, as long |
 */
export const rowColumns = (total: string): string =>
  // `assumeNotNull`: a nullable scalar would have another byte before it.
  `assumeNotNull(toUInt64(${total})) AS total_rows, seq, toUnixTimestamp64Micro(time) AS micros, source`;

const rowHeadBytes = 24;
export const totalBytes = 8;
const seqAt = 8;
const timeAt = 16;

export interface SourceRange {
  start: number;
  end: number;
}

export function findSource(bytes: Uint8Array, at: number, end: number, span: SourceRange): boolean {
  let length = 0;
  let factor = 1;
  for (let next = at + rowHeadBytes; next < end; next++) {
    const byte = bytes[next] as number;
    length += (byte & 0x7f) * factor;
    factor *= 128;
    if (byte < 0x80) {
      span.start = next + 1;
      span.end = next + 1 + length;
      return span.end <= end;
    }
  }
  return false;
}

export function countRows(bytes: Uint8Array): number {
  const span: SourceRange = { start: 0, end: 0 };
  let rows = 0;
  for (let at = 0; findSource(bytes, at, bytes.length, span); at = span.end) rows++;
  return rows;
}

export function readTotal(bytes: Uint8Array): number {
  return Number(viewOf(bytes).getBigUint64(0, true));
}

export function readSeq(view: DataView, at: number): { readonly seq: bigint; readonly segment: number } {
  const low = view.getUint32(at + seqAt, true);
  const high = view.getUint32(at + seqAt + 4, true);
  // The upper 44 bits (base/events/sequence.ts).
  return { seq: view.getBigUint64(at + seqAt, true), segment: high * 4096 + (low >>> 20) };
}

export function readTime(view: DataView, at: number): number {
  return view.getUint32(at + timeAt, true) + view.getInt32(at + timeAt + 4, true) * 2 ** 32;
}

export function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}

export class RowCutter {
  #lease = buffers.take(ocsf110TaskBytes * 2);
  #bytes = new Uint8Array(this.#lease.memory);
  #length = 0;
  #whole = 0;
  readonly #range: SourceRange = { start: 0, end: 0 };

  /** Returns rows if they suffice for a task. */
  push(piece: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    this.#makeRoom(piece.length);
    this.#bytes.set(piece, this.#length);
    this.#length += piece.length;
    while (findSource(this.#bytes, this.#whole, this.#length, this.#range)) this.#whole = this.#range.end;
    return this.#whole >= ocsf110TaskBytes ? this.#take() : undefined;
  }

  finish(): Uint8Array<ArrayBuffer> | undefined {
    if (this.#whole < this.#length) throw new Error('A result of the engine ends within a row');
    const rows = this.#whole > 0 ? this.#take() : undefined;
    this.release();
    return rows;
  }

  release(): void {
    this.#lease.release();
    this.#bytes = new Uint8Array(0);
  }

  #take(): Uint8Array<ArrayBuffer> {
    const rows = this.#bytes.subarray(0, this.#whole);
    const rest = this.#bytes.subarray(this.#whole, this.#length);
    this.#lease.handOver();
    this.#lease = buffers.take(Math.max(ocsf110TaskBytes * 2, rest.length));
    this.#bytes = new Uint8Array(this.#lease.memory);
    this.#bytes.set(rest);
    this.#length = rest.length;
    this.#whole = 0;
    return rows;
  }

  #makeRoom(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const larger = buffers.take(needed * 2);
    const bytes = new Uint8Array(larger.memory);
    bytes.set(this.#bytes.subarray(0, this.#length));
    this.release();
    this.#lease = larger;
    this.#bytes = bytes;
  }
}

export function* taskRows(bytes: Uint8Array): Generator<Uint8Array> {
  const span: SourceRange = { start: 0, end: 0 };
  let start = 0;
  let at = 0;
  while (findSource(bytes, at, bytes.length, span)) {
    at = span.end;
    if (at - start < ocsf110TaskBytes) continue;
    yield bytes.subarray(start, at);
    start = at;
  }
  if (at < bytes.length) throw new Error('A result of the engine ends within a row');
  if (start < at) yield bytes.subarray(start, at);
}
