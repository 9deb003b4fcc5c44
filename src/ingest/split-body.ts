import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { faultText } from '../base/errors/fault.ts';
import { limits } from './limits.ts';
import { limits as ocsfLimits } from '../ocsf/limits.ts';
import { listIn } from '../adapters/records.ts';
import { firstToken, splitArray, splitElements } from '../ocsf/json-array.ts';
import { openBrace, openBracket } from '../ocsf/json-cursor.ts';
import type { Window } from '../ocsf/byte-text.ts';
import type { RequestKind } from './task.ts';

/** Bodies are converted to strings of this size, which stay in the processor's cache. */
const windowBytes = 64 * 1024;

/** An event as a range of a window, with an error unless it is UTF-8. False ends the work on the body. */
export type OnEvent = (window: Window, start: number, end: number, error: string | undefined) => boolean;

export class TooManyElements extends Error {}

const newline = 0x0a;

/**
 * Finds the events: elements of a JSON array (or of its member `records`), NDJSON lines, or one JSON value. Returns undefined, or
 * the fault of the whole body, of which nothing may be stored then. Throws TooManyElements before any event is passed on. Invalid
 * UTF-8 rejects only its own event. Small windows stay in the processor's cache and the collector's nursery.
 */
export function splitBody(
  body: Uint8Array,
  form: RequestKind['form'],
  onEvent: OnEvent,
  records?: string,
): string | undefined {
  const bytes = withoutByteOrderMark(body);
  const valid = isUtf8(bytes);
  const emit: Emit = (window, start, end) => {
    const good = valid || isUtf8(window.bytes.subarray(start, end));
    return onEvent(window, start, end, good ? undefined : faultText('event', '', 'is not valid UTF-8'));
  };
  if (form === 'ndjson') {
    emitLines(bytes, emit);
    return undefined;
  }
  if (form === 'json' && firstToken(bytes, 0, bytes.length) === bytes.length) return undefined;
  const list = form === 'json' ? listOf(bytes, records) : ([0, bytes.length] as const);
  if (list === undefined) {
    emit(windowOf(bytes, 0, bytes.length), 0, bytes.length);
    return undefined;
  }
  // An array may turn out to be malformed at its end, so no element is passed on before.
  const spans: number[] = [];
  const keep = (start: number, end: number): void => {
    spans.push(start, end);
    if (spans.length > limits.batchEventsMax * 2) throw new TooManyElements();
  };
  const fault = form === 'json' ? splitArray(bytes, ...list, keep) : splitElements(bytes, ...list, keep);
  if (fault === undefined) emitSpans(bytes, spans, emit);
  return fault;
}

/**
 * The range of the array that is the body, or its member `records`; undefined for a single value. The bytes
 * must not be blank.
 */
export function listOf(
  bytes: Buffer,
  records: string | undefined,
): readonly [start: number, end: number] | undefined {
  const first = firstToken(bytes, 0, bytes.length);
  if (bytes[first] === openBracket) return [0, bytes.length];
  return records === undefined ? undefined : listIn(bytes, first, bytes.length, records);
}

/** Whether a malformed JSON body is NDJSON: its first line is an object, and more follows. */
export function looksLikeLines(body: Uint8Array): boolean {
  const bytes = withoutByteOrderMark(body);
  const start = firstToken(bytes, 0, bytes.length);
  const end = bytes.indexOf(newline, start);
  const isLine = bytes[start] === openBrace && end > 0 && end - start <= ocsfLimits.eventBytesMax;
  if (!isLine || firstToken(bytes, end, bytes.length) === bytes.length) return false;
  try {
    JSON.parse(bytes.toString('utf8', start, end));
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

export function hashOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('base64url');
}

export function withoutByteOrderMark(body: Uint8Array): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

type Emit = (window: Window, start: number, end: number) => boolean;

function windowOf(bytes: Buffer, start: number, end: number): Window {
  // Not a Buffer: cutting one costs several times as much.
  const window = new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start);
  return { text: bytes.toString('latin1', start, end), bytes: window };
}

function emitSpans(bytes: Buffer, spans: readonly number[], emit: Emit): void {
  for (let at = 0; at < spans.length; ) {
    const from = spans[at] as number;
    let next = at + 2;
    while (next < spans.length && (spans[next + 1] as number) - from <= windowBytes) next += 2;
    const window = windowOf(bytes, from, spans[next - 1] as number);
    for (; at < next; at += 2) {
      if (!emit(window, (spans[at] as number) - from, (spans[at + 1] as number) - from)) return;
    }
  }
}

function emitLines(bytes: Buffer, emit: Emit): void {
  for (let from = 0; from < bytes.length; ) {
    const end = endOfLines(bytes, from, windowBytes);
    const window = windowOf(bytes, from, end);
    const { text } = window;
    for (let start = firstToken(window.bytes, 0, text.length); start < text.length; ) {
      const found = text.indexOf('\n', start);
      const stop = found === -1 ? text.length : found;
      if (!emit(window, start, stop)) return;
      start = firstToken(window.bytes, stop, text.length);
    }
    from = end;
  }
}

/** End of the lines after about `wanted` bytes from `from`: behind a newline, or the end of the body. */
export function endOfLines(bytes: Buffer, from: number, wanted: number): number {
  if (from + wanted >= bytes.length) return bytes.length;
  const before = bytes.lastIndexOf(newline, from + wanted - 1);
  if (before >= from) return before + 1;
  const after = bytes.indexOf(newline, from + wanted);
  return after === -1 ? bytes.length : after + 1;
}
