import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { limits } from '../../src/storage/limits.ts';
import { RestartDelay } from '../../src/storage/engine.ts';

test('thirty kills in a row keep nobody waiting for minutes, and one that ran well is back at once', () => {
  const delay = new RestartDelay();
  const delays = Array.from({ length: 30 }, () => delay.next(300));
  assert.ok(delays.reduce((sum, ms) => sum + ms) <= 60_000, delays.join());
  assert.equal(delays[0], limits.engineRestartDelayMsMin);
  assert.equal(delays.at(-1), 2_000);
  assert.equal(delay.next(2_001), limits.engineRestartDelayMsMin);
  assert.equal(delay.next(0), limits.engineRestartDelayMsMin * 2);
});

test('the delay is within its bounds, and never more than doubles', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(5_000), { minLength: 2, maxLength: 60 }), (lives) => {
      const delay = new RestartDelay();
      let before: number = limits.engineRestartDelayMsMin / 2;
      for (const ranMs of lives) {
        const ms = delay.next(ranMs);
        assert.ok(ms >= limits.engineRestartDelayMsMin && ms <= limits.engineRestartDelayMsMax);
        assert.ok(ms <= before * 2);
        before = ms;
      }
    }),
  );
});
