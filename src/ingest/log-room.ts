import { errorFacts, type Logger } from '../base/observability/log.ts';
import type { LogFiles } from './files.ts';

const walRoomMsMax = 250;

export interface LogRoomOptions {
  readonly files: Pick<LogFiles, 'freeBytes'>;
  readonly log: Logger;
  /** Bytes of all segments above which appends are refused. */
  readonly bytesMax: number;
  readonly keepFreeBytes: KeptFree;
}

export type EventsOf = 'producers' | 'service';

/**
 * Bytes of the disk that stay free; the service's own events have a reserve, so that sign-in and exports
 * continue.
 */
export type KeptFree = Readonly<Record<EventsOf, number>>;

export const noneKeptFree: KeptFree = { producers: 0, service: 0 };

/**
 * Whether the log and its disk have room for an append. It decides by a figure up to 250 ms old;
 * `keepFreeBytes` covers what is written meanwhile.
 */
export class LogRoom {
  readonly #options: LogRoomOptions;
  readonly #refusedBytes: Record<EventsOf, number> = { producers: 0, service: 0 };
  #freeBytes = Number.POSITIVE_INFINITY;
  #askedMs = Number.NEGATIVE_INFINITY;
  #isShort = false;

  constructor(options: LogRoomOptions) {
    this.#options = options;
  }

  /** Whether an append fits beside `logBytes` and the `waitingBytes` of queued appends. */
  admits(bytes: number, logBytes: number, waitingBytes: number, of: EventsOf): boolean {
    const fits = this.#has(bytes + waitingBytes, logBytes, of);
    this.#refusedBytes[of] = fits ? 0 : bytes;
    return fits;
  }

  isFull(logBytes: number, waitingBytes: number, of: EventsOf): boolean {
    return !this.#has(this.#refusedBytes[of] + waitingBytes, logBytes, of);
  }

  async look(): Promise<void> {
    const { files, keepFreeBytes, log } = this.#options;
    if (keepFreeBytes.producers === 0) return;
    this.#askedMs = performance.now();
    try {
      this.#freeBytes = await files.freeBytes();
    } catch (error) {
      this.#freeBytes = Number.POSITIVE_INFINITY;
      log.warn(errorFacts(error), 'Reading the free room of the log disk failed');
    }
    this.#reportRoom(this.#freeBytes < keepFreeBytes.producers);
  }

  #has(moreBytes: number, logBytes: number, of: EventsOf): boolean {
    const { bytesMax, keepFreeBytes } = this.#options;
    if (logBytes + moreBytes > bytesMax) return false;
    if (keepFreeBytes.producers === 0) return true;
    if (performance.now() - this.#askedMs >= walRoomMsMax) void this.look();
    return this.#freeBytes - moreBytes >= keepFreeBytes[of];
  }

  #reportRoom(isShort: boolean): void {
    if (isShort === this.#isShort) return;
    this.#isShort = isShort;
    const { keepFreeBytes, log } = this.#options;
    const facts = { freeBytes: this.#freeBytes, keepFreeBytes: keepFreeBytes.producers };
    if (isShort) {
      log.error(
        facts,
        'The disk is almost full: the write-ahead log rejects events of producers; reads, sign-in and exports continue',
      );
    } else {
      log.info(facts, 'The disk has room again: the write-ahead log accepts events');
    }
  }
}
