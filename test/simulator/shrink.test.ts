import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { planOf, stepsOf } from './plan.ts';
import { operations } from './operations/all.ts';
import { shrink } from './shrink.ts';

test('of a failing run the steps are left that it needs, each round with its fault and a look at the end', async () => {
  const whole = planOf(5, 16, operations, true);
  // It fails at one check where the last step of round 3 comes before the first of round 11, and at another without it.
  const needed = [whole.rounds[3]?.steps.at(-1), whole.rounds[11]?.steps[0]];
  let plays = 0;
  const { plan, lines } = await shrink(
    whole,
    'this check',
    async (played) => {
      plays += 1;
      const seeds = played.rounds.flatMap(({ steps }) => steps.map(({ seed }) => seed));
      const places = needed.map((step) => seeds.indexOf(step?.seed ?? -1));
      const [first = -1, second = -1] = places;
      const isLookedAt = played.rounds.at(-1)?.isQuiet === true;
      const check = first >= 0 && second > first && isLookedAt ? 'this check' : 'another';
      return { failure: { check, message: check }, played, events: 0 };
    },
    () => undefined,
  );
  assert.ok(stepsOf(whole) > 40);
  assert.deepEqual(
    plan.rounds.flatMap(({ steps }) => steps),
    needed,
  );
  assert.equal(stepsOf(plan), 2);
  assert.deepEqual(lines, ['this check']);
  assert.ok(plays < 60, `${plays} plays`);
});
