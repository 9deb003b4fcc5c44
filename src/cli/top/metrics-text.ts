/** One series of the Prometheus text format. */
interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The metrics of one moment. */
export class Metrics {
  readonly #byName = new Map<string, Series[]>();

  constructor(text: string) {
    for (const line of text.split('\n')) {
      const [, name, labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined) continue;
      const series = this.#byName.get(name) ?? [];
      series.push({ labels: labelsOf(labels), value: valueOf(value) });
      this.#byName.set(name, series);
    }
  }

  /** Over all processes; undefined where there is no such series, or its value is not known just now. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    return this.#over(name, labels, (values) => values.reduce((sum, value) => sum + value, 0));
  }

  /** The highest of all processes. */
  max(name: string): number | undefined {
    return this.#over(name, {}, (values) => Math.max(...values));
  }

  /** Counts by upper bound of a histogram, with those of several routes together; bounds rise. */
  buckets(name: string, routes: readonly string[]): Map<number, number> {
    const counts = new Map<number, number>();
    for (const { labels, value } of this.#byName.get(`${name}_bucket`) ?? []) {
      if (!routes.includes(labels['route'] ?? '')) continue;
      const bound = valueOf(labels['le'] ?? '');
      counts.set(bound, (counts.get(bound) ?? 0) + value);
    }
    return new Map([...counts].sort(([one], [other]) => one - other));
  }

  #over(
    name: string,
    wanted: Readonly<Record<string, string>>,
    combine: (values: readonly number[]) => number,
  ): number | undefined {
    const values = (this.#byName.get(name) ?? [])
      .filter(({ labels }) => Object.entries(wanted).every(([label, value]) => labels[label] === value))
      .map(({ value }) => value)
      .filter((value) => !Number.isNaN(value));
    return values.length === 0 ? undefined : combine(values);
  }
}

function labelsOf(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, value]));
}

function valueOf(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === 'Nan' ? Number.NaN : Number(text);
}

/**
 * The value below which `share` of what was counted between two moments lies, in the unit of the bounds: between two bounds in
 * proportion, as Prometheus does. Undefined where nothing was counted; the last finite bound for what is above it.
 */
export function quantile(
  earlier: ReadonlyMap<number, number>,
  later: ReadonlyMap<number, number>,
  share: number,
): number | undefined {
  const counts = [...later].map(([bound, count]) => [bound, count - (earlier.get(bound) ?? 0)] as const);
  const wanted = (counts.at(-1)?.[1] ?? 0) * share;
  if (wanted <= 0) return undefined;
  let [below, before] = [0, 0];
  for (const [bound, count] of counts) {
    if (count >= wanted)
      return bound === Number.POSITIVE_INFINITY
        ? below
        : below + ((bound - below) * (wanted - before)) / (count - before);
    [below, before] = [bound, count];
  }
  return below;
}
