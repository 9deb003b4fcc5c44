/**
 * Runs work with several concurrent queries under one signal, and cancels the rest if one fails or `signal`
 * aborts. Rejects as `work` does.
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
