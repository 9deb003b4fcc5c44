import { firstToken, splitArray } from '../ocsf/json-array.ts';
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
} from '../ocsf/json-cursor.ts';

/**
 * Range of the list in member `name` of the JSON object bytes[start, end), brackets included; undefined if
 * there is none. Scans strings and brackets only: a fault inside a record affects only that record.
 */
export function listIn(
  bytes: Buffer,
  start: number,
  end: number,
  name: string,
): readonly [start: number, end: number] | undefined {
  const { listStart, listEnd, depth } = findList(bytes, start, end, name);
  return depth === 0 && listEnd > listStart ? [listStart, listEnd] : undefined;
}

/** The start of a list whose end may be beyond the bytes. */
export function listStartIn(bytes: Buffer, start: number, end: number, name: string): number | undefined {
  const { listStart } = findList(bytes, start, end, name);
  return listStart >= 0 ? listStart : undefined;
}

/** The elements of a checked JSON array; none for another value. */
export function splitElements(text: string): string[] {
  if (!text.startsWith('[')) return [];
  const bytes = Buffer.from(text);
  const elements: string[] = [];
  splitArray(bytes, 0, bytes.length, (start, end) => elements.push(bytes.toString('utf8', start, end)));
  return elements;
}

interface FoundList {
  readonly listStart: number;
  readonly listEnd: number;
  /** Open objects and lists at the end of the bytes. */
  readonly depth: number;
}

function findList(bytes: Buffer, start: number, end: number, name: string): FoundList {
  const quoted = Buffer.from(JSON.stringify(name));
  let depth = 0;
  let isNamed = false;
  let listStart = -1;
  let listEnd = -1;
  for (let at = start; at < end; at++) {
    const code = bytes[at] as number;
    if (code === quote) {
      const stringStart = at;
      at = endOfString(bytes, at, end);
      if (depth === 1 && bytes.subarray(stringStart, at + 1).equals(quoted))
        isNamed = isName(bytes, at + 1, end);
    } else if (code === openBrace || code === openBracket) {
      if (depth === 1 && isNamed && code === openBracket) listStart = at;
      depth++;
    } else if (code === closeBrace || code === closeBracket) {
      depth--;
      if (depth === 1 && isNamed && listStart >= 0) listEnd = at + 1;
      if (depth === 0) return { listStart, listEnd, depth: isBlank(bytes, at + 1, end) ? 0 : -1 };
    } else if (code === comma && depth === 1) isNamed = false;
  }
  return { listStart, listEnd, depth };
}

function endOfString(bytes: Buffer, at: number, end: number): number {
  let next = at + 1;
  while (next < end && bytes[next] !== quote) next += bytes[next] === backslash ? 2 : 1;
  return next;
}

const isBlank = (bytes: Buffer, start: number, end: number): boolean => firstToken(bytes, start, end) === end;

function isName(bytes: Buffer, at: number, end: number): boolean {
  return bytes[firstToken(bytes, at, end)] === colon;
}
