/**
 * Gathers what is asked while the work on what came before is under way, so that many ask at the cost of one: one batch
 * at a time, of at most `most` items.
 */
export class Gathered<Item, Result> {
  readonly #work: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #most: number;
  #waiting: {
    item: Item;
    signal: AbortSignal;
    resolve(result: Result): void;
    reject(error: unknown): void;
  }[] = [];
  #isRunning = false;

  /** `work` resolves with a result for each item, in their order. */
  constructor(most: number, work: (items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#most = most;
    this.#work = work;
  }

  /** Nothing is asked, and nothing answered, for who has waited for its turn until `signal` fired. */
  run(item: Item, signal: AbortSignal): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, signal, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (;;) {
      this.#waiting = this.#waiting.filter(({ signal }) => !signal.aborted);
      const batch = this.#waiting.splice(0, this.#most);
      if (batch.length === 0) break;
      try {
        const results = await this.#work(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, index) => resolve(results[index] as Result));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isRunning = false;
  }
}
