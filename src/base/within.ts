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
