/** Removes its oldest entry in constant time; `set` makes an entry the newest. */
export class FifoMap<V> {
  readonly #entries = new Map<string, V>();
  /** Reused: a new iterator would first skip all deleted entries. */
  #iterator = this.#entries.entries();
  #oldest: [string, V] | undefined;

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: V): void {
    this.delete(key);
    this.#entries.set(key, value);
  }

  delete(key: string): void {
    if (this.#oldest?.[0] === key) this.#oldest = undefined;
    this.#entries.delete(key);
  }

  values(): IterableIterator<V> {
    return this.#entries.values();
  }

  oldest(): V | undefined {
    return this.#peek()?.[1];
  }

  removeOldest(): V | undefined {
    const oldest = this.#peek();
    if (oldest === undefined) return undefined;
    this.delete(oldest[0]);
    return oldest[1];
  }

  #peek(): [string, V] | undefined {
    if (this.#oldest !== undefined) return this.#oldest;
    let step = this.#iterator.next();
    if (step.done === true) {
      this.#iterator = this.#entries.entries();
      step = this.#iterator.next();
    }
    this.#oldest = step.done === true ? undefined : step.value;
    return this.#oldest;
  }
}
