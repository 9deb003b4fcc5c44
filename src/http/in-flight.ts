/** Counts requests that are being answered, and tells when there are none. */
export class InFlight {
  readonly #waiting = new Set<() => void>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  begin(): void {
    this.#count++;
  }

  end(): void {
    this.#count--;
    if (this.#count === 0) for (const tell of this.#waiting) tell();
  }

  /** True once there are none, false when that takes longer than the milliseconds. */
  emptied(timeoutMs: number): Promise<boolean> {
    if (this.#count === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const settle = (empty: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(tell);
        resolve(empty);
      };
      const timer = setTimeout(() => settle(false), timeoutMs);
      const tell = (): void => settle(true);
      this.#waiting.add(tell);
    });
  }
}
