import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { askedGauge, renderMetrics } from '../../src/base/observability/metrics.ts';

test('the age of a gauge is infinite until its figure is known', async () => {
  const gauge = { name: 'test_asked', help: 'help', labelNames: [], ageName: 'test_asked_age_seconds' };
  let answer: (value: number) => void = () => undefined;
  const ask = () => new Promise<number>((resolve) => (answer = resolve));
  askedGauge(gauge, ask, (it, value) => it.set(value));
  assert.match(await renderMetrics(), /^test_asked_age_seconds \+Inf$/m);
  answer(7);
  const known = await renderMetrics();
  assert.match(known, /^test_asked 7$/m);
  assert.match(known, /^test_asked_age_seconds 0$/m);
});
