import { namesIn } from '../base/files/durable-file.ts';
import { Mutex } from '../base/waiting/keyed-mutex.ts';
import {
  AnswerFiles,
  answerBlocks,
  type Block,
  type BlockKind,
  encodeBlocks,
  type Rest,
} from './answer-files.ts';
import { type Entry, encodeErrors, encodeRecord, errorsOf } from './answer-records.ts';
import type { LogFiles } from './files.ts';
import { limits } from './limits.ts';

const hourMs = 3_600_000;
const hoursKept = limits.idempotencyWindowMs / hourMs + 1;

export interface StoreBounds {
  readonly idempotencyFilesBytesMax: number;
  readonly idempotencyErrorsBytesMax: number;
}

/**
 * A moment that has come: the end of the hour in which the newest file of answers was begun, Unix milliseconds. Undefined:
 * there is none. Rejects where the folder cannot be read.
 */
export async function newestAnswerMs(directory: string): Promise<number | undefined> {
  const hours = (await namesIn(directory)).flatMap((name) => /^(\d+)\.\d+\.answers$/.exec(name)?.[1] ?? []);
  return hours.length === 0 ? undefined : (Math.max(...hours.map(Number)) + 1) * hourMs;
}

/** Remembered answers in a folder, in files of their hour: records in some, errors in others. */
export class AnswerStore {
  readonly #folder: LogFiles;
  readonly #nowMs: () => number;
  readonly #files: Readonly<Record<BlockKind, AnswerFiles>>;
  /** Two segments may be stored at the same time, but a file has one end. */
  readonly #writing = new Mutex();
  /** The hour in which old files were last removed. */
  #cleanedHour = 0;

  private constructor(
    folder: LogFiles,
    nowMs: () => number,
    files: Readonly<Record<BlockKind, AnswerFiles>>,
  ) {
    this.#folder = folder;
    this.#nowMs = nowMs;
    this.#files = files;
  }

  /** Files whose answers are all over 24 hours old are removed. */
  static async open(
    folder: LogFiles,
    nowMs: () => number,
    bounds: StoreBounds = limits,
  ): Promise<AnswerStore> {
    const files = {
      answers: await AnswerFiles.open(folder, 'answers', bounds.idempotencyFilesBytesMax),
      errors: await AnswerFiles.open(folder, 'errors', bounds.idempotencyErrorsBytesMax),
    };
    const store = new AnswerStore(folder, nowMs, files);
    await store.#clean(store.#hour());
    return store;
  }

  /** All that is kept, of each kind oldest first; `rest` is told of files that have something else. */
  async *blocks(rest: (name: string, what: Rest) => void): AsyncGenerator<Block[]> {
    yield* answerBlocks(this.#folder, 'errors', rest);
    yield* answerBlocks(this.#folder, 'answers', rest);
  }

  /** Writes answers, durably. */
  keep(entries: readonly Entry[]): Promise<void> {
    const errors = entries.flatMap(errorsOf).map(encodeErrors);
    return this.#writing.run(() => this.#append(entries.map(encodeRecord), errors));
  }

  /** Writes blocks of another folder, durably. */
  keepBlocks(blocks: readonly Block[]): Promise<void> {
    const of = (kind: BlockKind) =>
      blocks.filter((block) => block.kind === kind).map(({ content }) => content);
    return this.#writing.run(() => this.#append(of('answers'), of('errors')));
  }

  async #append(answers: readonly Uint8Array[], errors: readonly Uint8Array[]): Promise<void> {
    const hour = this.#hour();
    // Errors first: no answer is ever there without its own.
    await this.#files.errors.append(hour, encodeBlocks('errors', errors));
    await this.#files.answers.append(hour, encodeBlocks('answers', answers));
    if (hour !== this.#cleanedHour) await this.#clean(hour);
  }

  async #clean(hour: number): Promise<void> {
    this.#cleanedHour = hour;
    for (const files of Object.values(this.#files)) await files.removeBefore(hour - hoursKept);
  }

  #hour(): number {
    return Math.floor(this.#nowMs() / hourMs);
  }
}
