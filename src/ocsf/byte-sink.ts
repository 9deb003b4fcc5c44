/** A run of bytes in a buffer that is not its own. */
export interface Piece {
  bytes: Uint8Array;
  start: number;
  end: number;
}

/**
 * Where a region of an arena is being written. Nothing checks for room: who opens the region knows how much there can
 * be in it.
 */
export interface ByteSink {
  /** Not a Buffer: cutting one is several times as expensive. */
  bytes: Uint8Array;
  length: number;
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const toUtf8 = new TextEncoder();

/** Below this many bytes a loop beats the call. */
const loopBytesMax = 8;

/** Puts bytes of the sink's own buffer: one call, three times as fast as copying between two buffers. */
export function putRange(sink: ByteSink, start: number, end: number): void {
  const { bytes, length } = sink;
  if (end - start > loopBytesMax) bytes.copyWithin(length, start, end);
  else for (let at = start, to = length; at < end; at++, to++) bytes[to] = bytes[at] as number;
  sink.length = length + end - start;
}

/** Byte text: a character is a byte. */
export function putText(sink: ByteSink, text: string): void {
  const { bytes, length } = sink;
  for (let at = 0; at < text.length; at++) bytes[length + at] = text.charCodeAt(at);
  sink.length = length + text.length;
}

/** The decimal digits of a safe integer. */
export function putInteger(sink: ByteSink, value: number): void {
  const { bytes } = sink;
  let rest = value < 0 ? -value : value;
  if (value < 0) bytes[sink.length++] = 0x2d;
  const start = sink.length;
  let digits = 1;
  for (let bound = 10; bound <= rest; bound *= 10) digits++;
  for (let at = start + digits - 1; at >= start; at--) {
    const next = Math.floor(rest / 10);
    bytes[at] = 0x30 + (rest - next * 10);
    rest = next;
  }
  sink.length = start + digits;
}

/** Lower case as JavaScript's `toLowerCase` gives it; `piece` is then what was put. */
export function putLower(sink: ByteSink, piece: Piece): void {
  const { bytes: from, start, end } = piece;
  const { bytes, length } = sink;
  piece.bytes = bytes;
  piece.start = length;
  for (let at = start, to = length; at < end; at++, to++) {
    const code = from[at] as number;
    if (code > 0x7f) {
      const text = utf8.decode(from.subarray(start, end)).toLowerCase();
      sink.length = length + toUtf8.encodeInto(text, bytes.subarray(length)).written;
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

/**
 * The working memory of a mapper, one buffer with a place for everything an event needs, so that bytes are moved
 * within it and not between buffers:
 *
 *     constants | event | its minified copy | texts in lower case | rendering
 */
export interface Arena {
  bytes: Uint8Array;
  /** Length of the constants, where the event begins. */
  readonly eventStart: number;
  readonly minified: ByteSink;
  readonly lowered: ByteSink;
  readonly rendered: ByteSink;
}

/** An arena that one huge event made large is not kept that way. */
const keptBytesMax = 1024 * 1024;
const smallestBytes = 64 * 1024;

export function createArena(constants: Uint8Array): Arena {
  const bytes = new Uint8Array(smallestBytes);
  bytes.set(constants);
  const sink = (): ByteSink => ({ bytes, length: 0 });
  return { bytes, eventStart: constants.length, minified: sink(), lowered: sink(), rendered: sink() };
}

/** Puts the event [start, end) into the arena, with room for the rest: `renderedBytesMax` for its rendering. */
export function openArena(
  arena: Arena,
  event: Uint8Array,
  start: number,
  end: number,
  renderedBytesMax: number,
): void {
  const { eventStart } = arena;
  const length = end - start;
  const minified = eventStart + length;
  const lowered = minified + length;
  // Letters of two bytes can have small ones of three, and what an escape stands for is shorter than it.
  const rendered = lowered + length * 2 + 64;
  const room = rendered + renderedBytesMax;
  const size = arena.bytes.length;
  if (size < room || (size > keptBytesMax && room <= keptBytesMax)) {
    const bytes = new Uint8Array(Math.max(room, smallestBytes));
    bytes.set(arena.bytes.subarray(0, eventStart));
    arena.bytes = bytes;
    for (const sink of [arena.minified, arena.lowered, arena.rendered]) sink.bytes = bytes;
  }
  arena.bytes.set(event.subarray(start, end), eventStart);
  arena.minified.length = minified;
  arena.lowered.length = lowered;
  arena.rendered.length = rendered;
}
