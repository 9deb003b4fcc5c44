import { StringDecoder } from 'node:string_decoder';
import { ifThere } from '../base/errors/system-error.ts';
import { decodeLine, encodeLine, type Kept } from './answer-records.ts';
import type { LogFiles } from './files.ts';
import { limits } from './limits.ts';

const pieceBytes = 1024 * 1024;
const lineLengthMax = limits.idempotencyPartBytesMax + 1024;

export type AnswerKind = 'answers' | 'errors';

/** Skipped lines: before the last intact line, or after it. A torn end is expected: its segment is still in the log. */
export type Rest = 'damage' | 'end';

async function* linesIn(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new StringDecoder('utf8');
  let begun = '';
  for await (const piece of pieces) {
    const lines = (begun + decoder.write(piece)).split('\n');
    begun = lines.pop() as string;
    if (begun.length > lineLengthMax) {
      lines.push(begun);
      begun = '';
    }
    yield lines;
  }
  if (begun !== '') yield [begun];
}

/** The intact lines in `pieces`, as many at once as a piece ends. Calls `rest` if some were skipped. */
export async function* keptIn(
  pieces: AsyncIterable<Uint8Array>,
  rest: (skipped: Rest) => void,
): AsyncGenerator<Kept[]> {
  let skipped: Rest | undefined;
  for await (const lines of linesIn(pieces)) {
    const intact: Kept[] = [];
    for (const line of lines) {
      const kept = decodeLine(line);
      if (kept === undefined) skipped ??= 'end';
      else {
        if (skipped === 'end') skipped = 'damage';
        intact.push(kept);
      }
    }
    yield intact;
  }
  if (skipped !== undefined) rest(skipped);
}

/** Files of an hour are numbered; each is written by one process, from its beginning to its first failure. */
interface AnswerFile {
  readonly name: string;
  readonly hour: number;
  readonly part: number;
}

type Folder = Pick<LogFiles, 'list' | 'openReader'>;

async function filesIn(folder: Folder, kind: AnswerKind): Promise<AnswerFile[]> {
  const found = (await folder.list()).flatMap((name) => {
    const [, hour, part, ending] = /^(\d+)\.(\d+)\.(\w+)$/.exec(name) ?? [];
    return ending === kind ? [{ name, hour: Number(hour), part: Number(part) }] : [];
  });
  return found.toSorted((one, other) => one.hour - other.hour || one.part - other.part);
}

async function* piecesOf(folder: Folder, name: string): AsyncGenerator<Uint8Array> {
  const reader = await ifThere(folder.openReader(name));
  if (reader === undefined) return;
  try {
    const piece = Buffer.alloc(pieceBytes);
    for (let at = 0, length = piece.length; length === piece.length; at += length) {
      length = await reader.read(piece, at);
      yield piece.subarray(0, length);
    }
  } finally {
    await reader.close();
  }
}

/** What files of a kind hold, oldest first. */
export async function* keptInFiles(
  folder: Folder,
  kind: AnswerKind,
  rest: (name: string, skipped: Rest) => void,
): AsyncGenerator<Kept[]> {
  for (const { name } of await filesIn(folder, kind))
    yield* keptIn(piecesOf(folder, name), (skipped) => rest(name, skipped));
}

interface SizedFile extends AnswerFile {
  bytes: number;
}

/**
 * Keeps remembered answers, or their errors, over restarts. Past `bytesMax` bytes the oldest files go. Each
 * run, and each write after a failure, begins a file, so nothing is written behind a torn end.
 */
export class AnswerFiles {
  readonly #files: LogFiles;
  readonly #kind: AnswerKind;
  readonly #bytesMax: number;
  readonly #list: SizedFile[] = [];
  #open: SizedFile | undefined;

  private constructor(files: LogFiles, kind: AnswerKind, bytesMax: number) {
    this.#files = files;
    this.#kind = kind;
    this.#bytesMax = bytesMax;
  }

  static async open(files: LogFiles, kind: AnswerKind, bytesMax: number): Promise<AnswerFiles> {
    const opened = new AnswerFiles(files, kind, bytesMax);
    for (const file of await filesIn(files, kind)) {
      const reader = await files.openReader(file.name);
      try {
        opened.#list.push({ ...file, bytes: await reader.size() });
      } finally {
        await reader.close();
      }
    }
    return opened;
  }

  async append(hour: number, kept: readonly Kept[]): Promise<void> {
    if (kept.length === 0) return;
    const lines = Buffer.from(kept.map(encodeLine).join(''));
    const target = this.#open;
    const isFit =
      target !== undefined && target.hour >= hour && target.bytes < limits.idempotencyFileBytesMax;
    const file = isFit ? await ifThere(this.#files.open(target.name)) : undefined;
    this.#open = undefined;
    const written = file === undefined ? this.#next(hour) : (target as SizedFile);
    const output = file ?? (await this.#create(written));
    // Counted first: a failed write may leave some bytes.
    written.bytes += lines.length;
    try {
      await output.append([lines]);
    } finally {
      await output.close();
    }
    if (file === undefined) await this.#files.syncDirectory();
    this.#open = written;
    await this.#removeWhile((oldest) => oldest !== written && this.#bytes() > this.#bytesMax);
  }

  removeBefore(hour: number): Promise<void> {
    return this.#removeWhile((oldest) => oldest.hour < hour);
  }

  #next(hour: number): SizedFile {
    const last = this.#list.at(-1);
    const at = last !== undefined && last.hour >= hour ? last : { hour, part: -1 };
    const part = at.part + 1;
    return { name: `${at.hour}.${part}.${this.#kind}`, hour: at.hour, part, bytes: 0 };
  }

  async #create(file: SizedFile): Promise<Awaited<ReturnType<LogFiles['create']>>> {
    // Listed first: a failed creation may leave the name behind, so it cannot be reused.
    this.#list.push(file);
    return this.#files.create(file.name);
  }

  async #removeWhile(isOver: (oldest: SizedFile) => boolean): Promise<void> {
    for (let [oldest] = this.#list; oldest !== undefined && isOver(oldest); [oldest] = this.#list) {
      await ifThere(this.#files.remove(oldest.name));
      if (this.#open === oldest) this.#open = undefined;
      this.#list.shift();
    }
  }

  #bytes(): number {
    return this.#list.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
