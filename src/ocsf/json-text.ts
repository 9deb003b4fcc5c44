import { limits } from './limits.ts';
import {
  type Cursor,
  closeBrace,
  closeBracket,
  codeAt,
  comma,
  fail,
  failExpected,
  keyIs,
  openBrace,
  openBracket,
  quote,
  scanKey,
  scanScalar,
  scanString,
  skipSpace,
  takeCopy,
  textSlice,
} from './json-cursor.ts';
import { type KeyTest, redactedText } from './redact.ts';

/**
 * Passes over any value and returns the position after it, or -1 with a fault. `depth` counts the containers that are
 * open around it; the bound on it also bounds the recursion. With `isRedacted`, members so named lose their values,
 * at any depth, in the minified copy, and so do the values of such names in lists of pairs (see `skipPair`).
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
  if (isRedacted === undefined || isLiteral(codeAt(c, at)) || !isRedacted(c)) {
    return skipValue(c, at, depth, isRedacted);
  }
  const before = takeCopy(c, at);
  const next = skipValue(c, at, depth);
  // Whatever the value added to the copy goes with it.
  c.out = before + redactedText;
  c.from = next;
  c.redacted = true;
  return next;
}

/** What begins with this is true, false or null: they say whether there is a secret, and are none. */
function isLiteral(code: number): boolean {
  return code === 0x74 || code === 0x66 || code === 0x6e;
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
    const isPair = isRedacted !== undefined && codeAt(c, next) === openBrace;
    next = isPair ? skipPair(c, next, depth + 1, isRedacted) : skipValue(c, next, depth, isRedacted);
    if (next < 0) return -1;
    next = skipSpace(c, next);
    const code = codeAt(c, next);
    if (code === closeBracket) return next + 1;
    if (code !== comma) return failExpected(c, next, '"," or "]"');
    next = skipSpace(c, next + 1);
  }
}

const nameName = Buffer.from('name');
const keyName = Buffer.from('key');
const valueName = Buffer.from('value');

/**
 * An object in a list. If its `name` or `key` is a name whose value must go, its `value` goes, and that may stand
 * before the name: so the copy is taken apart at each `value`, and put together when the object ends. Each byte is
 * read once, however such objects are nested.
 */
function skipPair(c: Cursor, at: number, depth: number, isRedacted: KeyTest): number {
  if (isTooDeep(c, at, depth)) return -1;
  /** The copy before the first `value`, the value, the copy up to the next one, … */
  const parts: string[] = [];
  let isSecret = false;
  let next = skipSpace(c, at + 1);
  let code = codeAt(c, next);
  if (code === closeBrace) return next + 1;
  while (code !== closeBrace) {
    next = scanKey(c, next);
    if (next < 0) return -1;
    const start = next;
    const isName = keyIs(c, nameName) || keyIs(c, keyName);
    const isValue = !isName && keyIs(c, valueName);
    if (isValue) parts.push(takeCopy(c, start));
    next = skipMember(c, start, depth, isRedacted);
    if (next < 0) return -1;
    if (isValue) parts.push(takeCopy(c, next));
    if (isName && namesSecret(c, start, next, isRedacted)) isSecret = true;
    next = skipSpace(c, next);
    code = codeAt(c, next);
    if (code !== closeBrace && code !== comma) return failExpected(c, next, '"," or "}"');
    next = code === comma ? skipSpace(c, next + 1) : next + 1;
  }
  if (parts.length > 0) joinParts(c, next, parts, isSecret);
  return next;
}

/** True when the value [start, end) of a `name` or `key` is a string, and a name whose value must go. */
function namesSecret(c: Cursor, start: number, end: number, isRedacted: KeyTest): boolean {
  if (codeAt(c, start) !== quote) return false;
  c.keyStart = start + 1;
  c.keyEnd = end - 1;
  c.keyEscaped = c.escaped;
  c.keyWide = c.wide;
  return isRedacted(c);
}

/** Puts the copy of an object that ends at `at` together again, without its values if they are secret. */
function joinParts(c: Cursor, at: number, parts: readonly string[], isSecret: boolean): void {
  let copy = '';
  for (const [index, part] of parts.entries()) {
    const isHidden = isSecret && index % 2 === 1 && !isLiteral(part.charCodeAt(0));
    copy += isHidden ? redactedText : part;
    if (isHidden) c.redacted = true;
  }
  c.out = copy + takeCopy(c, at);
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
  const rest = textSlice(c, c.from, c.end);
  return c.out === '' ? rest : c.out + rest;
}

/** The cursor's fault in words, its position counted from `start`. */
export function describeFault(c: Cursor, start: number): string {
  return `is not acceptable JSON at byte ${c.faultAt - start}: ${c.fault}`;
}
