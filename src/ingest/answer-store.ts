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
 * End of the hour (Unix milliseconds) of the newest answer file: a lower bound of the true time. Undefined
 * without files.
 */
export async function newestAnswerMs(directory: string): Promise<number | undefined> {
  const hours = (await namesIn(directory)).flatMap((name) => /^(\d+)\.\d+\.answers$/.exec(name)?.[1] ?? []);
  return hours.length === 0 ? undefined : (Math.max(...hours.map(Number)) + 1) * hourMs;
}

export class AnswerStore {
  readonly #folder: LogFiles;
  readonly #nowMs: () => number;
  readonly #files: Readonly<Record<BlockKind, AnswerFiles>>;
  /** Two segments may be stored at once, but a file has one end. */
  readonly #writing = new Mutex();
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

  /** Every block, oldest first. Calls `rest` for files with skipped bytes. */
  async *blocks(rest: (name: string, what: Rest) => void): AsyncGenerator<Block[]> {
    yield* answerBlocks(this.#folder, 'errors', rest);
    yield* answerBlocks(this.#folder, 'answers', rest);
  }

  keep(entries: readonly Entry[]): Promise<void> {
    const errors = entries.flatMap(errorsOf).map(encodeErrors);
    return this.#writing.run(() => this.#append(entries.map(encodeRecord), errors));
  }

  keepBlocks(blocks: readonly Block[]): Promise<void> {
    const of = (kind: BlockKind) =>
      blocks.filter((block) => block.kind === kind).map(({ content }) => content);
    return this.#writing.run(() => this.#append(of('answers'), of('errors')));
  }

  async #append(answers: readonly Uint8Array[], errors: readonly Uint8Array[]): Promise<void> {
    const hour = this.#hour();
    // Errors first, so that no answer is without its errors.
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
