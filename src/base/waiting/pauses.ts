/**
 * Pauses of requests that end early with their request or all together. Not `AbortSignal.any` with a
 * process-wide signal: Node.js 20 leaks 60 bytes a pause there.
 */
export class Pauses {
  readonly #ends = new Set<() => void>();

  get count(): number {
    return this.#ends.size;
  }

  /** Resolves after `ms`, or earlier when the signal fires or all pauses end. */
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
