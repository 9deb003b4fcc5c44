import { statfs } from 'node:fs/promises';
import { limits as baseLimits } from '../base/limits.ts';
import { limits } from './limits.ts';
import type { Logger } from '../base/log.ts';
import type { WrittenParts } from './written-parts.ts';

/** What can be known of the embedded engine, and not of a ClickHouse server. */
export interface OwnEngine {
  readonly directory: string;
  readonly written: WrittenParts;
  /** Ends the process of the engine, which is then started again. */
  restart(): void;
}

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
  readonly #log: Logger;
  #isFailing = false;
  #stored = 0;

  constructor(own: OwnEngine | undefined, log: Logger) {
    this.#own = own;
    this.#log = log;
  }

  /** The same sink, whose outcomes count, and are true. */
  watch<S, T>(sink: (segment: S) => Promise<T>): (segment: S) => Promise<T> {
    return async (segment) => {
      try {
        if (!(await this.#hasRoom())) throw new Error('the disk of the engine is almost full');
        const outcome = await sink(segment);
        await this.checkWritten();
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
    return !this.#isFailing && (await this.#hasRoom());
  }

  async #hasRoom(): Promise<boolean> {
    if (this.#own === undefined) return true;
    const { bavail, bsize } = await statfs(this.#own.directory);
    return bavail * bsize >= limits.engineFreeBytesMin;
  }

  /** Looks at the parts that are new, merged ones too. Rejects when one is cut short; the engine is then ending. */
  async checkWritten(): Promise<void> {
    const broken = (await this.#own?.written.findBroken()) ?? [];
    if (broken.length === 0) return;
    const facts = { parts: broken.slice(0, baseLimits.damageShownMax) };
    this.#log.error(facts, 'the engine could not write its files and has not noticed; it is started again');
    this.#own?.restart();
    throw new Error('the engine has not written what it was given');
  }
}
