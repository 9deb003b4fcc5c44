import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import type { LogFiles } from './files.ts';

/**
 * Whether the disk of the log has room for more events. It answers at once, by what the disk said some hundred
 * milliseconds ago; `keepFreeBytes` is large enough for what is written meanwhile.
 */
export class DiskRoom {
  readonly #files: Pick<LogFiles, 'freeBytes'>;
  readonly #keepFreeBytes: number;
  readonly #log: Logger;
  #freeBytes = Number.POSITIVE_INFINITY;
  #askedMs = Number.NEGATIVE_INFINITY;
  #isShort = false;

  constructor(files: Pick<LogFiles, 'freeBytes'>, keepFreeBytes: number, log: Logger) {
    this.#files = files;
    this.#keepFreeBytes = keepFreeBytes;
    this.#log = log;
  }

  /** Whether so many more bytes leave free what must be. */
  has(bytes: number): boolean {
    if (this.#keepFreeBytes === 0) return true;
    if (performance.now() - this.#askedMs >= limits.walRoomMsMax) void this.look();
    return this.#freeBytes - bytes >= this.#keepFreeBytes;
  }

  /** Asks the disk. One that does not tell keeps nobody from writing: the write will. */
  async look(): Promise<void> {
    if (this.#keepFreeBytes === 0) return;
    this.#askedMs = performance.now();
    try {
      this.#freeBytes = await this.#files.freeBytes();
    } catch (error) {
      this.#freeBytes = Number.POSITIVE_INFINITY;
      this.#log.warn(errorFacts(error), 'the free room of the disk of the log is not known');
    }
    this.#tell(this.#freeBytes < this.#keepFreeBytes);
  }

  #tell(isShort: boolean): void {
    if (isShort === this.#isShort) return;
    this.#isShort = isShort;
    const facts = { freeBytes: this.#freeBytes, keepFreeBytes: this.#keepFreeBytes };
    if (isShort) {
      this.#log.error(facts, 'the disk is almost full: the write-ahead log takes no writes; reads go on');
    } else {
      this.#log.info(facts, 'the disk has room again: the write-ahead log takes writes');
    }
  }
}
