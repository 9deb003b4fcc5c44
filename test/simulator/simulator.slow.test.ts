import { test } from 'node:test';
import { rounds } from '../support/rounds.ts';
import { operations } from './operations/all.ts';
import { planOf } from './plan.ts';
import { runPlan } from './runner.ts';

/** Runs that are always the same; `npm run simulate` plays what nobody has seen. */

const roundsOfRun = rounds(2, 24);
const linesShown = 40;

/** Not in the suite: what takes long by itself, and what no run has played through yet. */
const left: ReadonlySet<string> = new Set([
  'post very many',
  'restore elsewhere and go on there',
  'lose a part of the events while stopped',
  'start on a slow disk',
]);
const same = [`--steps ${roundsOfRun}`, ...[...left].map((name) => `--without '${name}'`)].join(' ');
const drawn = operations.filter(({ name }) => !left.has(name));

for (const seed of [39, 54])
  test(`the run of seed ${seed} shows nothing that must never be`, async (t) => {
    const said: string[] = [];
    const { failure, events } = await runPlan(planOf(seed, roundsOfRun, drawn), (line) => said.push(line));
    for (const line of said) t.diagnostic(line);
    t.diagnostic(`${events} events; the same again: npm run simulate -- --seed ${seed} ${same}`);
    // Where a test fails its diagnostics are not always shown.
    if (failure !== undefined) throw new Error([failure.message, ...said.slice(-linesShown)].join('\n'));
  });
