import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freshSingleFlight, memoizeFor, singleFlight } from '../../src/base/waiting/single-flight.ts';

test('an answer is shared while it is asked for and for a while after, then asked anew', async () => {
  let asked = 0;
  const ask = async () => {
    await sleep(5);
    return ++asked;
  };
  const long = memoizeFor(60_000, ask);
  assert.deepEqual(await Promise.all([long(), long(), long()]), [1, 1, 1]);
  assert.equal(await long(), 1);
  const short = memoizeFor(1, ask);
  assert.equal(await short(), 2);
  await sleep(20);
  assert.equal(await short(), 3);
});

test('a failure reaches only those that wait for it', async () => {
  let asked = 0;
  const share = memoizeFor(60_000, async () => {
    asked += 1;
    await sleep(1);
    if (asked === 1) throw new Error('not now');
    return asked;
  });
  const both = await Promise.allSettled([share(), share()]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(await share(), 2);
  assert.equal(await share(), 2);
});

test('calls during a run share it, or the next one where the answer must be newer than the call', async () => {
  let runs = 0;
  const run = async () => {
    const number = ++runs;
    await sleep(5);
    if (number === 1) throw new Error('not now');
    return number;
  };
  const shared = singleFlight(run);
  const results = await Promise.allSettled([shared(), shared()]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(await shared(), 2);

  runs = 1;
  const fresh = freshSingleFlight(run);
  const first = fresh();
  await sleep(1);
  assert.deepEqual(await Promise.all([first, fresh(), fresh()]), [2, 3, 3]);
  assert.equal(await fresh(), 4);
});
