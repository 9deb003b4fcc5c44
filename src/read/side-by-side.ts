/** Under one signal: cancels the rest if one query fails or `signal` aborts. Rejects as `work` does. */
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
