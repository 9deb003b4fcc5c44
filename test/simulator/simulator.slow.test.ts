import { test } from 'node:test';
import { rounds } from '../support/rounds.ts';
import { operations } from './operations/all.ts';
import { planOf } from './plan.ts';
import { runPlan } from './runner.ts';

/** Two runs that are always the same, and one that nobody has seen. `npm run simulate` plays longer ones. */

const roundsOfRun = rounds(5, 24);
const fresh = Math.floor(Math.random() * 1e6);

/** Not in the suite: what takes long by itself. */
const long: ReadonlySet<string> = new Set(['post very many', 'restore elsewhere and go on there']);
const drawn = operations.filter(({ name }) => !long.has(name));

for (const seed of [11, 12, fresh])
  test(`the run of seed ${seed} shows nothing that must never be`, async (t) => {
    const { failure, events } = await runPlan(planOf(seed, roundsOfRun, drawn), (line) => t.diagnostic(line));
    if (failure !== undefined) throw new Error(failure.message);
    t.diagnostic(`${events} events; the same again: npm run simulate -- --seed ${seed}`);
  });
