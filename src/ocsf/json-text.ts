import { limits } from '../base/limits.ts';
import {
  type Cursor,
  closeBrace,
  closeBracket,
  codeAt,
  comma,
  fail,
  failExpected,
  openBrace,
  openBracket,
  quote,
  scanKey,
  scanScalar,
  scanString,
  skipSpace,
} from './json-cursor.ts';
import { type KeyTest, redactedText } from './redact.ts';

/**
 * Passes over any value and returns the position after it, or -1 with a fault. `depth` counts the containers that are
 * open around it; the bound on it also bounds the recursion. With `isRedacted`, members so named lose their values,
 * at any depth, in the minified copy.
 */
export function skipValue(c: Cursor, at: number, depth: number, isRedacted?: KeyTest): number {
  const code = codeAt(c, at);
  if (code === quote) return scanString(c, at);
  if (code === openBrace) return skipObject(c, at, depth + 1, isRedacted);
  if (code === openBracket) return skipArray(c, at, depth + 1, isRedacted);
  return scanScalar(c, at);
}

/** As `skipValue`, for the value of the member whose name the cursor holds. */
export function skipMember(c: Cursor, at: number, depth: number, isRedacted?: KeyTest): number {
  if (isRedacted === undefined || !isRedacted(c)) return skipValue(c, at, depth, isRedacted);
  const kept = c.out + c.text.slice(c.from, at) + redactedText;
  const next = skipValue(c, at, depth);
  // Whatever the value added to the copy goes with it.
  c.out = kept;
  c.from = next;
  return next;
}

/** True, with a fault in the cursor, when there are more containers within each other than allowed. */
export function isTooDeep(c: Cursor, at: number, depth: number): boolean {
  if (depth <= limits.eventDepthMax) return false;
  fail(c, at, `nested deeper than ${limits.eventDepthMax} levels`);
  return true;
}

function skipObject(c: Cursor, at: number, depth: number, isRedacted: KeyTest | undefined): number {
  if (isTooDeep(c, at, depth)) return -1;
  let next = skipSpace(c, at + 1);
  if (codeAt(c, next) === closeBrace) return next + 1;
  for (;;) {
    next = scanKey(c, next);
    if (next < 0) return -1;
    next = skipMember(c, next, depth, isRedacted);
    if (next < 0) return -1;
    next = skipSpace(c, next);
    const code = codeAt(c, next);
    if (code === closeBrace) return next + 1;
    if (code !== comma) return failExpected(c, next, '"," or "}"');
    next = skipSpace(c, next + 1);
  }
}

function skipArray(c: Cursor, at: number, depth: number, isRedacted: KeyTest | undefined): number {
  if (isTooDeep(c, at, depth)) return -1;
  let next = skipSpace(c, at + 1);
  if (codeAt(c, next) === closeBracket) return next + 1;
  for (;;) {
    next = skipValue(c, next, depth, isRedacted);
    if (next < 0) return -1;
    next = skipSpace(c, next);
    const code = codeAt(c, next);
    if (code === closeBracket) return next + 1;
    if (code !== comma) return failExpected(c, next, '"," or "]"');
    next = skipSpace(c, next + 1);
  }
}

/**
 * Finds the elements of the JSON array that is text[start, end) and hands `onElement` where each begins and ends,
 * whitespace after it included. Looks at strings and brackets only, so that an element that is no JSON costs that
 * element and not its neighbours; reading the element finds what is wrong with it. If every element is JSON, so is
 * the array. Depth costs no memory.
 *
 * Returns undefined, or what is wrong with the array itself, such as an element or the end missing; elements before
 * that point have been handed out then, so the caller must be able to drop them.
 */
export function splitArray(
  text: string,
  start: number,
  end: number,
  onElement: (start: number, end: number) => void,
): string | undefined {
  const open = firstToken(text, start, end);
  if (open === end || text.charCodeAt(open) !== openBracket) return `expected "[" at byte ${open - start}`;
  let elementStart = firstToken(text, open + 1, end);
  if (text.charCodeAt(elementStart) === closeBracket) return endOfArray(text, elementStart + 1, start, end);

  let depth = 0;
  for (let at = elementStart; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = closingQuote(text, at, end);
      if (at < 0) break;
    } else if (code === openBrace || code === openBracket) {
      depth++;
    } else if (depth > 0) {
      if (code === closeBrace || code === closeBracket) depth--;
    } else if (code === closeBrace) {
      return `"}" without "{" at byte ${at - start}`;
    } else if (code === comma || code === closeBracket) {
      if (at === elementStart) return `expected a value at byte ${at - start}`;
      onElement(elementStart, at);
      if (code === closeBracket) return endOfArray(text, at + 1, start, end);
      elementStart = firstToken(text, at + 1, end);
      at = elementStart - 1;
    }
  }
  return 'the array has no end';
}

function endOfArray(text: string, at: number, start: number, end: number): string | undefined {
  const next = firstToken(text, at, end);
  return next === end ? undefined : `expected nothing after the array, at byte ${next - start}`;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** The position of the first character of text[start, end) that is no whitespace; `end` where all of it is. */
export function firstToken(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** The position after the last character of text[start, end) that is no whitespace; `start` where all of it is. */
export function lastToken(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && isSpace(text.charCodeAt(at - 1))) at--;
  return at;
}

/** The position of the quote that closes the string opened at `at`, or -1. */
function closingQuote(text: string, at: number, end: number): number {
  for (
    let close = text.indexOf('"', at + 1);
    close >= 0 && close < end;
    close = text.indexOf('"', close + 1)
  ) {
    let escapes = close;
    while (text.charCodeAt(escapes - 1) === 0x5c) escapes--;
    if ((close - escapes) % 2 === 0) return close;
  }
  return -1;
}

/** True when a value that ends at `at` (-1 is a fault) is followed by whitespace only; else leaves a fault. */
export function isAtEnd(c: Cursor, at: number): boolean {
  if (at < 0) return false;
  const next = skipSpace(c, at);
  if (next < c.end) fail(c, next, 'expected the end');
  return next === c.end;
}

/** The whole minified copy, after `isAtEnd`. */
export function finish(c: Cursor): string {
  const rest = c.text.slice(c.from, c.end);
  return c.out === '' ? rest : c.out + rest;
}

/** The cursor's fault in words, its position counted from `start`. */
export function describeFault(c: Cursor, start: number): string {
  return `is not acceptable JSON at byte ${c.faultAt - start}: ${c.fault}`;
}
