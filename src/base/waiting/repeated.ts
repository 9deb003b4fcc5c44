/** Runs work at an interval, one run at a time. A run that is due while the last is under way is left out. */
export class Repeated {
  readonly #work: (signal: AbortSignal) => Promise<void>;
  readonly #failed: (error: unknown) => void;
  readonly #stopping = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;

  /** `work` gets a signal that fires when it is stopped; `failed` is called if a run rejects before that. */
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
