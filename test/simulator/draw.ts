/** Numbers that a seed decides alone. Each step has a seed of its own: without one step the others draw what they drew before. */
export class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  /** A whole number, both ends included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error('nothing to pick from');
    return list[this.int(0, list.length - 1)] as T;
  }

  /** One of the list, or undefined where it is empty. */
  pickAny<T>(list: readonly T[]): T | undefined {
    return list.length === 0 ? undefined : this.pick(list);
  }

  weighted<T extends { readonly weight: number }>(list: readonly T[]): T {
    const sum = list.reduce((total, { weight }) => total + weight, 0);
    let rest = this.next() * sum;
    for (const one of list) {
      rest -= one.weight;
      if (rest < 0) return one;
    }
    return this.pick(list);
  }

  seed(): number {
    return this.int(0, 0xffff_fffe);
  }
}
