import { test } from 'node:test';
import { rounds } from '../support/rounds.ts';
import { operations } from './operations/all.ts';
import { planOf } from './plan.ts';
import { runPlan } from './runner.ts';

/** A run that is always the same, and one that nobody has seen. `npm run simulate` plays longer ones. */

const roundsOfRun = rounds(2, 24);
const linesShown = 40;
const fresh = Math.floor(Math.random() * 1e6);

for (const seed of [39, fresh])
  test(`the run of seed ${seed} shows nothing that must never be`, async (t) => {
    const said: string[] = [];
    const { failure, events } = await runPlan(planOf(seed, roundsOfRun, operations), (line) =>
      said.push(line),
    );
    for (const line of said) t.diagnostic(line);
    t.diagnostic(
      `${events} events; the same again: npm run simulate -- --seed ${seed} --steps ${roundsOfRun}`,
    );
    // Where a test fails its diagnostics are not always shown.
    if (failure !== undefined) throw new Error([failure.message, ...said.slice(-linesShown)].join('\n'));
  });
