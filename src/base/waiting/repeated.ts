/** Runs work at an interval, one run at a time; skips a run while the last is in progress. */
export class Repeated {
  readonly #work: (signal: AbortSignal) => Promise<void>;
  readonly #failed: (error: unknown) => void;
  readonly #stopping = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;

  /** `work` gets a signal that fires on stop; `failed` is called if a run rejects before. */
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
