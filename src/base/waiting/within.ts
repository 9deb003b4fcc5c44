/**
 * What work comes to under a signal that fires with `signal`, or after `ms` with a TimeoutError. Nothing stays on
 * `signal`, which may be that of the process: see `Pauses` for what `AbortSignal.any` leaves there.
 */
export async function within<T>(
  ms: number,
  signal: AbortSignal,
  work: (ending: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const end = (): void => ending.abort(signal.reason);
  const late = (): void => ending.abort(new DOMException(`no end within ${ms} ms`, 'TimeoutError'));
  const timer = setTimeout(late, ms);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    return await work(ending.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

/**
 * What `work` comes to, or a rejection with the signal's reason when that fires first. The work itself goes on then,
 * unheeded: this is for questions that have no signal of their own and change nothing.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
