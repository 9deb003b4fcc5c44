import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { playApart } from './apart.ts';
import { limits } from './limits.ts';
import { operations } from './operations/all.ts';
import { type Plan, planOf, stepsOf } from './plan.ts';
import type { Outcome } from './runner.ts';

/**
 * npm run simulate -- [--seed N] [--minutes M] [--steps ROUNDS] [--without NAME]… [--only NAME]… [--plan FILE]
 *
 * Plays the whole service from outside, run after run; the run of a seed is always the same, and the next run has the
 * next seed. Stops at the first thing that must never be with exit code 1.
 * The moments of its faults, which it prints as JSON, are a file for `--plan`.
 */

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    minutes: { type: 'string', default: '0' },
    steps: { type: 'string', default: String(limits.roundsDefault) },
    without: { type: 'string', multiple: true, default: [] },
    only: { type: 'string', multiple: true, default: [] },
    plan: { type: 'string' },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const sayWithin = (line: string): void => say(`  ${line}`);

function numberOf(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${name} must be a whole number of at most 9 digits`);
  return Number(text);
}

/** Names given by `--without` and `--only` take operations out; what is left is drawn as ever. */
function chosen(): typeof operations {
  const { without, only } = values;
  for (const name of [...without, ...only])
    if (!operations.some((one) => one.name === name)) throw new Error(`no operation "${name}"`);
  return operations.filter(
    ({ name }) => !without.includes(name) && (only.length === 0 || only.includes(name)),
  );
}

async function* plans(): AsyncGenerator<Plan> {
  if (values.plan !== undefined) return yield JSON.parse(await readFile(values.plan, 'utf8')) as Plan;
  const rounds = numberOf('steps', values.steps);
  const first = values.seed === undefined ? Math.floor(Math.random() * 1e6) : numberOf('seed', values.seed);
  for (let seed = first; ; seed++) yield planOf(seed, rounds, chosen(), values.only.length > 0);
}

function report(plan: Plan, { failure, played }: Outcome): void {
  say(`FAILED; again with: npm run simulate -- --seed ${plan.seed} --steps ${plan.rounds.length}`);
  say(`${failure?.message}\nthe moments of its faults: ${JSON.stringify(played)}`);
}

async function main(): Promise<void> {
  const began = performance.now();
  const seconds = (): number => Math.round((performance.now() - began) / 1000);
  for await (const plan of plans()) {
    say(`seed ${plan.seed}: ${stepsOf(plan)} steps in ${plan.rounds.length} rounds`);
    const outcome = await playApart(plan, { say: sayWithin });
    if (outcome.failure !== undefined) {
      say(`found after ${seconds()} s`);
      report(plan, outcome);
      process.exitCode = 1;
      return;
    }
    say(`seed ${plan.seed}: ${outcome.events} events, no failure, ${seconds()} s`);
    if (seconds() > numberOf('minutes', values.minutes) * 60) return;
  }
}

await main();
