/** A figure measured in several short slices. */
export interface Summary {
  readonly median: number;
  /** 95 % confidence interval of the median, by bootstrap. */
  readonly low: number;
  readonly high: number;
  readonly samples: readonly number[];
}

const resamples = 1000;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  if (sorted.length % 2 === 1) return sorted[middle] as number;
  return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** Repeatable random numbers from 0 up to 1 (mulberry32), so that an interval is the same each time. */
function createChance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function resampled(values: readonly number[], chance: () => number): number[] {
  return values.map(() => values[Math.floor(chance() * values.length)] as number);
}

function interval(statistics: number[]): [low: number, high: number] {
  const sorted = statistics.sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] as number;
  return [at(0.025), at(0.975)];
}

export function summarize(samples: readonly number[]): Summary {
  const chance = createChance(samples.length);
  const medians = Array.from({ length: resamples }, () => median(resampled(samples, chance)));
  const [low, high] = interval(medians);
  return { median: median(samples), low, high, samples };
}

/** Ratio of the medians of two sets of slices from different times, with its interval. */
export function ratioOf(above: readonly number[], below: readonly number[]): Summary {
  const chance = createChance(above.length + below.length);
  const ratios = Array.from(
    { length: resamples },
    () => median(resampled(above, chance)) / median(resampled(below, chance)),
  );
  const [low, high] = interval(ratios);
  return { median: median(above) / median(below), low, high, samples: ratios };
}
