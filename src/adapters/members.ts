import { faultText } from '../base/errors/fault.ts';
import { fromByteText, type Window } from '../ocsf/byte-text.ts';
import {
  closeBrace,
  codeAt,
  comma,
  Cursor,
  failExpected,
  noBytes,
  openBrace,
  scanKey,
  skipSpace,
  stringValue,
  textSlice,
} from '../ocsf/json-cursor.ts';
import { describeFault, isAtEnd, skipValue } from '../ocsf/json-text.ts';

/** Names and values as JSON text. Of a repeated name the last counts. */
export type RawMembers = ReadonlyMap<string, string>;

/** Reads records strictly without changing digits; one a thread, calls must not overlap. */
export class RecordReader {
  readonly #cursor = new Cursor();

  read({ bytes, text }: Window, start: number, end: number): RawMembers | string {
    const c = this.#cursor;
    const first = c.open(bytes, start, end, text, start);
    if (codeAt(c, first) !== openBrace) return faultText('record', '', 'must be a JSON object');
    const members = new Map<string, string>();
    const isWhole = isAtEnd(c, readMembers(c, first + 1, members));
    const fault = isWhole ? undefined : faultText('record', '', describeFault(c, start));
    c.open(noBytes, 0, 0, '', 0);
    return fault ?? members;
  }
}

function readMembers(c: Cursor, at: number, members: Map<string, string>): number {
  let next = skipSpace(c, at);
  if (codeAt(c, next) === closeBrace) return next + 1;
  for (;;) {
    const value = scanKey(c, next);
    if (value < 0) return -1;
    const name = fromByteText(stringValue(c, c.keyStart, c.keyEnd, c.keyEscaped));
    next = skipValue(c, value, 1);
    if (next < 0) return -1;
    members.set(name, fromByteText(textSlice(c, value, next)));
    next = skipSpace(c, next);
    const code = codeAt(c, next);
    if (code === closeBrace) return next + 1;
    if (code !== comma) return failExpected(c, next, '"," or "}"');
    next = skipSpace(c, next + 1);
  }
}
