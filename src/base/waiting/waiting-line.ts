export interface WaitingLineOptions {
  /** Maximum wait; undefined: no limit. */
  readonly waitMs?: number | undefined;
  readonly refused: () => Error;
  readonly aborted?: (() => Error) | undefined;
}

/** First come, first served. */
export class WaitingLine<T> {
  readonly #options: WaitingLineOptions;
  readonly #waiting = new Set<(value: T) => void>();

  constructor(options: WaitingLineOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#waiting.size;
  }

  wait(signal?: AbortSignal): Promise<T> {
    const { waitMs, refused, aborted } = this.#options;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#waiting.delete(serve);
      };
      const serve = (value: T): void => {
        leave();
        resolve(value);
      };
      const onAbort = (): void => {
        leave();
        reject((aborted ?? refused)());
      };
      const onTimeout = (): void => {
        leave();
        reject(refused());
      };
      const timer = waitMs === undefined ? undefined : setTimeout(onTimeout, waitMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(serve);
    });
  }

  serve(value: T): boolean {
    const [first] = this.#waiting;
    first?.(value);
    return first !== undefined;
  }
}
