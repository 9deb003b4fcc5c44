import { limits } from './limits.ts';
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
  textSlice,
} from './json-cursor.ts';

/** Sets the cursor's `suspect` if a value may be a secret. */
export interface Watch {
  onName(c: Cursor): void;
  onText(c: Cursor, start: number, end: number): void;
}

/** Returns the position after the value, or -1 with a fault. `depth` bounds the recursion. */
export function skipValue(c: Cursor, at: number, depth: number, watch?: Watch): number {
  const code = codeAt(c, at);
  if (code === quote) {
    const next = scanString(c, at);
    watch?.onText(c, at, next);
    return next;
  }
  if (code === openBrace) return skipObject(c, at, depth + 1, watch);
  if (code === openBracket) return skipArray(c, at, depth + 1, watch);
  return scanScalar(c, at);
}

export function skipMember(c: Cursor, at: number, depth: number, watch?: Watch): number {
  watch?.onName(c);
  return skipValue(c, at, depth, watch);
}

export function isTooDeep(c: Cursor, at: number, depth: number): boolean {
  if (depth <= limits.eventDepthMax) return false;
  fail(c, at, `nested deeper than ${limits.eventDepthMax} levels`);
  return true;
}

function skipObject(c: Cursor, at: number, depth: number, watch: Watch | undefined): number {
  if (isTooDeep(c, at, depth)) return -1;
  let next = skipSpace(c, at + 1);
  if (codeAt(c, next) === closeBrace) return next + 1;
  for (;;) {
    next = scanKey(c, next);
    if (next < 0) return -1;
    next = skipMember(c, next, depth, watch);
    if (next < 0) return -1;
    next = skipSpace(c, next);
    const code = codeAt(c, next);
    if (code === closeBrace) return next + 1;
    if (code !== comma) return failExpected(c, next, '"," or "}"');
    next = skipSpace(c, next + 1);
  }
}

function skipArray(c: Cursor, at: number, depth: number, watch: Watch | undefined): number {
  if (isTooDeep(c, at, depth)) return -1;
  let next = skipSpace(c, at + 1);
  if (codeAt(c, next) === closeBracket) return next + 1;
  for (;;) {
    next = skipValue(c, next, depth, watch);
    if (next < 0) return -1;
    next = skipSpace(c, next);
    const code = codeAt(c, next);
    if (code === closeBracket) return next + 1;
    if (code !== comma) return failExpected(c, next, '"," or "]"');
    next = skipSpace(c, next + 1);
  }
}

/** Sets a fault unless only white space follows. */
export function isAtEnd(c: Cursor, at: number): boolean {
  if (at < 0) return false;
  const next = skipSpace(c, at);
  if (next < c.end) fail(c, next, 'expected the end');
  return next === c.end;
}

/** After `isAtEnd`. */
export function finish(c: Cursor): string {
  const rest = textSlice(c, c.from, c.end);
  return c.out === '' ? rest : c.out + rest;
}

/** Its position is counted from `start`. */
export function describeFault(c: Cursor, start: number): string {
  return `is not acceptable JSON at byte ${c.faultAt - start}: ${c.fault}`;
}
