/** Runs work one at a time in order of arrival, even after a failure. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();
  #callers = 0;

  get callers(): number {
    return this.#callers;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#callers += 1;
    // Each waits for its predecessor: waking all each time would cost a million wakes for a thousand.
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    try {
      return await result;
    } finally {
      this.#callers -= 1;
    }
  }
}

/** Drops the mutex of a key when it is unused. */
export class KeyedMutex {
  readonly #mutexes = new Map<string, Mutex>();
  readonly #waitingMax: number;
  readonly #refused: () => Error;

  /** For each key at most `waitingMax` run or wait; others get the error of `refused`. */
  constructor(
    waitingMax = Number.POSITIVE_INFINITY,
    refused: () => Error = () => new Error('too many callers wait for one key'),
  ) {
    this.#waitingMax = waitingMax;
    this.#refused = refused;
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const mutex = this.#mutexes.get(key) ?? new Mutex();
    if (mutex.callers >= this.#waitingMax) throw this.#refused();
    this.#mutexes.set(key, mutex);
    try {
      return await mutex.run(work);
    } finally {
      if (mutex.callers === 0) this.#mutexes.delete(key);
    }
  }
}
