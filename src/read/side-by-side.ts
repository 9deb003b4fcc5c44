/**
 * Runs work of several queries at once under one signal: when it fails, or when `signal` fires, the queries that are
 * still running are cancelled instead of being left to finish for nobody. Rejects as `work` does.
 */
export async function sideBySide<T>(
  signal: AbortSignal,
  work: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  try {
    return await work(AbortSignal.any([signal, own.signal]));
  } catch (error) {
    own.abort();
    throw error;
  }
}
