import { isUtf8 } from 'node:buffer';
import { splitArray } from '../ocsf/json-text.ts';
import type { BodyForm } from './task.ts';

/** Calls back with the body as byte text and where in it an event stands; one that is not UTF-8 has an error. */
export type OnEvent = (text: string, start: number, end: number, error: string | undefined) => void;

const openBracket = 0x5b;
const carriageReturn = 0x0d;

/**
 * Finds the events of a body: a JSON array's elements, NDJSON's lines, or the one JSON value that the body is.
 * Returns undefined, or what is wrong with the body as a whole (nothing of it may be stored then).
 *
 * The structure of JSON is ASCII, so a body is split and read as byte text (see ocsf/byte-text.ts); bytes that are
 * not UTF-8 cost the event they stand in.
 */
export function splitBody(body: Uint8Array, form: BodyForm, onEvent: OnEvent): string | undefined {
  const bytes = withoutByteOrderMark(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
  const whole = bytes.toString('latin1');
  if (isUtf8(bytes)) return split(whole, form, (text, start, end) => onEvent(text, start, end, undefined));
  return split(whole, form, (text, start, end) => {
    const valid = isUtf8(bytes.subarray(start, end));
    onEvent(text, start, end, valid ? undefined : ': is not valid UTF-8');
  });
}

function withoutByteOrderMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

type OnSpan = (text: string, start: number, end: number) => void;

function split(text: string, form: BodyForm, onSpan: OnSpan): string | undefined {
  if (form === 'ndjson') {
    splitLines(text, onSpan);
    return undefined;
  }
  const first = firstCharacter(text);
  if (first === text.length) return undefined;
  if (text.charCodeAt(first) === openBracket) {
    // Elements come before the end of the array is known to be well formed: hand out nothing until it is.
    const spans: number[] = [];
    const fault = splitArray(text, 0, text.length, (start, end) => spans.push(start, end));
    if (fault !== undefined) return fault;
    for (let i = 0; i < spans.length; i += 2) onSpan(text, spans[i] as number, spans[i + 1] as number);
    return undefined;
  }
  onSpan(text, 0, text.length);
  return undefined;
}

/** Position of the first character that is no JSON whitespace. */
function firstCharacter(text: string): number {
  let at = 0;
  while (at < text.length && isSpace(text.charCodeAt(at))) at++;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === carriageReturn || code === 0x09;
}

function splitLines(text: string, onSpan: OnSpan): void {
  let start = 0;
  while (start < text.length) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    let at = start;
    while (at < end && isSpace(text.charCodeAt(at))) at++;
    if (at < end) onSpan(text, start, end);
    start = end + 1;
  }
}
