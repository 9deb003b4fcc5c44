import { statfs } from 'node:fs/promises';
import { limits } from '../base/limits.ts';

/**
 * Whether the engine takes writes: the last INSERT of a segment has gone well, and its disk has room. The second is
 * for a service to which nothing is written, and can be told of our own engine only.
 */
export class WriteHealth {
  readonly #directory: string | undefined;
  #isFailing = false;
  #stored = 0;

  /** `directory` is the embedded engine's; undefined for a ClickHouse server. */
  constructor(directory: string | undefined) {
    this.#directory = directory;
  }

  /** The same sink, whose outcomes count. */
  watch<S, T>(sink: (segment: S) => Promise<T>): (segment: S) => Promise<T> {
    return async (segment) => {
      try {
        const outcome = await sink(segment);
        this.#isFailing = false;
        this.#stored += 1;
        return outcome;
      } catch (error) {
        this.#isFailing = true;
        throw error;
      }
    };
  }

  /** Segments that the engine has taken since the start. */
  stored(): number {
    return this.#stored;
  }

  async takesWrites(): Promise<boolean> {
    if (this.#isFailing) return false;
    if (this.#directory === undefined) return true;
    const { bavail, bsize } = await statfs(this.#directory);
    return bavail * bsize >= limits.engineFreeBytesMin;
  }
}
