import { decodeValue, encodeValue } from '../base/bytes/checked-line.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Mutex } from '../base/waiting/keyed-mutex.ts';
import type { SyncedFile } from './files.ts';
import type { SegmentFacts } from './segment.ts';

export interface LastOpen extends SegmentFacts {
  readonly number: number;
}

/**
 * Names the newest segment, in a small file outside the log's folder: without it, nothing could notice that
 * this segment was removed.
 *
 * It is written before a segment takes its first append, and a segment's file is removed only once a newer
 * one is named. So a folder without a file of this number or above has lost some.
 */
export interface Head {
  readonly newest: number;
  readonly closed?: Closed | undefined;
}

interface Closed {
  readonly waiting: number;
  readonly open?: LastOpen | undefined;
}

/** Within one disk sector. */
export const encodeHead = (head: Head): Buffer => encodeValue(head);

export const decodeHead = (file: Buffer): Head | undefined => decodeValue(file) as Head | undefined;

export class LogHead {
  readonly #file: SyncedFile;
  readonly #log: Logger;
  readonly #turns = new Mutex();
  #newest = 0;

  constructor(file: SyncedFile, log: Logger) {
    this.#file = file;
    this.#log = log;
  }

  /** Resolves when the head names the segment, whose file must be durable; only then may it take appends. */
  begun(number: number): Promise<void> {
    this.#newest = Math.max(this.#newest, number);
    return this.#write(undefined);
  }

  async close(closed: Closed): Promise<void> {
    if (this.#newest === 0) return;
    try {
      await this.#write(closed);
    } catch (error) {
      this.#log.warn(errorFacts(error), 'Writing the final wal-head failed');
    }
  }

  #write(closed: Closed | undefined): Promise<void> {
    return this.#turns.run(() => this.#file.write(encodeHead({ newest: this.#newest, closed })));
  }
}
