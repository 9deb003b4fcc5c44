import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { steadyClock } from '../../src/base/time/steady-clock.ts';

test('the steady clock passes with the time, follows a clock that is set back, and no jump ahead', () => {
  let [wall, passed] = [1_000_000, 50];
  const now = steadyClock(
    () => wall,
    () => passed,
  );
  assert.equal(now(), 1_000_000);
  wall += 500;
  passed += 500;
  assert.equal(now(), 1_000_500);
  wall += 86_400_000;
  passed += 500;
  assert.equal(now(), 1_001_000);
  wall = 900_000;
  assert.equal(now(), 900_000);
});
