import { Bench } from 'tinybench';
import type { CaseResult } from '../stats/result.ts';
import { summarize } from '../stats/summary.ts';

/** A piece of code, and its reference: plain work of the platform on the same data. */
export interface MicroCase {
  readonly title: string;
  readonly unit: string;
  /** Units per call of either side. */
  readonly units: number;
  readonly run: () => unknown;
  readonly reference: { readonly name: string; readonly run: () => unknown };
}

export interface MicroPlan {
  readonly rounds: number;
  /** Measured time of one side in one round. */
  readonly sliceMs: number;
}

const warmUpMsMax = 3000;

/** Median time of a call in milliseconds, which interrupted calls do not affect. */
async function timeOf(run: () => unknown, sliceMs: number): Promise<number> {
  const bench = new Bench({ time: sliceMs, iterations: 3, warmup: false, throws: true });
  bench.add('side', async () => {
    const result = run();
    if (result instanceof Promise) await result;
  });
  await bench.run();
  const result = bench.tasks[0]?.result;
  if (result === undefined || !('latency' in result)) throw new Error('a micro bench has no result');
  return result.latency.p50;
}

/** Calls until the code is compiled, which takes long on a busy machine. */
async function warmUp(run: () => unknown, sliceMs: number): Promise<void> {
  let times: number[] = [];
  for (let spentMs = 0; spentMs < warmUpMsMax; spentMs += sliceMs) {
    times = [...times.slice(-4), await timeOf(run, sliceMs)];
    const steady = Math.max(...times) < Math.min(...times) * 1.03;
    if (times.length === 5 && steady) return;
  }
}

/** Measures both sides in turns; the ratio is above 1 if the code is faster than its reference. */
export async function measureMicro(
  id: string,
  { title, unit, units, run, reference }: MicroCase,
  { rounds, sliceMs }: MicroPlan,
): Promise<CaseResult> {
  // Warm-up.
  await warmUp(run, sliceMs);
  await warmUp(reference.run, sliceMs);
  const own: number[] = [];
  const other: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const first = round % 2 === 0;
    const a = await timeOf(first ? run : reference.run, sliceMs);
    const b = await timeOf(first ? reference.run : run, sliceMs);
    const [mine, plain] = first ? [a, b] : [b, a];
    own.push((units / mine) * 1000);
    other.push((units / plain) * 1000);
    ratios.push(plain / mine);
  }
  const rate = summarize(own);
  return {
    id,
    title,
    unit,
    service: { rate },
    reference: { name: reference.name, side: { rate: summarize(other) } },
    ratio: summarize(ratios),
    notes: [`${(1e6 / rate.median).toFixed(3)} µs each; reference: ${reference.name}`],
  };
}
