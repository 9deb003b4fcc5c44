import { setTimeout as sleep } from 'node:timers/promises';
import { singleFlight } from './single-flight.ts';

interface Known<T> {
  readonly value: T;
  readonly ageMs: number;
}

/** The last answer of a slow source. `get` waits briefly; the question continues, one at a time. */
export class LastKnown<T> {
  /** Undefined before the first answer. */
  readonly get: () => Promise<Known<T> | undefined>;
  #last: { readonly value: T; readonly atMs: number } | undefined;

  /** `ask` must end eventually and must not reject. */
  constructor(waitMs: number, ask: () => Promise<T>) {
    const once = singleFlight(async () => {
      const value = await ask();
      this.#last = { value, atMs: performance.now() };
      return true;
    });
    this.get = singleFlight(async () => {
      const waiting = new AbortController();
      const late = sleep(waitMs, false, { signal: waiting.signal }).catch(() => false);
      const isNew = await Promise.race([once(), late]);
      waiting.abort();
      const last = this.#last;
      return last && { value: last.value, ageMs: isNew ? 0 : performance.now() - last.atMs };
    });
  }
}
