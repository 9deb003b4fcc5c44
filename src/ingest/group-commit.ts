import { Mutex } from '../base/waiting/keyed-mutex.ts';
import { type FrameInput, frameHeaderBytes } from './segment.ts';
import { rowsPerSegmentMax } from '../base/events/sequence.ts';

const walGroupBytesMax = 16 * 1024 * 1024;

export interface Append {
  readonly frames: readonly FrameInput[];
  readonly bytes: number;
  readonly rows: number;
}

interface Waiting extends Append {
  resolve(segment: number): void;
  reject(error: unknown): void;
}

/** Upper bound of the bytes in the log: JSON text takes up to three bytes of UTF-8 per character. */
export function framesBytesMax(frames: readonly FrameInput[]): number {
  return frames.reduce((sum, f) => sum + frameHeaderBytes + f.payload.length + f.notes.length * 3, 0);
}

export function rowsOf(frames: readonly FrameInput[]): number {
  return frames.reduce((sum, frame) => sum + frame.rows, 0);
}

/**
 * Writes waiting appends as one group with one sync, one group at a time. Other work on the open segment runs
 * between groups.
 */
export class GroupCommit {
  readonly #write: (group: readonly Append[]) => Promise<number>;
  readonly #turns = new Mutex();
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #isScheduled = false;

  constructor(write: (group: readonly Append[]) => Promise<number>) {
    this.#write = write;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  append({ frames, bytes, rows }: Append): Promise<number> {
    return new Promise((resolve, reject) => {
      // Member by member: spreading takes a fifth of an append's time.
      this.#waiting.push({ frames, bytes, rows, resolve, reject });
      this.#waitingBytes += bytes;
      this.#schedule();
    });
  }

  flush(): Promise<void> {
    return this.exclusively(() => this.#commit());
  }

  /** Runs `work` between groups, in call order. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.run(work);
  }

  async idle(): Promise<void> {
    do await this.#turns.run(() => Promise.resolve());
    while (this.isWaiting);
  }

  #schedule(): void {
    if (this.#isScheduled || !this.isWaiting) return;
    this.#isScheduled = true;
    const turn = this.exclusively(() => {
      this.#isScheduled = false;
      return this.#commit();
    });
    turn.catch(() => undefined);
  }

  async #commit(): Promise<void> {
    const group = this.#takeGroup();
    this.#schedule();
    try {
      const segment = await this.#write(group);
      for (const { resolve } of group) resolve(segment);
    } catch (error) {
      for (const { reject } of group) reject(error);
      throw error;
    }
  }

  #takeGroup(): Waiting[] {
    let bytes = 0;
    let rows = 0;
    let count = 0;
    for (const next of this.#waiting) {
      bytes += next.bytes;
      rows += next.rows;
      if (count > 0 && (bytes > walGroupBytesMax || rows > rowsPerSegmentMax)) break;
      this.#waitingBytes -= next.bytes;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }
}
