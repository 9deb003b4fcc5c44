import { namesIn } from '../base/files/durable-file.ts';
import { Mutex } from '../base/waiting/keyed-mutex.ts';
import { AnswerFiles, type AnswerKind, keptInFiles, type Rest } from './answer-files.ts';
import { hasErrors, type Kept } from './answer-records.ts';
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
  readonly #files: Readonly<Record<AnswerKind, AnswerFiles>>;
  /** Two segments may be stored at once, but a file has one end. */
  readonly #writing = new Mutex();
  #cleanedHour = 0;

  private constructor(
    folder: LogFiles,
    nowMs: () => number,
    files: Readonly<Record<AnswerKind, AnswerFiles>>,
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

  /** Everything, oldest first. Calls `rest` for files with skipped lines. */
  async *kept(rest: (name: string, what: Rest) => void): AsyncGenerator<Kept[]> {
    yield* keptInFiles(this.#folder, 'errors', rest);
    yield* keptInFiles(this.#folder, 'answers', rest);
  }

  keep(kept: readonly Kept[]): Promise<void> {
    return this.#writing.run(async () => {
      const hour = this.#hour();
      // Errors first, so that no answer is without its errors.
      const errors = kept.filter(([, text]) => hasErrors(text));
      const answers = kept.filter(([, text]) => !hasErrors(text));
      await this.#files.errors.append(hour, errors);
      await this.#files.answers.append(hour, answers);
      if (hour !== this.#cleanedHour) await this.#clean(hour);
    });
  }

  async #clean(hour: number): Promise<void> {
    this.#cleanedHour = hour;
    for (const files of Object.values(this.#files)) await files.removeBefore(hour - hoursKept);
  }

  #hour(): number {
    return Math.floor(this.#nowMs() / hourMs);
  }
}
