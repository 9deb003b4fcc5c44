import { limits } from './limits.ts';

const importChunkLinesMax = 10_000;
/** Bytes of a request, up to the end of its last line; fewer with `importChunkLinesMax` lines. */
const importChunkBytes = 700_000;

/** Its end depends on the text alone. */
export interface ImportChunk {
  /** First byte in the text, and the one after the last. */
  readonly offset: number;
  readonly end: number;
  readonly nextLine: number;
  readonly lines: readonly Buffer[];
  readonly numbers: readonly number[];
  readonly tooLong: readonly number[];
  /** Bytes of an unfinished last line; 0 if none. */
  readonly unfinishedBytes: number;
}

export interface Line {
  /** Without line end; undefined if too long. */
  readonly content: Buffer | undefined;
  /** With line end. */
  readonly bytes: number;
}

const newline = 0x0a;
const byteOrderMark = Buffer.from('\ufeff');
/** A line and a byte order mark. */
export const lineBytesHeldMax = limits.importLineBytesMax + byteOrderMark.length;

export interface TextSplitter {
  push(piece: Buffer): Iterable<Line>;
  end(): Iterable<Line>;
}

/** Splits a text that begins at `offset` with line `firstLine`; buffers one chunk and one line. */
export async function* splitChunks(
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
  #pieces: Buffer[] = [];
  #bufferedBytes = 0;

  *push(piece: Buffer): Generator<Line> {
    let at = 0;
    for (let stop = piece.indexOf(newline); stop >= 0; stop = piece.indexOf(newline, at)) {
      yield this.#lineWith(piece.subarray(at, stop), 1);
      at = stop + 1;
    }
    // Of a line that is too long, only the length matters.
    if (this.#bufferedBytes > lineBytesHeldMax) this.#pieces = [];
    else if (at < piece.length) this.#pieces.push(piece.subarray(at));
    this.#bufferedBytes += piece.length - at;
  }

  *end(): Generator<Line> {
    if (this.#bufferedBytes > 0) yield this.#lineWith(Buffer.alloc(0), 0);
  }

  #lineWith(last: Buffer, endBytes: number): Line {
    const bytes = this.#bufferedBytes + last.length;
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#bufferedBytes = 0;
    if (bytes > lineBytesHeldMax) return { content: undefined, bytes: bytes + endBytes };
    const content = pieces.length === 0 ? last : Buffer.concat([...pieces, last]);
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

/** Spaces, tabs and carriage returns only. */
function isBlank(line: Buffer): boolean {
  for (const byte of line) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  return true;
}

function withoutMark(line: Buffer | undefined): Buffer | undefined {
  return line?.subarray(0, 3).equals(byteOrderMark) === true ? line.subarray(3) : line;
}
