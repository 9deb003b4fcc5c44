/**
 * Work that is done again and again, one turn at a time: one that is due while the last is still at it is left out, so
 * however long an engine takes to answer, nothing piles up before it.
 */
export class Repeated {
  readonly #work: (signal: AbortSignal) => Promise<void>;
  readonly #failed: (error: unknown) => void;
  readonly #stopping = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #turn: Promise<void> | undefined;

  /** The signal that `work` gets fires when it is stopped; `failed` hears of a turn that rejects before that. */
  constructor(
    everyMs: number,
    work: (signal: AbortSignal) => Promise<void>,
    failed: (error: unknown) => void,
  ) {
    this.#work = work;
    this.#failed = failed;
    this.#timer = setInterval(() => {
      this.#turn ??= this.#take();
    }, everyMs);
  }

  /** Resolves when the turn that is under way has ended; there is none after it. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    await this.#turn;
  }

  async #take(): Promise<void> {
    try {
      await this.#work(this.#stopping.signal);
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#failed(error);
    } finally {
      this.#turn = undefined;
    }
  }
}
