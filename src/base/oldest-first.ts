/**
 * A map that can give up its oldest entry, at any size in constant time: an entry is as old as its last `set`.
 *
 * One iterator is kept for good. A new one would have to pass over the places of all deleted entries first, which in
 * a map of that use are at its front; the old one stands behind them, since all it has passed was removed.
 */
export interface OldestFirst<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  /** Removes the oldest entry and returns its value; undefined when there is none. */
  removeOldest(): V | undefined;
  /** The oldest value, which stays. */
  oldest(): V | undefined;
  size(): number;
}

export function createOldestFirst<V>(): OldestFirst<V> {
  const entries = new Map<string, V>();
  let iterator = entries.entries();
  let next: [string, V] | undefined;

  /** The oldest entry, and the iterator standing behind it. */
  function peek(): [string, V] | undefined {
    // The entry seen last may have been renewed since, and then is not the oldest any more.
    if (next !== undefined && entries.get(next[0]) === next[1]) return next;
    let step = iterator.next();
    if (step.done === true) {
      iterator = entries.entries();
      step = iterator.next();
    }
    next = step.done === true ? undefined : step.value;
    return next;
  }

  return {
    get: (key) => entries.get(key),
    set(key, value) {
      entries.delete(key);
      entries.set(key, value);
    },
    removeOldest() {
      const found = peek();
      if (found === undefined) return undefined;
      entries.delete(found[0]);
      next = undefined;
      return found[1];
    },
    oldest: () => peek()?.[1],
    size: () => entries.size,
  };
}
