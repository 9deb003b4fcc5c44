/** A mark for each third of the scale leaves room for its number. */
const marksMax = 3;

/** A bar this many times as high as the next is cut off, so that the others can be compared. */
const outlierTimes = 5;

/** The highest count of the scale. A single outlier exceeds a linear scale. */
export function topOf(counts: readonly number[], isLog: boolean): number {
  const [highest = 0, next = 0] = counts.toSorted((a, b) => b - a);
  const isOutlier = !isLog && next > 0 && highest > outlierTimes * next;
  return Math.max(1, isOutlier ? Math.ceil(next * 1.25) : highest);
}

/** Height of a count, 0 to 1, linear or logarithmic. */
export function heightOf(count: number, highest: number, isLog: boolean): number {
  return Math.min(1, isLog ? Math.log1p(count) / Math.log1p(highest) : count / highest);
}

/** Round counts for the scale, lowest first. */
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
