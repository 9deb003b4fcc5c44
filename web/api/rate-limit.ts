import { signal } from '@preact/signals';

interface Pause {
  /** Unix milliseconds. */
  readonly until: number;
  /** Requests of a window, as the server tells. */
  readonly requests: number;
}

/**
 * Follows what the server tells of its limit, and holds requests back once it is used up rather than have them refused.
 */
export class RateLimit {
  /** What requests wait for at present; undefined while none does. */
  readonly waiting = signal<Pause | undefined>(undefined);
  #pause: Pause | undefined;

  /** Resolves when a request may go. Rejects with AbortError when the signal fires first. */
  async turn(abort: AbortSignal | undefined): Promise<void> {
    while (this.#pause !== undefined && this.#pause.until > Date.now()) {
      this.waiting.value = this.#pause;
      await sleep(this.#pause.until - Date.now(), abort);
    }
    this.#pause = undefined;
    this.waiting.value = undefined;
  }

  /** Takes note of an answer's headers. True where the limit is used up; a 429 may have other reasons. */
  note({ headers }: Response): boolean {
    if (headers.get('ratelimit-remaining') !== '0') return false;
    const seconds = Number(headers.get('ratelimit-reset') ?? headers.get('retry-after') ?? 1);
    this.#pause = {
      until: Date.now() + Math.max(1, seconds) * 1000,
      requests: Number(headers.get('ratelimit-limit') ?? 0),
    };
    return true;
  }
}

/** Waits; rejects with AbortError when the signal fires. */
export function sleep(ms: number, abort?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    abort?.throwIfAborted();
    const timer = setTimeout(() => {
      abort?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    const stop = () => {
      clearTimeout(timer);
      reject(new DOMException('The wait was given up.', 'AbortError'));
    };
    abort?.addEventListener('abort', stop, { once: true });
  });
}
