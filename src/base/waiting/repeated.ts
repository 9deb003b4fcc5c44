/**
 * Runs work at an interval, one run at a time. A run that is due while the last is still under way is left out, so
 * however long an engine takes to answer, nothing piles up before it.
 */
export class Repeated {
  readonly #work: (signal: AbortSignal) => Promise<void>;
  readonly #failed: (error: unknown) => void;
  readonly #stopping = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;

  /** The signal that `work` gets fires when it is stopped; `failed` is called when a run rejects before that. */
  constructor(
    everyMs: number,
    work: (signal: AbortSignal) => Promise<void>,
    failed: (error: unknown) => void,
  ) {
    this.#work = work;
    this.#failed = failed;
    this.#timer = setInterval(() => {
      this.#running ??= this.#run();
    }, everyMs);
  }

  /** Resolves when the run that is under way has ended; there is none after it. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      await this.#work(this.#stopping.signal);
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#failed(error);
    } finally {
      this.#running = undefined;
    }
  }
}
