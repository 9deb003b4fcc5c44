import { parseArgs } from 'node:util';
import { limits } from './limits.ts';
import { operations } from './operations/all.ts';
import { type Plan, planOf, stepsOf } from './plan.ts';
import { type Outcome, runPlan } from './runner.ts';
import { shrink } from './shrink.ts';

/**
 * npm run simulate -- [--seed N] [--minutes M] [--steps ROUNDS] [--without NAME]… [--only NAME]… [--no-shrink]
 *
 * Plays the whole service from outside, run after run; the run of a seed is always the same, and the next run has the
 * next seed. Stops at the first thing that must never be with exit code 1, after looking for fewer steps that show it.
 */

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    minutes: { type: 'string', default: '0' },
    steps: { type: 'string', default: String(limits.roundsDefault) },
    without: { type: 'string', multiple: true, default: [] },
    only: { type: 'string', multiple: true, default: [] },
    'no-shrink': { type: 'boolean', default: false },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function numberOf(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${name} must be a whole number of at most 9 digits`);
  return Number(text);
}

/** Names given by `--without` and `--only` take operations out; what is left is drawn as ever. */
function chosen(): typeof operations {
  const { without, only } = values;
  return operations.filter(
    ({ name }) => !without.includes(name) && (only.length === 0 || only.includes(name)),
  );
}

async function report(plan: Plan, { failure }: Outcome): Promise<void> {
  const again = `npm run simulate -- --seed ${plan.seed} --steps ${plan.rounds.length}`;
  say(`FAILED; again with: ${again}\n${failure?.message}`);
  if (failure === undefined || values['no-shrink']) return;
  const smallest = await shrink(plan, failure.check, say);
  say(`the fewest steps found that fail at the same check, ${stepsOf(smallest.plan)} of ${stepsOf(plan)}:`);
  for (const line of smallest.lines) say(`  ${line}`);
  say(JSON.stringify(smallest.plan));
}

async function main(): Promise<void> {
  const rounds = numberOf('steps', values.steps);
  const first = values.seed === undefined ? Math.floor(Math.random() * 1e6) : numberOf('seed', values.seed);
  const end = performance.now() + numberOf('minutes', values.minutes) * 60_000;
  const began = performance.now();
  for (let seed = first; ; seed++) {
    const plan = planOf(seed, rounds, chosen());
    say(`seed ${seed}: ${stepsOf(plan)} steps in ${rounds} rounds`);
    const outcome = await runPlan(plan, (line) => say(`  ${line}`));
    if (outcome.failure !== undefined) {
      say(`found after ${Math.round((performance.now() - began) / 1000)} s`);
      await report(plan, outcome);
      process.exitCode = 1;
      return;
    }
    say(
      `seed ${seed}: ${outcome.events} events, no failure, ${Math.round((performance.now() - began) / 1000)} s`,
    );
    if (performance.now() > end) return;
  }
}

await main();
