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
