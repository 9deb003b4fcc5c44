import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { playApart } from './apart.ts';
import { limits } from './limits.ts';
import { operations } from './operations/all.ts';
import { type Plan, planOf, stepsOf } from './plan.ts';
import type { Outcome } from './runner.ts';

const usage = `Usage: npm run simulate -- [options]

Uses the whole service from outside while processes are killed and files damaged. A seed always gives the same run; the
next run has the next seed. Exits with 1 at the first failure, and prints its plan.

  --seed N          seed of the first run (default: random)
  --minutes M       start further runs for M minutes (default: one run)
  --steps N         rounds of a run (default ${limits.roundsDefault})
  --only NAME       only this operation; may be repeated
  --without NAME    without this operation; may be repeated
  --plan FILE       the plan of a failed run, as JSON
  -h, --help        print this help

Operations: ${operations.map(({ name }) => name).join(', ')}
`;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    minutes: { type: 'string', default: '0' },
    steps: { type: 'string', default: String(limits.roundsDefault) },
    without: { type: 'string', multiple: true, default: [] },
    only: { type: 'string', multiple: true, default: [] },
    plan: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const sayWithin = (line: string): void => say(`  ${line}`);

function numberOf(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${name} must be a whole number of at most 9 digits`);
  return Number(text);
}

/** Operations left by `--without` and `--only`. */
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

if (values.help) process.stdout.write(usage);
else await main();
