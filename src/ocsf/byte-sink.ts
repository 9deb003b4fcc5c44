import { foldCase } from '../base/events/fold-case.ts';
import { highBits, viewOf } from './json-cursor.ts';

export interface Piece {
  bytes: Uint8Array;
  start: number;
  end: number;
}

/** A position in a region of an arena. Writers throw OutOfRoom rather than write past `end`, where the next region begins. */
export interface ByteSink {
  /** Not a Buffer: slicing one costs several times as much. */
  bytes: Uint8Array;
  /** A view of the same memory. */
  view: DataView;
  length: number;
  end: number;
}

/** Regions are sized for the worst event, so this is a defect. */
export class OutOfRoom extends Error {}

function refuse(sink: ByteSink, needed: number): never {
  throw new OutOfRoom(`${needed} bytes do not fit into the ${sink.end - sink.length} that a sink has left`);
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const toUtf8 = new TextEncoder();

/** Up to this size, copying four bytes at a time beats a call into the runtime. */
export const wordsBytesMax = 64;

/** Ranges must not overlap. */
export function copyWords(from: DataView, start: number, to: DataView, at: number, size: number): void {
  const last = size - 4;
  for (let i = 0; i < last; i += 4) to.setInt32(at + i, from.getInt32(start + i, true), true);
  // The last four bytes overlap the ones before.
  if (last >= 0) to.setInt32(at + last, from.getInt32(start + last, true), true);
  else for (let i = 0; i < size; i++) to.setUint8(at + i, from.getUint8(start + i));
}

export function putRange(sink: ByteSink, start: number, end: number): void {
  const { view, length } = sink;
  const size = end - start;
  if (length + size > sink.end) refuse(sink, size);
  // One call, twice as fast as copying between two buffers.
  if (size > wordsBytesMax) sink.bytes.copyWithin(length, start, end);
  else copyWords(view, start, view, length, size);
  sink.length = length + size;
}

/** Byte text: a character is a byte. */
export function putText(sink: ByteSink, text: string): void {
  const { bytes, length } = sink;
  if (length + text.length > sink.end) refuse(sink, text.length);
  for (let at = 0; at < text.length; at++) bytes[length + at] = text.charCodeAt(at);
  sink.length = length + text.length;
}

const wordDigits = 8;
const wordMax = 10 ** wordDigits;

export function putInteger(sink: ByteSink, value: number): void {
  const { bytes } = sink;
  let rest = value < 0 ? -value : value;
  let digits = 1;
  for (let bound = 10; bound <= rest; bound *= 10) digits++;
  const start = value < 0 ? sink.length + 1 : sink.length;
  if (start + digits > sink.end) refuse(sink, start + digits - sink.length);
  if (value < 0) bytes[sink.length] = 0x2d;
  let last = start + digits - 1;
  // Small integers divide several times as fast.
  for (; rest >= wordMax; last -= wordDigits) {
    const high = Math.floor(rest / wordMax);
    putDigits(bytes, last, rest - high * wordMax, wordDigits);
    rest = high;
  }
  putDigits(bytes, last, rest, last - start + 1);
  sink.length = start + digits;
}

function putDigits(bytes: Uint8Array, last: number, value: number, digits: number): void {
  let rest = value;
  for (let at = last; at > last - digits; at--) {
    const next = (rest / 10) | 0;
    bytes[at] = 0x30 + (rest - next * 10);
    rest = next;
  }
}

/** JSON text inside a JSON string: minified, only quotes and backslashes need an escape. */
export function putQuoted(sink: ByteSink, start: number, end: number): void {
  const { bytes } = sink;
  if (sink.length + (end - start) * 2 > sink.end) refuse(sink, (end - start) * 2);
  let to = sink.length;
  for (let at = start; at < end; at++) {
    const code = bytes[at] as number;
    if (code === 0x22 || code === 0x5c) bytes[to++] = 0x5c;
    bytes[to++] = code;
  }
  sink.length = to;
}

/** False if folding cannot change the text. */
function mayChange(view: DataView, start: number, end: number): boolean {
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const word = view.getInt32(at, true);
    // The highest bit of a byte marks a capital: the first sum sets it from `A` on, the second from `[` on.
    if (((word | ((word + 0x3f3f3f3f) & ~(word + 0x25252525))) & highBits) !== 0) return true;
  }
  for (; at < end; at++) {
    const code = view.getUint8(at);
    if (code > 0x7f || (code >= 0x41 && code <= 0x5a)) return true;
  }
  return false;
}

export function putFolded(sink: ByteSink, piece: Piece): void {
  const { start, end } = piece;
  const { bytes, length } = sink;
  if (!mayChange(sink.view, start, end)) return;
  if (length + end - start > sink.end) refuse(sink, end - start);
  piece.start = length;
  for (let at = start, to = length; at < end; at++, to++) {
    const code = bytes[at] as number;
    if (code > 0x7f) {
      const folded = foldCase(utf8.decode(bytes.subarray(start, end)));
      const { read, written } = toUtf8.encodeInto(folded, bytes.subarray(length, sink.end));
      if (read < folded.length) refuse(sink, Buffer.byteLength(folded));
      sink.length = length + written;
      piece.end = sink.length;
      return;
    }
    bytes[to] = code >= 0x41 && code <= 0x5a ? code | 0x20 : code;
  }
  sink.length = length + end - start;
  piece.end = sink.length;
}

export function samePiece(one: Piece, two: Piece): boolean {
  const length = one.end - one.start;
  if (two.end - two.start !== length) return false;
  for (let at = 0; at < length; at++)
    if (one.bytes[one.start + at] !== two.bytes[two.start + at]) return false;
  return true;
}

const keptBytesMax = 1024 * 1024;
const smallestBytes = 64 * 1024;

/** Growth of a byte by folding: one without its escapes, then small letters of three bytes for two. */
const foldedGrowthMax = 3;

/**
 * A mapper's working memory, one buffer with a region for each step, so that bytes move within it:
 *
 *     constants | event | its minified copy | texts folded | rendering
 *
 * A region's sink ends where the next one begins.
 */
export class Arena {
  bytes = new Uint8Array(smallestBytes);
  view = viewOf(this.bytes);
  readonly eventStart: number;
  readonly minified = this.#sink();
  readonly folded = this.#sink();
  readonly rendered = this.#sink();

  constructor(constants: Uint8Array) {
    this.bytes.set(constants);
    this.eventStart = constants.length;
  }

  open(event: Uint8Array, start: number, end: number, renderedBytesMax: number): void {
    const length = end - start;
    const minified = this.eventStart + length;
    const folded = minified + length;
    const rendered = folded + length * foldedGrowthMax;
    const room = rendered + renderedBytesMax;
    const size = this.bytes.length;
    if (size < room || (size > keptBytesMax && room <= keptBytesMax)) this.#resize(room);
    this.bytes.set(event.subarray(start, end), this.eventStart);
    openSink(this.minified, minified, folded);
    openSink(this.folded, folded, rendered);
    openSink(this.rendered, rendered, room);
  }

  #sink(): ByteSink {
    return { bytes: this.bytes, view: this.view, length: 0, end: 0 };
  }

  #resize(room: number): void {
    const bytes = new Uint8Array(Math.max(room, smallestBytes));
    bytes.set(this.bytes.subarray(0, this.eventStart));
    this.bytes = bytes;
    this.view = viewOf(bytes);
    for (const sink of [this.minified, this.folded, this.rendered]) {
      sink.bytes = bytes;
      sink.view = this.view;
    }
  }
}

function openSink(sink: ByteSink, start: number, end: number): void {
  sink.length = start;
  sink.end = end;
}
