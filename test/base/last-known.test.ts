import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { eventually } from '../support/http.ts';
import { LastKnown } from '../../src/base/waiting/last-known.ts';

test('a silent source is asked once with a short wait, and the last answer is given with its age', async () => {
  const answers: ((value: string) => void)[] = [];
  const known = new LastKnown(20, () => new Promise<string>((resolve) => answers.push(resolve)));
  assert.equal(await known.get(), undefined);
  assert.equal(await known.get(), undefined);
  assert.equal(answers.length, 1);
  answers[0]?.('first');
  await eventually('the late answer', async () => (await known.get())?.value);
  const [one, same] = await Promise.all([known.get(), known.get()]);
  assert.equal(one?.value, 'first');
  assert.ok(one.ageMs >= 15);
  assert.equal(same, one);
  assert.equal(answers.length, 2);
});

test('an answer in time is of now, and nothing is left that would keep a process', async () => {
  let asked = 0;
  const known = new LastKnown(600_000, async () => (asked += 1));
  assert.deepEqual(await known.get(), { value: 1, ageMs: 0 });
  assert.deepEqual(await known.get(), { value: 2, ageMs: 0 });
});
