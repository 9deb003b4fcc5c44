/**
 * Pauses of many requests, which end early with their request or all at once. Not by `AbortSignal.any` with a signal that
 * lives as long as the process: Node.js 20 keeps something there of each signal that was made so (60 bytes a pause).
 */
export class Pauses {
  readonly #ends = new Set<() => void>();

  /** How many are taken now. */
  get count(): number {
    return this.#ends.size;
  }

  /** Resolves after `ms`, or earlier when the signal fires or all pauses are ended. */
  take(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.#ends.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#ends.add(end);
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
    });
  }

  endAll(): void {
    for (const end of this.#ends) end();
  }
}
