import { fromByteText, toByteText } from './byte-text.ts';

/**
 * Reads JSON tokens in place from byte text of valid UTF-8: strict RFC 8259, no NUL, no lone surrogate, no number beyond a
 * double. Readers take and return positions; -1 means that the cursor has a fault.
 */

export const quote = 0x22;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
export const backslash = 0x5c;
const minus = 0x2d;
const plus = 0x2b;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const space = 0x20;
const surrogatesFrom = 0xd800;
const surrogatesTo = 0xdfff;
const lowSurrogatesFrom = 0xdc00;

/** Integers of up to 308 digits are within a double's range. */
const numberCharactersSafe = 308;

/** In each of four bytes: a 1, the highest bit, and the first byte that is no control character. */
const ones = 0x01010101;
export const highBits = 0x80808080 | 0;
const quotes = quote * ones;
const backslashes = backslash * ones;
const spaces = space * ones;

export const noBytes = new Uint8Array(0);
export const noView: DataView = new DataView(noBytes.buffer);

export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/**
 * A reading position. The minified copy grows as `out` + text[from, position), so an event without white
 * space is one slice.
 */
export class Cursor {
  bytes: Uint8Array = noBytes;
  view: DataView = noView;
  /** The same as byte text, for slicing: bytes[at] is text[at + shift]. */
  text = '';
  shift = 0;
  /** The value ends before this position. */
  end = 0;
  out = '';
  from = 0;
  /** The value may contain a secret: see redact.ts. */
  suspect = false;
  /** Set by `scanString`: the string has escapes, so its text is not its value. */
  escaped = false;
  /** Set by `scanString`: it has non-ASCII bytes. */
  wide = false;
  keyStart = 0;
  keyEnd = 0;
  keyEscaped = false;
  keyWide = false;
  /** Set when a known name was read: the position of its value. */
  valueAt = 0;
  /** Set by `scanNumber`: digits only, without fraction and exponent. */
  plain = true;
  fault = '';
  faultAt = 0;

  /** Starts at bytes[start, end), which are at `textStart` of the text. Returns the first byte after white space. */
  open(bytes: Uint8Array, start: number, end: number, text: string, textStart: number): number {
    this.text = text;
    this.shift = textStart - start;
    if (this.bytes !== bytes) {
      this.bytes = bytes;
      this.view = viewOf(bytes);
    }
    this.end = end;
    this.out = '';
    this.from = start;
    this.suspect = false;
    this.fault = '';
    return skipSpace(this, start);
  }
}

export function textSlice(c: Cursor, start: number, end: number): string {
  return c.text.slice(start + c.shift, end + c.shift);
}

/** Records a fault; reading stops at the first. */
export function fail(c: Cursor, at: number, rule: string): -1 {
  c.fault = rule;
  c.faultAt = at;
  return -1;
}

export function failExpected(c: Cursor, at: number, what: string): -1 {
  return fail(c, at, at < c.end ? `expected ${what}` : `expected ${what}, found the end`);
}

/** -1 at the end. */
export const codeAt = (c: Cursor, at: number): number => (at < c.end ? (c.bytes[at] as number) : -1);

export const outPosition = (c: Cursor, at: number): number => c.out.length + at - c.from;

/** Leaves white space out of the minified copy. */
export function skipSpace(c: Cursor, at: number): number {
  const { bytes, end } = c;
  if (at < end && (bytes[at] as number) > space) return at;
  let next = at;
  for (; next < end; next++) {
    const code = bytes[next];
    if (code !== space && code !== 0x0a && code !== 0x0d && code !== 0x09) break;
  }
  if (next !== at) {
    if (c.from < at) c.out += textSlice(c, c.from, at);
    c.from = next;
  }
  return next;
}

export function scanString(c: Cursor, at: number): number {
  const { bytes, view, end } = c;
  c.escaped = false;
  let all = 0;
  let next = at + 1;
  while (next < end) {
    if (next + 4 <= end) {
      const word = view.getInt32(next, true);
      const found = endsIn(word);
      if (found === 0) {
        all |= word;
        next += 4;
        continue;
      }
      // Only the lowest mark is certain.
      const first = found & -found;
      all |= word & (first - 1);
      next += (31 - Math.clz32(first)) >> 3;
    }
    const code = bytes[next] as number;
    if (code === quote) {
      c.wide = (all & highBits) !== 0;
      return next + 1;
    }
    if (code === backslash) next = scanEscape(c, next);
    else if (code < space) next = failControl(c, next, code);
    else {
      all |= code;
      next++;
    }
    if (next < 0) return -1;
  }
  return fail(c, at, 'a string without an end');
}

/** Marks, by highest bits, bytes that end a string or belong to escapes. */
function endsIn(word: number): number {
  const toQuote = word ^ quotes;
  const toBackslash = word ^ backslashes;
  const found =
    ((toQuote - ones) & ~toQuote) | ((toBackslash - ones) & ~toBackslash) | ((word - spaces) & ~word);
  return found & highBits;
}

function failControl(c: Cursor, at: number, code: number): -1 {
  return fail(c, at, code === 0 ? 'NUL is not allowed' : 'a control character in a string must be escaped');
}

function scanEscape(c: Cursor, at: number): number {
  c.escaped = true;
  switch (codeAt(c, at + 1)) {
    case quote:
    case backslash:
    case 0x2f: // slash
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 2;
    case 0x75: // u
      return scanUnicodeEscape(c, at);
    default:
      return fail(c, at, 'not an escape of JSON');
  }
}

function scanUnicodeEscape(c: Cursor, at: number): number {
  const code = hexEscape(c, at);
  if (code < 0) return fail(c, at, '\\u needs four hexadecimal digits');
  if (code === 0) return fail(c, at, 'NUL is not allowed');
  if (code < surrogatesFrom || code > surrogatesTo) return at + 6;
  const low = code < lowSurrogatesFrom ? hexEscape(c, at + 6) : -1;
  if (low < lowSurrogatesFrom || low > surrogatesTo) return fail(c, at, 'a lone surrogate is not allowed');
  return at + 12;
}

/** The code unit of the `\uXXXX` at `at`, or -1. */
function hexEscape(c: Cursor, at: number): number {
  if (codeAt(c, at) !== backslash || codeAt(c, at + 1) !== 0x75) return -1;
  let value = 0;
  for (let next = at + 2; next < at + 6; next++) {
    const code = codeAt(c, next);
    const letter = code | 0x20;
    if (code >= zero && code <= nine) value = value * 16 + code - zero;
    else if (code > 0 && letter >= 0x61 && letter <= 0x66) value = value * 16 + letter - 0x57;
    else return -1;
  }
  return value;
}

function scanNumber(c: Cursor, at: number): number {
  let next = codeAt(c, at) === minus ? at + 1 : at;
  const whole = next;
  next = skipDigits(c, next);
  if (next === whole) return failExpected(c, next, 'a digit');
  if (next > whole + 1 && c.bytes[whole] === zero) return fail(c, whole, 'a number with a leading zero');
  c.plain = true;
  let code = codeAt(c, next);
  if (code === dot) {
    c.plain = false;
    const fraction = next + 1;
    next = skipDigits(c, fraction);
    if (next === fraction) return failExpected(c, next, 'a digit');
    code = codeAt(c, next);
  }
  const hasExponent = (code | 0x20) === 0x65 && code > 0;
  if (hasExponent) {
    c.plain = false;
    const sign = codeAt(c, next + 1);
    const exponent = sign === minus || sign === plus ? next + 2 : next + 1;
    next = skipDigits(c, exponent);
    if (next === exponent) return failExpected(c, next, 'a digit');
  }
  if ((hasExponent || next - at > numberCharactersSafe) && !Number.isFinite(Number(textSlice(c, at, next)))) {
    return fail(c, at, 'a number beyond the range of a double');
  }
  return next;
}

function skipDigits(c: Cursor, at: number): number {
  const { bytes, end } = c;
  let next = at;
  for (; next < end; next++) {
    const code = bytes[next] as number;
    if (code < zero || code > nine) break;
  }
  return next;
}

export function scanScalar(c: Cursor, at: number): number {
  const code = codeAt(c, at);
  if (code === minus || (code >= zero && code <= nine)) return scanNumber(c, at);
  if (code === 0x74) return scanLiteral(c, at, 'true');
  if (code === 0x66) return scanLiteral(c, at, 'false');
  if (code === 0x6e) return scanLiteral(c, at, 'null');
  return failExpected(c, at, 'a value');
}

function scanLiteral(c: Cursor, at: number, word: string): number {
  for (let i = 0; i < word.length; i++)
    if (codeAt(c, at + i) !== word.charCodeAt(i)) return failExpected(c, at, 'a value');
  return at + word.length;
}

/** Returns the position of the value. */
export function scanKey(c: Cursor, at: number): number {
  if (codeAt(c, at) !== quote) return failExpected(c, at, 'a name in quotes');
  const after = scanString(c, at);
  if (after < 0) return -1;
  c.keyStart = at + 1;
  c.keyEnd = after - 1;
  c.keyEscaped = c.escaped;
  c.keyWide = c.wide;
  const next = skipSpace(c, after);
  if (codeAt(c, next) !== colon) return failExpected(c, next, '":"');
  return skipSpace(c, next + 1);
}

/** Without quotes, as byte text. */
export function stringValue(c: Cursor, start: number, end: number, escaped: boolean): string {
  if (!escaped) return textSlice(c, start, end);
  return toByteText(JSON.parse(fromByteText(textSlice(c, start - 1, end + 1))) as string);
}

/** Whether the member's name is `name` (ASCII), escaped or not. */
export function keyIs(c: Cursor, name: Uint8Array): boolean {
  const { bytes, keyStart } = c;
  if (c.keyEscaped) return stringValue(c, keyStart, c.keyEnd, true) === Buffer.from(name).toString('latin1');
  const { length } = name;
  if (c.keyEnd - keyStart !== length) return false;
  // From the end: many names share a prefix.
  for (let at = length - 1; at >= 0; at--) if (bytes[keyStart + at] !== name[at]) return false;
  return true;
}

/**
 * The number text[start, end); NaN if only rounding would make it an integer, as in `0.999…9` or `1e-400`.
 */
export function numberValue(text: string, plain: boolean): number {
  const value = Number(text);
  return plain || !Number.isInteger(value) || isWhole(text) ? value : Number.NaN;
}

function isWhole(text: string): boolean {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = whole + fraction;
  let last = digits.length;
  while (last > 0 && digits.charCodeAt(last - 1) === zero) last--;
  const isZero = last === 0 || digits.slice(0, last) === '-';
  return isZero || digits.length - last >= fraction.length - Number(exponent);
}
