import { errorFacts, type Logger } from '../observability/log.ts';

/** How to stop what has been started, in the opposite order. */
export class StopStack {
  readonly #log: Logger;
  readonly #stops: (() => unknown)[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  add(stop: () => unknown): void {
    this.#stops.push(stop);
  }

  async run(): Promise<void> {
    for (const stop of this.#stops.splice(0).toReversed()) {
      // One part that cannot stop must not keep the others from it: the engine and the lock are the last.
      try {
        await stop();
      } catch (error) {
        this.#log.error(errorFacts(error), 'a part did not stop cleanly');
      }
    }
  }
}
