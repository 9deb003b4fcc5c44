import { limits } from './limits.ts';
import { type Plan, type Round, stepsOf } from './plan.ts';
import { runPlan } from './runner.ts';

/** A smaller plan that fails at the same check, and what it did. */
export interface Smallest {
  readonly plan: Plan;
  readonly lines: readonly string[];
}

/** Plans without a part, the largest parts first: halves, quarters, rounds, then steps of one round. */
function* smallerPlans(plan: Plan): Generator<Plan> {
  const { rounds } = plan;
  for (let size = Math.ceil(rounds.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = 0; at < rounds.length; at += size) yield ended(plan, rounds.toSpliced(at, size));
  for (const [at, round] of rounds.entries()) {
    if (round.fault !== undefined) {
      const { fault: _, ...without } = round;
      yield ended(plan, rounds.toSpliced(at, 1, without));
    }
    if (round.steps.length > 1)
      for (const [n] of round.steps.entries())
        yield ended(plan, rounds.toSpliced(at, 1, { ...round, steps: round.steps.toSpliced(n, 1) }));
  }
}

/** Whatever is left out, everything is looked at in the end. */
function ended(plan: Plan, rounds: readonly Round[]): Plan {
  return {
    ...plan,
    rounds: rounds.map((round, at) => (at === rounds.length - 1 ? { ...round, isQuiet: true } : round)),
  };
}

export async function shrink(plan: Plan, check: string, say: (line: string) => void): Promise<Smallest> {
  let smallest: Smallest = { plan, lines: [] };
  const end = performance.now() + limits.shrinkMsMax;
  for (let isSmaller = true; isSmaller && performance.now() < end; ) {
    isSmaller = false;
    for (const candidate of smallerPlans(smallest.plan)) {
      if (performance.now() > end) break;
      if (candidate.rounds.length === 0) continue;
      const { failure, lines } = await runPlan(candidate);
      if (failure?.check !== check) continue;
      smallest = { plan: candidate, lines: [...lines, failure.message] };
      say(`  ${stepsOf(candidate)} steps fail, too`);
      isSmaller = true;
      break;
    }
  }
  return smallest;
}
