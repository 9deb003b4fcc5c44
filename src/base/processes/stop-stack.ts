import { errorFacts, type Logger } from '../observability/log.ts';

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
      // A failure must not prevent the remaining stops: the engine and the lock come last.
      try {
        await stop();
      } catch (error) {
        this.#log.error(errorFacts(error), 'A part did not stop cleanly');
      }
    }
  }
}
