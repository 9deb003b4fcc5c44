import { buffers } from '../../base/bytes/buffer-pool.ts';

/** Rows that a task maps. */
const ocsf110TaskBytes = 384 * 1024;

/**
 * Rows of stored events as the engine gives them in `FORMAT RowBinary`, all little-endian:
 *
 *     | total, UInt64 | seq, UInt64 | time in microseconds, Int64 | length, LEB128 | source, as long |
 */
export const rowColumns = (total: string): string =>
  // A scalar may be null for all the engine knows, which would put a byte before it.
  `assumeNotNull(toUInt64(${total})) AS total_rows, seq, toUnixTimestamp64Micro(time) AS micros, source`;

const rowHeadBytes = 24;
export const totalBytes = 8;
const seqAt = 8;
const timeAt = 16;

/** Where the source of a row begins and ends. */
export interface SourcePlace {
  start: number;
  end: number;
}

/** Finds the source of the row at `at`; false where not all of it is there. */
export function findSource(bytes: Uint8Array, at: number, end: number, place: SourcePlace): boolean {
  let length = 0;
  let factor = 1;
  for (let next = at + rowHeadBytes; next < end; next++) {
    const byte = bytes[next] as number;
    length += (byte & 0x7f) * factor;
    factor *= 128;
    if (byte < 0x80) {
      place.start = next + 1;
      place.end = next + 1 + length;
      return place.end <= end;
    }
  }
  return false;
}

/** How many rows there are, all of them whole. */
export function countRows(bytes: Uint8Array): number {
  const place: SourcePlace = { start: 0, end: 0 };
  let rows = 0;
  for (let at = 0; findSource(bytes, at, bytes.length, place); at = place.end) rows++;
  return rows;
}

/** The total that a row begins with. */
export function totalOf(bytes: Uint8Array, at: number): number {
  return Number(viewOf(bytes).getBigUint64(at, true));
}

/** The other two numbers of a row, from a view of its bytes. */
export function seqOf(view: DataView, at: number): { readonly seq: bigint; readonly segment: number } {
  const low = view.getUint32(at + seqAt, true);
  const high = view.getUint32(at + seqAt + 4, true);
  // The upper 44 bits: see base/events/sequence.ts.
  return { seq: view.getBigUint64(at + seqAt, true), segment: high * 4096 + (low >>> 20) };
}

export function timeOf(view: DataView, at: number): number {
  return view.getUint32(at + timeAt, true) + view.getInt32(at + timeAt + 4, true) * 2 ** 32;
}

export function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}

/** Gathers bytes as they come and gives them on in pieces of whole rows, each in memory of its own. */
export class RowCutter {
  #lease = buffers.take(ocsf110TaskBytes * 2);
  #bytes = new Uint8Array(this.#lease.memory);
  #length = 0;
  /** Up to here the rows are whole. */
  #whole = 0;
  readonly #place: SourcePlace = { start: 0, end: 0 };

  /** Takes bytes in; returns rows as soon as there are enough of them for a task. */
  push(piece: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    this.#makeRoom(piece.length);
    this.#bytes.set(piece, this.#length);
    this.#length += piece.length;
    while (findSource(this.#bytes, this.#whole, this.#length, this.#place)) this.#whole = this.#place.end;
    return this.#whole >= ocsf110TaskBytes ? this.#take() : undefined;
  }

  /** The rows that are left; undefined where there are none. Throws where one is not whole. */
  finish(): Uint8Array<ArrayBuffer> | undefined {
    if (this.#whole < this.#length) throw new Error('a result of the engine ends within a row');
    const rows = this.#whole > 0 ? this.#take() : undefined;
    this.release();
    return rows;
  }

  /** Gives the memory back. */
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

/** Divides rows that are all there into pieces for tasks. */
export function* taskRows(bytes: Uint8Array): Generator<Uint8Array> {
  const place: SourcePlace = { start: 0, end: 0 };
  let start = 0;
  let at = 0;
  while (findSource(bytes, at, bytes.length, place)) {
    at = place.end;
    if (at - start < ocsf110TaskBytes) continue;
    yield bytes.subarray(start, at);
    start = at;
  }
  if (at < bytes.length) throw new Error('a result of the engine ends within a row');
  if (start < at) yield bytes.subarray(start, at);
}
