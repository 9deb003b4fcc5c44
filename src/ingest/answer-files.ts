import { errorCode } from '../base/system-error.ts';
import type { LogFiles, LogReader } from './files.ts';
import { limits } from './limits.ts';

/** A file of remembered answers: lines of JSON, each begun by a line break. Those of an hour are numbered. */
interface AnswerFile {
  readonly name: string;
  readonly hour: number;
  readonly part: number;
}

const newline = 0x0a;

function nameOf(hour: number, part: number): string {
  return part === 0 ? `${hour}.answers` : `${hour}.${part}.answers`;
}

/** The files of remembered answers in a folder, oldest first. */
async function answerFiles(files: Pick<LogFiles, 'list'>): Promise<AnswerFile[]> {
  const found = (await files.list()).flatMap((name) => {
    const [, hour, part = '0'] = /^(\d+)(?:\.(\d+))?\.answers$/.exec(name) ?? [];
    return hour === undefined ? [] : [{ name, hour: Number(hour), part: Number(part) }];
  });
  return found.toSorted((one, other) => one.hour - other.hour || one.part - other.part);
}

/**
 * The lines of a file from a place on, as many at once as are in a piece of it: never the file, which can be larger than
 * a string. Of a line that the place divides the rest is left out.
 */
async function* linesOf(reader: LogReader, from: number): AsyncGenerator<string[]> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let isDivided = from > 0;
  const piece = Buffer.alloc(limits.idempotencyPieceBytes);
  for (let at = from, length = piece.length; length === piece.length; at += length) {
    length = await reader.read(piece, at);
    const end = length === 0 ? -1 : piece.lastIndexOf(newline, length - 1);
    if (end >= 0) {
      const lines = Buffer.concat([...held, piece.subarray(0, end)])
        .toString('utf8')
        .split('\n');
      yield (isDivided ? lines.slice(1) : lines).filter((line) => line !== '');
      [held, heldBytes, isDivided] = [[], 0, false];
    }
    held.push(Buffer.from(piece.subarray(end + 1, length)));
    heldBytes += length - end - 1;
    // No line is as long: what a disk has put in its place is passed over.
    if (heldBytes > limits.frameBytesMax) isDivided = true;
    if (isDivided) [held, heldBytes] = [[], 0];
  }
  const last = Buffer.concat(held).toString('utf8');
  if (last !== '' && !isDivided) yield [last];
}

/** All lines of all files in a folder, oldest first, of which a server may remove some meanwhile. */
export async function* answerLines(files: Pick<LogFiles, 'list' | 'openReader'>): AsyncGenerator<string[]> {
  for (const { name } of await answerFiles(files)) {
    const reader = await unlessGone(files.openReader(name));
    if (reader === undefined) continue;
    try {
      yield* linesOf(reader, 0);
    } finally {
      await reader.close();
    }
  }
}

/** Undefined where the file has been taken away since it was listed. */
async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** A file, and how many bytes are in it. */
interface SizedFile extends AnswerFile {
  bytes: number;
  /** Its name survives a power cut. */
  isNamed: boolean;
}

/**
 * The files that remembered answers are kept in over restarts. Bounded: past `idempotencyFilesBytesMax` bytes the oldest go
 * first, as they do in memory, so a start reads no more than that.
 */
export class AnswerFiles {
  readonly #files: LogFiles;
  /** Oldest first; the last one takes what comes. */
  readonly #list: SizedFile[] = [];

  private constructor(files: LogFiles) {
    this.#files = files;
  }

  static async open(files: LogFiles): Promise<AnswerFiles> {
    const opened = new AnswerFiles(files);
    for (const file of await answerFiles(files)) {
      const reader = await files.openReader(file.name);
      try {
        opened.#list.push({ ...file, bytes: await reader.size(), isNamed: true });
      } finally {
        await reader.close();
      }
    }
    return opened;
  }

  /** The lines of the newest bytes that are remembered, oldest first; `skipped` is told how many bytes are not read. */
  async *lines(skipped: (bytes: number) => void): AsyncGenerator<{ name: string; lines: string[] }> {
    let over = this.#bytes() - limits.idempotencyFilesBytesMax;
    if (over > 0) skipped(over);
    for (const { name, bytes } of this.#list) {
      const from = Math.min(Math.max(0, over), bytes);
      over -= bytes;
      if (from === bytes) continue;
      const reader = await this.#files.openReader(name);
      try {
        for await (const lines of linesOf(reader, from)) yield { name, lines };
      } finally {
        await reader.close();
      }
    }
  }

  /** Adds lines to the file of an hour, durably. */
  async append(hour: number, notes: readonly Uint8Array[]): Promise<void> {
    const last = this.#list.at(-1);
    const isOpen = last !== undefined && last.hour >= hour && last.bytes < limits.idempotencyFileBytesMax;
    const at =
      last !== undefined && last.hour >= hour ? { hour: last.hour, part: last.part + 1 } : { hour, part: 0 };
    const target: SizedFile = isOpen
      ? last
      : { ...at, name: nameOf(at.hour, at.part), bytes: 0, isNamed: false };
    const file = await (isOpen ? unlessGone(this.#files.open(target.name)) : this.#files.create(target.name));
    if (file === undefined) {
      this.#list.pop();
      return this.append(hour, notes);
    }
    // Before it is written: a write that failed may have left some of it.
    if (!isOpen) this.#list.push(target);
    target.bytes += notes.reduce((sum, { length }) => sum + length + 1, 0);
    try {
      // The line break comes first: it also ends a line that a crash cut short.
      await file.append(notes.flatMap((note) => [Buffer.from('\n'), note]));
    } finally {
      await file.close();
    }
    if (!target.isNamed) await this.#files.syncDirectory();
    target.isNamed = true;
    await this.#removeWhile(
      (oldest) => this.#bytes() - oldest.bytes > limits.idempotencyFilesBytesMax && oldest !== target,
    );
  }

  /** Removes the files of hours before this one. */
  removeBefore(hour: number): Promise<void> {
    return this.#removeWhile((oldest) => oldest.hour < hour);
  }

  async #removeWhile(isOver: (oldest: SizedFile) => boolean): Promise<void> {
    for (let [oldest] = this.#list; oldest !== undefined && isOver(oldest); [oldest] = this.#list) {
      await unlessGone(this.#files.remove(oldest.name));
      this.#list.shift();
    }
  }

  #bytes(): number {
    return this.#list.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
