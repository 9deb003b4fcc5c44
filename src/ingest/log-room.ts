import { errorFacts, type Logger } from '../base/observability/log.ts';
import type { LogFiles } from './files.ts';

/** The disk's free room is asked for this often. */
const walRoomMsMax = 250;

export interface LogRoomOptions {
  readonly files: Pick<LogFiles, 'freeBytes'>;
  readonly log: Logger;
  /** Bytes of all segments together above which appends are refused. */
  readonly bytesMax: number;
  /** Bytes of the disk that appends leave free. */
  readonly keepFreeBytes: KeptFree;
}

/** Whose events an append holds: those of producers, or what the service says itself. */
export type EventsOf = 'producers' | 'service';

/** Bytes of the disk that stay free; the service has a reserve, so that sign-in and exports go on. */
export type KeptFree = Readonly<Record<EventsOf, number>>;

export const noneKeptFree: KeptFree = { producers: 0, service: 0 };

/**
 * Whether there is room for more events, in the log and on its disk. It answers at once, by what the disk said some
 * hundred milliseconds ago; `keepFreeBytes` is large enough for what is written meanwhile.
 */
export class LogRoom {
  readonly #options: LogRoomOptions;
  /** Size of the last append that did not fit: the log counts as full until it would, or another does. */
  readonly #refusedBytes: Record<EventsOf, number> = { producers: 0, service: 0 };
  #freeBytes = Number.POSITIVE_INFINITY;
  #askedMs = Number.NEGATIVE_INFINITY;
  #isShort = false;

  constructor(options: LogRoomOptions) {
    this.#options = options;
  }

  /** Whether an append fits beside what the log has and `waitingBytes` that are still to be written. */
  admits(bytes: number, logBytes: number, waitingBytes: number, of: EventsOf): boolean {
    const fits = this.#has(bytes + waitingBytes, logBytes, of);
    this.#refusedBytes[of] = fits ? 0 : bytes;
    return fits;
  }

  isFull(logBytes: number, waitingBytes: number, of: EventsOf): boolean {
    return !this.#has(this.#refusedBytes[of] + waitingBytes, logBytes, of);
  }

  /** Asks the disk. One that does not tell keeps nobody from writing: the write will. */
  async look(): Promise<void> {
    const { files, keepFreeBytes, log } = this.#options;
    if (keepFreeBytes.producers === 0) return;
    this.#askedMs = performance.now();
    try {
      this.#freeBytes = await files.freeBytes();
    } catch (error) {
      this.#freeBytes = Number.POSITIVE_INFINITY;
      log.warn(errorFacts(error), 'the free room of the disk of the log is not known');
    }
    this.#tell(this.#freeBytes < keepFreeBytes.producers);
  }

  #has(moreBytes: number, logBytes: number, of: EventsOf): boolean {
    const { bytesMax, keepFreeBytes } = this.#options;
    if (logBytes + moreBytes > bytesMax) return false;
    if (keepFreeBytes.producers === 0) return true;
    if (performance.now() - this.#askedMs >= walRoomMsMax) void this.look();
    return this.#freeBytes - moreBytes >= keepFreeBytes[of];
  }

  #tell(isShort: boolean): void {
    if (isShort === this.#isShort) return;
    this.#isShort = isShort;
    const { keepFreeBytes, log } = this.#options;
    const facts = { freeBytes: this.#freeBytes, keepFreeBytes: keepFreeBytes.producers };
    if (isShort) {
      log.error(
        facts,
        'the disk is almost full: the write-ahead log takes no events of producers; reads, sign-in and exports go on',
      );
    } else {
      log.info(facts, 'the disk has room again: the write-ahead log takes events');
    }
  }
}
