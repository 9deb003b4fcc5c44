import { signal } from '@preact/signals';

interface Pause {
  /** Unix milliseconds. */
  readonly until: number;
  readonly requests: number;
}

/** The pause that requests wait for; undefined if none waits. */
export const limitPause = signal<Pause | undefined>(undefined);

/** Waits for the next window if this one is used up; false if a 429 has another reason. */
export async function nextWindow({ headers }: Response, abort?: AbortSignal): Promise<boolean> {
  if (headers.get('ratelimit-remaining') !== '0') return false;
  const seconds = Number(headers.get('ratelimit-reset') ?? headers.get('retry-after') ?? 1);
  const ms = Math.max(1, seconds) * 1000;
  const pause = { until: Date.now() + ms, requests: Number(headers.get('ratelimit-limit') ?? 0) };
  limitPause.value = pause;
  try {
    await sleep(ms, abort);
  } finally {
    if (limitPause.value === pause) limitPause.value = undefined;
  }
  return true;
}

/** Rejects with AbortError when the signal fires. */
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
