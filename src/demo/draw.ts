/** Repeatable random numbers (Mulberry32): the same seed gives the same company on every machine. */
export class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 inclusive to 1 exclusive. */
  next(): number {
    return this.#bits() / 2 ** 32;
  }

  /** Both ends inclusive. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const chosen = list[Math.floor(this.next() * list.length)];
    if (chosen === undefined) throw new Error('nothing to pick from');
    return chosen;
  }

  hex(characters: number): string {
    let text = '';
    while (text.length < characters) text += this.#bits().toString(16).padStart(8, '0');
    return text.slice(0, characters);
  }

  /** Version 4. */
  uuid(): string {
    return `${this.hex(8)}-${this.hex(4)}-4${this.hex(3)}-a${this.hex(3)}-${this.hex(12)}`;
  }

  #bits(): number {
    const state = (this.#state + 0x6d2b79f5) >>> 0;
    this.#state = state;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }
}

/** Chooses by weight. */
export function weighted<T>(list: readonly T[], weight: (item: T) => number): (draw: Draw) => T {
  let total = 0;
  const sums = list.map((item) => (total += weight(item)));
  return (draw) => {
    const wanted = draw.next() * total;
    const item = list[sums.findIndex((sum) => sum > wanted)] ?? list.at(-1);
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  };
}
