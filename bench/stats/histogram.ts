/**
 * Latencies in buckets whose width grows with the value, so that every quantile is exact to 0.8 %:
 * values below 256 have a bucket each, above them every power of two has 128.
 */
export interface Histogram {
  /** Whole microseconds; negative values count as 0. */
  record(micros: number): void;
  merge(data: HistogramData): void;
  data(): HistogramData;
}

/** Pairs of bucket and count, ascending: the form between processes and in JSON. */
export type HistogramData = readonly (readonly [bucket: number, count: number])[];

const exactBuckets = 256;
const bucketsPerDouble = 128;
const bucketCount = exactBuckets + 23 * bucketsPerDouble;

function bucketOf(micros: number): number {
  const value = Math.min(0x7fffffff, Math.max(0, Math.round(micros)));
  if (value < exactBuckets) return value;
  const shift = 31 - Math.clz32(value) - 7;
  return exactBuckets + (shift - 1) * bucketsPerDouble + (value >>> shift) - bucketsPerDouble;
}

/** The middle of a bucket, in microseconds. */
function valueOf(bucket: number): number {
  if (bucket < exactBuckets) return bucket;
  const shift = Math.floor((bucket - exactBuckets) / bucketsPerDouble) + 1;
  const mantissa = ((bucket - exactBuckets) % bucketsPerDouble) + bucketsPerDouble;
  return (mantissa + 0.5) * 2 ** shift;
}

export function createHistogram(): Histogram {
  const counts = new Float64Array(bucketCount);
  return {
    record(micros) {
      const bucket = bucketOf(micros);
      counts[bucket] = (counts[bucket] ?? 0) + 1;
    },
    merge(data) {
      for (const [bucket, count] of data) counts[bucket] = (counts[bucket] ?? 0) + count;
    },
    data() {
      const pairs: [number, number][] = [];
      for (const [bucket, count] of counts.entries()) if (count > 0) pairs.push([bucket, count]);
      return pairs;
    },
  };
}

/** Values in milliseconds at the given shares (0 to 1) of all; zeros when nothing was recorded. */
export function quantilesMs(data: HistogramData, shares: readonly number[]): number[] {
  const total = data.reduce((sum, [, count]) => sum + count, 0);
  return shares.map((share) => {
    let seen = 0;
    for (const [bucket, count] of data) {
      seen += count;
      if (seen >= share * total) return valueOf(bucket) / 1000;
    }
    return 0;
  });
}

export function mergeHistograms(all: readonly HistogramData[]): HistogramData {
  const merged = createHistogram();
  for (const data of all) merged.merge(data);
  return merged.data();
}
