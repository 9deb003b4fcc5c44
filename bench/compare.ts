import type { CaseResult, RunResult } from './stats/result.ts';
import { median, ratioOf, type Summary } from './stats/summary.ts';

/** One case in two runs. */
export interface Change {
  readonly id: string;
  /** New divided by old; below 1 is slower. */
  readonly change: Summary;
  /** Relative difference of two runs of the same code: as seen within the runs, at least `noiseMin`. */
  readonly noise: number;
  /** False if the case has no reference. */
  readonly relative: boolean;
  readonly verdict: 'slower' | 'faster' | 'same';
}

/** Difference between two runs of the same code that does not show within either run. */
const noiseMin = 0.04;

/** Slices of a case as ratios to its reference, or its rates without one. */
function samplesOf(result: CaseResult): readonly number[] {
  return result.ratio?.samples ?? result.service.rate.samples;
}

/** Difference between the two halves of a run, caused by the machine. */
function drift(samples: readonly number[]): number {
  if (samples.length < 4) return 0;
  const half = samples.length >> 1;
  return Math.abs(median(samples.slice(0, half)) / median(samples.slice(half)) - 1);
}

function compareRuns(base: RunResult, current: RunResult): Change[] {
  const before = new Map(base.cases.map((result) => [result.id, result]));
  return current.cases.flatMap((result) => {
    const old = before.get(result.id);
    if (old === undefined) return [];
    const [now, then] = [samplesOf(result), samplesOf(old)];
    const change = ratioOf(now, then);
    const noise = Math.max(noiseMin, drift(now), drift(then));
    const relative = result.ratio !== undefined && old.ratio !== undefined;
    const verdict = change.high < 1 - noise ? 'slower' : change.low > 1 + noise ? 'faster' : 'same';
    return [{ id: result.id, change, noise, relative, verdict }];
  });
}

function sameMachine(base: RunResult, current: RunResult): boolean {
  return base.machine.cpu === current.machine.cpu && base.machine.cores === current.machine.cores;
}

/** Slower cases; absolute rates are compared only on the same machine. */
export function regressions(base: RunResult, current: RunResult): Change[] {
  const same = sameMachine(base, current);
  return compareRuns(base, current).filter(
    ({ verdict, relative }) => verdict === 'slower' && (relative || same),
  );
}

export function comparisonTable(base: RunResult, current: RunResult): string {
  const lines = compareRuns(base, current).map(({ id, change, noise, relative, verdict }) => {
    const { median: middle, low, high } = change;
    const range = `${middle.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
    const kind = relative ? 'ratio to the reference' : 'rate';
    return `${id.padEnd(24)} ${range.padEnd(28)} noise ±${(noise * 100).toFixed(0).padStart(2)} %  ${verdict.padEnd(7)} ${kind}`;
  });
  const warning = sameMachine(base, current)
    ? ''
    : 'measured on different machines: cases without a reference compare these, not the code\n';
  return `now (${current.commit}) over then (${base.commit}), with 95 % intervals; below 1 is slower\n${lines.join('\n')}\n${warning}`;
}
