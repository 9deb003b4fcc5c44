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

/** A body is made into strings of this size: small ones stay in the processor's cache. */
const windowBytes = 64 * 1024;

/**
 * Calls back with a window of the body and where in it an event stands; one that is not UTF-8 has an error. False ends
 * the work on the body: nothing after the event is looked at.
 */
export type OnEvent = (window: Window, start: number, end: number, error: string | undefined) => boolean;

/** A body holds more elements than a request may (limits.batchEventsMax). */
export class TooManyElements extends Error {}

const newline = 0x0a;

/**
 * Finds the events of a body: a JSON array's elements, NDJSON's lines, or the one JSON value that the body is; with
 * `records` also the elements of the array that the member of that name holds.
 * Returns undefined, or what is wrong with the body as a whole (nothing of it may be stored then). Throws
 * TooManyElements for an array of more than it may hold, before any of it is handed out.
 *
 * The structure of JSON is ASCII, so a body is split as bytes and handed out as byte text (see ocsf/byte-text.ts).
 * Bytes that are not UTF-8 cost the event they stand in. Texts are cut from the body a window at a time: small strings
 * stay in the processor's cache and in the collector's nursery, where one of a whole body would do neither.
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
  // Elements come before the end of the array is known to be well formed: hand out nothing until it is.
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
 * Where the array stands that a JSON body is, or that its member `records` holds; undefined where it is one value. The
 * bytes must hold more than whitespace.
 */
export function listOf(
  bytes: Buffer,
  records: string | undefined,
): readonly [start: number, end: number] | undefined {
  const first = firstToken(bytes, 0, bytes.length);
  if (bytes[first] === openBracket) return [0, bytes.length];
  return records === undefined ? undefined : listIn(bytes, first, bytes.length, records);
}

/** Whether a body that is no JSON is lines of JSON: its first line is an object, and something comes after it. */
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

/** The hash by which a repeat of a body is recognized. */
export function hashOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('base64url');
}

/** The bytes as a Buffer, without the mark that some programs put before UTF-8. */
export function withoutByteOrderMark(body: Uint8Array): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

type Emit = (window: Window, start: number, end: number) => boolean;

function windowOf(bytes: Buffer, start: number, end: number): Window {
  // Not a Buffer: cutting one is several times as expensive.
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
    // From one token to the next, so that blank lines cost no more than their bytes.
    for (let start = firstToken(window.bytes, 0, text.length); start < text.length; ) {
      const found = text.indexOf('\n', start);
      const stop = found === -1 ? text.length : found;
      if (!emit(window, start, stop)) return;
      start = firstToken(window.bytes, stop, text.length);
    }
    from = end;
  }
}

/** Where lines from `from` on end after about `wanted` bytes: past a newline, or at the end. */
export function endOfLines(bytes: Buffer, from: number, wanted: number): number {
  if (from + wanted >= bytes.length) return bytes.length;
  const before = bytes.lastIndexOf(newline, from + wanted - 1);
  if (before >= from) return before + 1;
  const after = bytes.indexOf(newline, from + wanted);
  return after === -1 ? bytes.length : after + 1;
}
