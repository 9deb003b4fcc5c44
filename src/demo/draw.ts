/** Repeatable chance: the same seed draws the same company, on every machine. */
export interface Draw {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** Whole, both ends included. */
  integer(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  hex(characters: number): string;
  /** Version 4. */
  uuid(): string;
}

const hexBytes = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Mulberry32: 32 bits of state, more than good enough for looks. */
export function createDraw(seed: number): Draw {
  let state = seed >>> 0;

  function bits(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  function word(): string {
    const drawn = bits();
    const high = `${hexBytes[drawn >>> 24]}${hexBytes[(drawn >>> 16) & 255]}`;
    return `${high}${hexBytes[(drawn >>> 8) & 255]}${hexBytes[drawn & 255]}`;
  }

  const draw: Draw = {
    next: () => bits() / 2 ** 32,
    integer: (min, max) => min + Math.floor((bits() / 2 ** 32) * (max - min + 1)),
    chance: (probability) => bits() / 2 ** 32 < probability,
    pick<T>(list: readonly T[]): T {
      const chosen = list[Math.floor((bits() / 2 ** 32) * list.length)];
      if (chosen === undefined) throw new Error('nothing to pick from');
      return chosen;
    },
    hex(characters) {
      let text = '';
      while (text.length < characters) text += word();
      return text.slice(0, characters);
    },
    uuid() {
      const [a, b, c, d] = [word(), word(), word(), word()];
      const variant = '89ab'[bits() & 3];
      return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-${variant}${c.slice(1, 4)}-${c.slice(4)}${d}`;
    },
  };
  return draw;
}

/** Picks by weight in the time of a binary search. */
export function weighted<T>(list: readonly T[], weight: (item: T) => number): (draw: Draw) => T {
  const sums: number[] = [];
  let total = 0;
  for (const item of list) sums.push((total += weight(item)));
  return (draw) => {
    const wanted = draw.next() * total;
    let low = 0;
    let high = list.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sums[middle] ?? 0) > wanted) high = middle;
      else low = middle + 1;
    }
    const found = list[low];
    if (found === undefined) throw new Error('nothing to pick from');
    return found;
  };
}
