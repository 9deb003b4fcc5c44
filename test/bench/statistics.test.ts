import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { regressions } from '../../bench/compare.ts';
import { createHistogram, mergeHistograms, quantilesMs } from '../../bench/stats/histogram.ts';
import type { RunResult } from '../../bench/stats/result.ts';
import { summarize } from '../../bench/stats/summary.ts';

test('a quantile of the histogram is right to 0.8 %', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 2_000_000_000 }), { minLength: 1, maxLength: 200 }),
      fc.double({ min: 0.01, max: 1, noNaN: true }),
      (micros, share) => {
        const [one, two] = [createHistogram(), createHistogram()];
        for (const [index, value] of micros.entries()) (index % 2 === 0 ? one : two).record(value);
        const sorted = micros.toSorted((a, b) => a - b);
        const exact = sorted[Math.max(0, Math.ceil(share * sorted.length - 1e-9) - 1)] ?? 0;
        const [found = -1] = quantilesMs(mergeHistograms([one.data(), two.data()]), [share]);
        assert.ok(Math.abs(found * 1000 - exact) <= exact * 0.008 + 0.5, `${found * 1000} for ${exact}`);
      },
    ),
  );
});

function run(rates: readonly number[]): RunResult {
  const machine = { cpu: 'one', cores: 2, memoryGigabytes: 1, node: '', system: '' };
  const rate = summarize(rates);
  const result = { id: 'a', title: '', unit: 'pages', service: { rate }, ratio: rate, notes: [] };
  return { format: 1, startedAt: '', commit: '', machine, cases: [result], series: [], skipped: [] };
}

const steady = [1, 1.01, 0.99, 1, 1.02, 0.98, 1, 1.01];

test('a fifth slower is a regression, noise is not', () => {
  const slower = steady.map((rate) => rate / 1.2);
  assert.equal(regressions(run(steady), run(slower)).length, 1);
  assert.equal(regressions(run(steady), run(steady.toReversed())).length, 0);
  assert.equal(regressions(run(slower), run(steady)).length, 0);
});

test('a drift within a run counts as its noise', () => {
  const drifting = [1, 1, 1, 1, 0.7, 0.7, 0.7, 0.7];
  assert.equal(regressions(run(drifting), run(steady.map((rate) => rate * 0.8))).length, 0);
});
