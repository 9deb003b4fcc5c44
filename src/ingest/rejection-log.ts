import { limits } from './limits.ts';
import type { Logger } from '../base/log.ts';
import { FifoMap } from '../base/fifo-map.ts';
import type { Rejection, RejectionReason } from './rejections.ts';

/** What was logged of one API key and reason, and how many events came after it. */
interface Logged {
  readonly apiKey: string | undefined;
  readonly reason: RejectionReason;
  readonly atMs: number;
  leftOut: number;
}

/**
 * Tells the operator of rejected events without telling of each (contract: Ingest): the first of each API key and
 * reason within a minute is a line of the operational log, with its pointer and rule. The others are counted, and
 * their number is a line when the minute is over. Never holds or logs content.
 */
export class RejectionLog {
  readonly #log: Logger;
  readonly #nowMs: () => number;
  readonly #logged: FifoMap<Logged> = new FifoMap<Logged>();
  readonly #timer: NodeJS.Timeout;

  /** `nowMs` is a clock that only goes forward. */
  constructor(log: Logger, nowMs: () => number) {
    this.#log = log;
    this.#nowMs = nowMs;
    this.#timer = setInterval(() => this.forgetOld(), limits.rejectionLogMs);
    this.#timer.unref();
  }

  /** Rejected events of one request; without an API key they are the service's own. */
  add(apiKey: string | undefined, rejections: readonly Rejection[]): void {
    if (rejections.length > 0) this.forgetOld();
    for (const { reason, events, first } of rejections) {
      const id = `${apiKey ?? ''} ${reason}`;
      const known = this.#logged.get(id);
      if (known !== undefined) {
        known.leftOut += events;
        continue;
      }
      this.#log.warn({ api_key: apiKey, reason, rule: first }, 'an event was rejected');
      this.#logged.set(id, { apiKey, reason, atMs: this.#nowMs(), leftOut: events - 1 });
      if (this.#logged.size > limits.rejectionLogKeysMax) this.#tell(this.#logged.removeOldest());
    }
  }

  /** Ends the minutes that are over. */
  forgetOld(): void {
    const before = this.#nowMs() - limits.rejectionLogMs;
    for (let old = this.#logged.oldest(); old && old.atMs <= before; old = this.#logged.oldest())
      this.#tell(this.#logged.removeOldest());
  }

  close(): void {
    clearInterval(this.#timer);
    while (this.#logged.size > 0) this.#tell(this.#logged.removeOldest());
  }

  #tell(ended: Logged | undefined): void {
    if (ended === undefined || ended.leftOut === 0) return;
    const { apiKey, reason, leftOut } = ended;
    this.#log.warn({ api_key: apiKey, reason, events: leftOut }, 'further events were rejected');
  }
}
