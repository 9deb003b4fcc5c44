import { limits } from './limits.ts';

const importChunkLinesMax = 10_000;
/** Bytes of a request, up to the end of its last line; fewer with `importChunkLinesMax` lines. */
const importChunkBytes = 700_000;

/** Whole lines that one request sends. Its end depends on the text alone. */
export interface ImportChunk {
  /** First byte in the text, and the one after the last. */
  readonly offset: number;
  readonly end: number;
  readonly nextLine: number;
  /** Its lines that are not blank, and their numbers. */
  readonly lines: readonly Buffer[];
  readonly numbers: readonly number[];
  /** Numbers of lines that are too long to be an event. */
  readonly tooLong: readonly number[];
  /** Bytes of an unfinished last line, whose writer may not be done; else 0. */
  readonly unfinishedBytes: number;
}

export interface Line {
  /** Without its end; undefined where it is too long. */
  readonly content: Buffer | undefined;
  /** With its end. */
  readonly bytes: number;
}

const newline = 0x0a;
const byteOrderMark = Buffer.from('\ufeff');
/** A line and a byte order mark: one that is longer is too long. */
export const lineBytesHeldMax = limits.importLineBytesMax + byteOrderMark.length;

/** Finds lines, or records, in pieces of a text. */
export interface TextSplitter {
  push(piece: Buffer): Iterable<Line>;
  end(): Iterable<Line>;
}

/** Divides a text, which begins at `offset` with line `firstLine`; holds one chunk and one line. */
export async function* chunksOf(
  text: AsyncIterable<Buffer>,
  { offset, firstLine }: { readonly offset: number; readonly firstLine: number },
  splitter: TextSplitter = new LineSplitter(),
): AsyncGenerator<ImportChunk, void, undefined> {
  let chunk = new OpenChunk(offset, firstLine);
  for await (const piece of text) {
    for (const line of splitter.push(piece)) {
      chunk.add(line);
      if (!chunk.isFull()) continue;
      yield chunk;
      chunk = new OpenChunk(chunk.end, chunk.nextLine);
    }
  }
  for (const line of splitter.end()) chunk.addLast(line);
  if (chunk.end > chunk.offset) yield chunk;
}

export class LineSplitter implements TextSplitter {
  #held: Buffer[] = [];
  #heldBytes = 0;

  *push(piece: Buffer): Generator<Line> {
    let at = 0;
    for (let stop = piece.indexOf(newline); stop >= 0; stop = piece.indexOf(newline, at)) {
      yield this.#lineWith(piece.subarray(at, stop), 1);
      at = stop + 1;
    }
    // Where a line is too long, only its length matters.
    if (this.#heldBytes > lineBytesHeldMax) this.#held = [];
    else if (at < piece.length) this.#held.push(piece.subarray(at));
    this.#heldBytes += piece.length - at;
  }

  *end(): Generator<Line> {
    if (this.#heldBytes > 0) yield this.#lineWith(Buffer.alloc(0), 0);
  }

  #lineWith(last: Buffer, endBytes: number): Line {
    const bytes = this.#heldBytes + last.length;
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    if (bytes > lineBytesHeldMax) return { content: undefined, bytes: bytes + endBytes };
    const content = held.length === 0 ? last : Buffer.concat([...held, last]);
    return { content, bytes: bytes + endBytes };
  }
}

class OpenChunk implements ImportChunk {
  readonly offset: number;
  end: number;
  nextLine: number;
  readonly lines: Buffer[] = [];
  readonly numbers: number[] = [];
  readonly tooLong: number[] = [];
  unfinishedBytes = 0;

  constructor(offset: number, nextLine: number) {
    this.offset = offset;
    this.end = offset;
    this.nextLine = nextLine;
  }

  isFull(): boolean {
    return this.end - this.offset >= importChunkBytes || this.lines.length >= importChunkLinesMax;
  }

  add({ content, bytes }: Line): void {
    const line = this.end === 0 ? withoutMark(content) : content;
    if (line === undefined || line.length > limits.importLineBytesMax) this.tooLong.push(this.nextLine);
    else if (!isBlank(line)) {
      this.lines.push(line);
      this.numbers.push(this.nextLine);
    }
    this.end += bytes;
    this.nextLine += 1;
  }

  /** No beginning of an event is JSON by itself. */
  addLast(line: Line): void {
    this.add(line);
    if (line.content !== undefined && !isJson(this.lines.at(-1) ?? line.content))
      this.unfinishedBytes = line.bytes;
  }
}

function isJson(text: Buffer): boolean {
  try {
    JSON.parse(text.toString());
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/** Spaces, tabs and carriage returns alone; such a line is no event. */
function isBlank(line: Buffer): boolean {
  for (const byte of line) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  return true;
}

function withoutMark(line: Buffer | undefined): Buffer | undefined {
  return line?.subarray(0, 3).equals(byteOrderMark) === true ? line.subarray(3) : line;
}
