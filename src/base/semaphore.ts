import { WaitingLine, type WaitingLineOptions } from './waiting-line.ts';

export interface SemaphoreOptions extends WaitingLineOptions {
  readonly slots: number;
  /** How many may wait for a slot; all others are refused at once. */
  readonly waitingMax: number;
}

/** Lets a bounded number of callers work side by side; the others wait, first come first served. */
export class Semaphore {
  readonly #options: SemaphoreOptions;
  readonly #line: WaitingLine<void>;
  #free: number;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
    this.#line = new WaitingLine(options);
    this.#free = options.slots;
  }

  /** Waits for a slot; the function returned releases it, once. Rejects as the options say. */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    const { waitingMax, refused, aborted } = this.#options;
    if (signal?.aborted === true) throw (aborted ?? refused)();
    if (this.#free > 0) this.#free -= 1;
    else if (this.#line.length >= waitingMax) throw refused();
    else await this.#line.wait(signal);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      // A slot that somebody waits for is handed on.
      if (!this.#line.serve()) this.#free += 1;
    };
  }

  /** Runs work in a slot. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.acquire(signal);
    try {
      return await work();
    } finally {
      release();
    }
  }
}
