/** Below the top of the scale, a mark for each third of it has room for its figure. */
const marksMax = 3;

/** A bar that is so many times as high as the next would leave the others nothing to be told apart by. */
const outlierTimes = 5;

/** The highest count of the scale. A single outlier goes beyond it, unless the scale is that of logarithms. */
export function topOf(counts: readonly number[], isLog: boolean): number {
  const [highest = 0, next = 0] = counts.toSorted((a, b) => b - a);
  const isOutlier = !isLog && next > 0 && highest > outlierTimes * next;
  return Math.max(1, isOutlier ? Math.ceil(next * 1.25) : highest);
}

/** How high a count stands among the counts up to the highest, 0 to 1: by its size, or by the size of its logarithm. */
export function heightOf(count: number, highest: number, isLog: boolean): number {
  return Math.min(1, isLog ? Math.log1p(count) / Math.log1p(highest) : count / highest);
}

/** Round counts to name beside a scale, the lowest first. */
export function marksOf(highest: number, isLog: boolean): number[] {
  const decades = Math.floor(Math.log10(highest));
  if (isLog) {
    const step = Math.max(1, Math.ceil(decades / marksMax));
    return Array.from({ length: Math.floor(decades / step) }, (_, index) => 10 ** (step * (index + 1)));
  }
  const steps = [decades - 1, decades].flatMap((decade) => [1, 2, 5].map((n) => n * 10 ** decade));
  const step = steps.find((one) => one >= 1 && highest / one <= marksMax) ?? highest;
  return Array.from({ length: Math.floor(highest / step) }, (_, index) => step * (index + 1));
}
