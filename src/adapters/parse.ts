import type { JSONObject, JSONValue } from '@jmespath-community/jmespath';
import { fromByteText, toWindow } from '../ocsf/byte-text.ts';
import {
  backslash,
  closeBrace,
  closeBracket,
  codeAt,
  comma,
  Cursor,
  openBrace,
  openBracket,
  quote,
  scanKey,
  scanScalar,
  scanString,
  skipSpace,
  stringValue,
  textSlice,
} from '../ocsf/json-cursor.ts';

/**
 * Parses JSON already checked by `RecordReader`, which also bounds its depth.
 *
 * An integer beyond 2^53 becomes a `LongInteger`: rounding would change an id. A name with an escape also
 * avoids the platform's parser: Node 24's may give such a member another record's name (nodejs/node#63785).
 * The platform takes 2 µs for a kilobyte, the reader below nine times as long.
 */
export function parseJson(text: string): JSONValue {
  const isPlain = !longInteger.test(text) && !(text.includes('\\') && hasEscapedName(text));
  return isPlain ? (JSON.parse(text) as JSONValue) : new ValueReader(text).read();
}

/**
 * Where an integer may begin that no double holds, unlike microseconds of our time; a match in a text only
 * costs time.
 */
const longInteger = /[[:,]\s*-?(?:9\d{15}|\d{17})/;

const isLong = (token: string): boolean => /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));

/**
 * An integer beyond a double's precision, as digits. Functions treat it as text, except those of persons and
 * things, where a number is an id and a text a name.
 */
export class LongInteger extends String {}

/** A value for functions that treat text and numbers alike. */
export const plain = (value: unknown): unknown => (value instanceof LongInteger ? value.toString() : value);

function hasEscapedName(json: string): boolean {
  for (let open = json.indexOf('"'); open >= 0; ) {
    let isEscaped = false;
    let at = open + 1;
    for (let code = json.charCodeAt(at); code !== quote && at < json.length; code = json.charCodeAt(at)) {
      isEscaped ||= code === backslash;
      at += code === backslash ? 2 : 1;
    }
    open = json.indexOf('"', at + 1);
    if (isEscaped && /^\s*:/.test(json.slice(at + 1, open < 0 ? undefined : open))) return true;
  }
  return false;
}

/** Of a repeated name the last counts. */
class ValueReader {
  readonly #cursor = new Cursor();
  #at: number;

  constructor(json: string) {
    const { bytes, text } = toWindow(json);
    this.#at = this.#cursor.open(bytes, 0, bytes.length, text, 0);
  }

  read(): JSONValue {
    const code = codeAt(this.#cursor, this.#at);
    if (code === openBrace) return this.#object();
    if (code === openBracket) return this.#array();
    const start = this.#at;
    this.#to(code === quote ? scanString(this.#cursor, start) : scanScalar(this.#cursor, start));
    const token = fromByteText(textSlice(this.#cursor, start, this.#at));
    return (isLong(token) ? new LongInteger(token) : JSON.parse(token)) as JSONValue;
  }

  #object(): JSONObject {
    const members: [string, JSONValue][] = [];
    for (let isLast = this.#isEmpty(closeBrace); !isLast; isLast = this.#isLast()) {
      const c = this.#cursor;
      this.#to(scanKey(c, this.#at));
      const name = fromByteText(stringValue(c, c.keyStart, c.keyEnd, c.keyEscaped));
      members.push([name, this.read()]);
    }
    return Object.fromEntries(members);
  }

  #array(): JSONValue[] {
    const elements: JSONValue[] = [];
    for (let isLast = this.#isEmpty(closeBracket); !isLast; isLast = this.#isLast())
      elements.push(this.read());
    return elements;
  }

  #isEmpty(closing: number): boolean {
    this.#to(skipSpace(this.#cursor, this.#at + 1));
    if (codeAt(this.#cursor, this.#at) !== closing) return false;
    this.#at += 1;
    return true;
  }

  #isLast(): boolean {
    const next = skipSpace(this.#cursor, this.#at);
    const isLast = codeAt(this.#cursor, next) !== comma;
    this.#to(isLast ? next + 1 : skipSpace(this.#cursor, next + 1));
    return isLast;
  }

  #to(position: number): void {
    if (position < 0) throw new Error(`not JSON: ${this.#cursor.fault}`);
    this.#at = position;
  }
}
