import type { OwnEngine } from './own-engine.ts';

/**
 * Whether the engine takes writes: the last INSERT of a segment has gone well, and its disk has room.
 *
 * The embedded engine answers an INSERT as stored although writing its files has failed. So nothing is sent to it
 * while its disk has little room, and the files are looked at before the log may forget a segment. Where they are not
 * whole the engine is started again: it then sets the part aside, and the segment, which counts as doubtful, is sent
 * once more.
 */
export class WriteHealth {
  readonly #own: OwnEngine | undefined;
  #isFailing = false;

  /** Of a ClickHouse server (undefined) only what it answers can be known. */
  constructor(own: OwnEngine | undefined) {
    this.#own = own;
  }

  /** The same sink, whose outcomes count, and are true. */
  watch<S, T>(sink: (segment: S) => Promise<T>): (segment: S) => Promise<T> {
    return async (segment) => {
      try {
        const before = await this.#own?.look();
        if (before?.hasRoom === false) throw new Error('the disk of the engine is almost full');
        const outcome = await sink(segment);
        if (before !== undefined) await this.#own?.checkWritten(before.process);
        this.#isFailing = false;
        return outcome;
      } catch (error) {
        this.#isFailing = true;
        throw error;
      }
    };
  }

  async takesWrites(): Promise<boolean> {
    if (this.#own === undefined || this.#isFailing) return !this.#isFailing;
    // What cannot be told is not ready.
    const look = await this.#own.look().catch(() => undefined);
    return look?.hasRoom ?? false;
  }
}
