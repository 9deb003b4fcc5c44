import { Draw } from './draw.ts';
import { limits } from './limits.ts';

/** An operation or fault, and the seed of its draws. */
export interface Step {
  readonly operation: string;
  readonly seed: number;
  /** Of a fault: time after the round's beginning. */
  readonly afterMs?: number;
  /**
   * Of a fault that has struck: number of the round's answers before. It strikes there again, at any speed of the
   * machine.
   */
  readonly afterAnswers?: number;
}

/** Steps that begin together. A fault strikes during them. */
export interface Round {
  readonly steps: readonly Step[];
  readonly fault?: Step;
  /** Followed by a complete check. */
  readonly isQuiet: boolean;
}

export interface Plan {
  readonly seed: number;
  readonly rounds: readonly Round[];
  /** Failed requests are no findings: to find faults behind them. */
  readonly toleratesFailures?: boolean;
}

/** What a plan is drawn from. `alone`: nothing runs beside it. */
export interface Drawable {
  readonly name: string;
  readonly weight: number;
  readonly kind: 'actor' | 'fault' | 'alone';
}

/** Frequencies of an operation in a run, relative to its weight. `narrow` omits most. */
const factors = { chosen: [0.5, 1, 1, 2], wide: [0, 0.5, 1, 1, 2, 4], narrow: [0, 0, 0, 1] } as const;
/** Operations of at least this weight are in every narrow run: without events there is nothing to do. */
const weightOfUsual = 4;

/**
 * Each run omits some operations and repeats others. Two that hide each other's faults are apart in some runs, and
 * two that must meet often do so in others (swarm testing), mostly in narrow ones.
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

/** `areChosen`: by `--only`, so none is omitted. */
export function planOf(
  seed: number,
  roundCount: number,
  all: readonly Drawable[],
  areChosen: boolean = false,
): Plan {
  const draw = new Draw(seed);
  // Of consecutive seeds, two are narrow and two wide.
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
