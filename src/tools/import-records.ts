import type { Mapping } from '../adapters/mapping.ts';
import { listStartIn } from '../adapters/records.ts';
import { firstToken } from '../ocsf/json-array.ts';
import {
  backslash,
  closeBrace,
  closeBracket,
  comma,
  openBrace,
  openBracket,
  quote,
} from '../ocsf/json-cursor.ts';
import { type Line, LineSplitter, lineBytesHeldMax, type TextSplitter } from './import-chunks.ts';
import { type ImportSource, peek } from './import-source.ts';
import { limits } from './limits.ts';

/**
 * The text of a source from `offset`, and a splitter for lines or for a list, chosen by the text's beginning.
 */
export async function openRecords(
  source: ImportSource,
  offset: number,
  mapping: Mapping | undefined,
): Promise<{ readonly text: AsyncIterable<Buffer>; readonly splitter: TextSplitter }> {
  if (mapping === undefined) return { text: source.text(offset), splitter: new LineSplitter() };
  const { head, whole } = await peek(source.text(0), limits.importHeadBytes);
  const listStart = startOfList(head, mapping.records);
  const splitter =
    listStart === undefined ? new LineSplitter() : new ListSplitter(Math.max(0, listStart + 1 - offset));
  if (offset === 0) return { text: whole, splitter };
  await whole.return();
  return { text: source.text(offset), splitter };
}

/** Position of the list's opening bracket; undefined: each line is a record. */
function startOfList(head: Buffer, records: string | undefined): number | undefined {
  const mark = head.subarray(0, 3).equals(Buffer.from('\ufeff')) ? 3 : 0;
  const first = firstToken(head, mark, head.length);
  if (head[first] === openBracket) return first;
  return records === undefined ? undefined : listStartIn(head, first, head.length, records);
}

/**
 * Splits a JSON array by strings and brackets, so an invalid record affects only itself. Ignores text after
 * the array.
 */
class ListSplitter implements TextSplitter {
  #skip: number;
  #pieces: Buffer[] = [];
  #bufferedBytes = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #isOver = false;

  constructor(skip: number) {
    this.#skip = skip;
  }

  *push(piece: Buffer): Generator<Line> {
    let start = 0;
    const first = Math.max(0, this.#skip - this.#bufferedBytes);
    for (let at = first; at < piece.length && !this.#isOver; at++) {
      if (!this.#ends(piece[at] as number)) continue;
      yield this.#take(piece.subarray(start, at), 1);
      start = at + 1;
    }
    this.#hold(piece.subarray(start));
  }

  *end(): Generator<Line> {
    if (this.#bufferedBytes > 0) yield this.#take(Buffer.alloc(0), 0);
  }

  #ends(code: number): boolean {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (code === backslash) this.#escaped = true;
      else if (code === quote) this.#inString = false;
      return false;
    }
    const closes = code === closeBracket || code === closeBrace;
    if (code === quote) this.#inString = true;
    else if (code === openBrace || code === openBracket) this.#depth++;
    else if (closes && this.#depth === 0) this.#isOver = true;
    else if (closes) this.#depth--;
    return this.#isOver || (this.#depth === 0 && code === comma);
  }

  /** Of a record that is too long, only the length matters. */
  #hold(bytes: Buffer, isOver = this.#isOver): void {
    this.#bufferedBytes += bytes.length;
    if (this.#bufferedBytes - this.#skip > lineBytesHeldMax || isOver) this.#pieces = [];
    else this.#pieces.push(bytes);
  }

  #take(last: Buffer, endBytes: number): Line {
    this.#hold(last, false);
    const bytes = this.#bufferedBytes;
    const isTooLong = bytes - this.#skip > lineBytesHeldMax;
    const content = isTooLong ? undefined : onOneLine(Buffer.concat(this.#pieces).subarray(this.#skip));
    this.#pieces = [];
    this.#bufferedBytes = 0;
    this.#skip = 0;
    return { content, bytes: bytes + endBytes };
  }
}

/** Between JSON tokens a line end is white space. */
function onOneLine(record: Buffer): Buffer {
  if (!record.includes(0x0a) && !record.includes(0x0d)) return record;
  return Buffer.from(record.map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte)));
}
