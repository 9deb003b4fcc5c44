import { Draw } from './draw.ts';
import { limits } from './limits.ts';

/** One operation or fault, and the seed of all that it draws. */
export interface Step {
  readonly operation: string;
  readonly seed: number;
  /** Of a fault: how long after the beginning of its round. */
  readonly afterMs?: number;
  /** Of a fault that has struck: how many answers its round had had. It strikes there again, on a machine of any speed. */
  readonly afterAnswers?: number;
}

/** Steps that begin together. A fault comes while they are under way. */
export interface Round {
  readonly steps: readonly Step[];
  readonly fault?: Step;
  /** Everything is looked at afterwards. */
  readonly isQuiet: boolean;
}

export interface Plan {
  readonly seed: number;
  readonly rounds: readonly Round[];
  /** A request that fails is no finding: to see what lies behind such failures. */
  readonly toleratesFailures?: boolean;
}

/** What a plan is drawn from. `alone`: nothing else is under way meanwhile. */
export interface Drawable {
  readonly name: string;
  readonly weight: number;
  readonly kind: 'actor' | 'fault' | 'alone';
}

/** How often an operation comes in a run, beside how often it usually does. `narrow` leaves most out. */
const factors = { chosen: [0.5, 1, 1, 2], wide: [0, 0.5, 1, 1, 2, 4], narrow: [0, 0, 0, 1] } as const;
/** What has at least this weight is in every narrow run: without events there is nothing to do. */
const weightOfUsual = 4;

/**
 * What each run can do differs: some things not at all, some more often. Two that hide each other's faults are apart in
 * some runs, and two that must meet often do so in others (swarm testing), most of all in those that have few.
 */
function swarmOf<T extends Drawable>(draw: Draw, all: readonly T[], breadth: keyof typeof factors): T[] {
  return all
    .map((one) => {
      const isUsual = breadth === 'narrow' && one.weight >= weightOfUsual;
      return { ...one, weight: one.weight * (isUsual ? 1 : draw.pick(factors[breadth])) };
    })
    .filter(({ weight }) => weight > 0);
}

const shareOfAlone = 0.2;
const shareOfFaults = 0.35;

/** `areChosen`: somebody has named the operations, so none is left out. */
export function planOf(
  seed: number,
  roundCount: number,
  all: readonly Drawable[],
  areChosen: boolean = false,
): Plan {
  const draw = new Draw(seed);
  // Of seeds that follow each other, as those of a long run, two are narrow and two wide.
  const breadth = areChosen ? 'chosen' : seed % 4 < 2 ? 'narrow' : 'wide';
  const kinds = (kind: Drawable['kind']) =>
    swarmOf(
      draw,
      all.filter((one) => one.kind === kind),
      breadth,
    );
  const [actors, faults, alone] = [kinds('actor'), kinds('fault'), kinds('alone')];
  const step = (list: readonly Drawable[]): Step => ({
    operation: draw.weighted(list).name,
    seed: draw.seed(),
  });
  const rounds = Array.from({ length: roundCount }, (_, n): Round => {
    const isQuiet = (n + 1) % limits.roundsBetweenQuietPoints === 0 || n === roundCount - 1;
    if (n > 1 && alone.length > 0 && draw.chance(shareOfAlone)) return { steps: [step(alone)], isQuiet };
    const steps = Array.from({ length: draw.int(2, limits.lanesMax) }, () => step(actors));
    if (n === 0 || faults.length === 0 || !draw.chance(shareOfFaults)) return { steps, isQuiet };
    return { steps, fault: { ...step(faults), afterMs: draw.int(0, limits.faultAfterMsMax) }, isQuiet };
  });
  return { seed, rounds };
}

export function stepsOf(plan: Plan): number {
  return plan.rounds.reduce((sum, { steps, fault }) => sum + steps.length + (fault === undefined ? 0 : 1), 0);
}
