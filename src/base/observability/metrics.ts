import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { LastKnown } from '../waiting/last-known.ts';
import { limits } from '../limits.ts';

/** Only the main thread's metrics are shown. */
const registry = new Registry();

/** A repeated name returns the existing metric. */
export function counter<L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> {
  const known = registry.getSingleMetric(name);
  if (known instanceof Counter) return known;
  return new Counter({ name, help, labelNames: [...labelNames], registers: [registry] });
}

class Tally {
  readonly #counter: { inc(value: number): void };
  #value = 0;

  constructor(counter: { inc(value: number): void }) {
    this.#counter = counter;
  }

  add(value: number): void {
    this.#value += value;
  }

  settle(): void {
    if (this.#value > 0) this.#counter.inc(this.#value);
    this.#value = 0;
  }
}

const tallies: Tally[] = [];

/** The counter itself would hash its labels at each call. */
export function tally(counter: { inc(value: number): void }): (value: number) => void {
  const made = new Tally(counter);
  tallies.push(made);
  return (value) => made.add(value);
}

/** `collect` sets it when metrics are read, and must not reject. */
export function gauge<L extends string>(
  name: string,
  help: string,
  labelNames: readonly L[],
  collect?: (gauge: Gauge<L>) => void | Promise<void>,
): Gauge<L> {
  const known = registry.getSingleMetric(name);
  if (known instanceof Gauge) registry.removeSingleMetric(name);
  return new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    ...(collect && {
      collect(this: Gauge<L>) {
        return collect(this);
      },
    }),
  });
}

interface AskedGauge<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
  readonly ageName: string;
}

/**
 * A gauge of another program's figure, and one of its age: metrics wait `metricsWaitMsMax`, then show the
 * last figure. `ask` must not reject.
 */
export function askedGauge<T, L extends string>(
  { name, help, labelNames, ageName }: AskedGauge<L>,
  ask: () => Promise<T>,
  show: (gauge: Gauge<L>, value: T) => void,
): void {
  const figures = new LastKnown(limits.metricsWaitMsMax, ask);
  gauge(name, help, labelNames, async (it) => {
    const known = await figures.get();
    if (known !== undefined) show(it, known.value);
  });
  gauge(ageName, `Seconds since ${name} was measured; +Inf before the first measurement`, [], async (it) => {
    const known = await figures.get();
    it.set(known === undefined ? Number.POSITIVE_INFINITY : known.ageMs / 1000);
  });
}

/** In seconds or bytes; `buckets` are upper bounds. */
export function histogram<L extends string>(
  name: string,
  help: string,
  labelNames: readonly L[],
  buckets: readonly number[],
): Histogram<L> {
  const known = registry.getSingleMetric(name);
  if (known instanceof Histogram) return known;
  return new Histogram({
    name,
    help,
    labelNames: [...labelNames],
    buckets: [...buckets],
    registers: [registry],
  });
}

let collectingProcess = false;

export function collectProcessMetrics(): void {
  if (collectingProcess) return;
  collectingProcess = true;
  collectDefaultMetrics({ register: registry });
  // promtool rejects gauges with names of counters; each is the sum of one that stays.
  for (const name of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${name}_total`);
}

export const metricsContentType: string = registry.contentType;

export function renderMetrics(): Promise<string> {
  for (const one of tallies) one.settle();
  return registry.metrics();
}
