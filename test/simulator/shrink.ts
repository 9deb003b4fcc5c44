import { limits } from './limits.ts';
import { type Plan, type Round, stepsOf } from './plan.ts';
import type { Outcome } from './runner.ts';

/** Plays a plan for so long at most. */
export type Play = (plan: Plan, say: (line: string) => void, msMax: number) => Promise<Outcome>;

/** A smaller plan that fails at the same check, and what it did. */
export interface Smallest {
  readonly plan: Plan;
  readonly lines: readonly string[];
}

/** Whatever is left out, everything is looked at in the end. */
function ended(rounds: readonly Round[]): readonly Round[] {
  const kept = rounds.filter(({ steps, fault }) => steps.length > 0 || fault !== undefined);
  return kept.map((round, at) => (at === kept.length - 1 ? { ...round, isQuiet: true } : round));
}

/** A round without one of its steps. With fewer answers the moment of its fault is a time again. */
function without(round: Round, at: number): Round {
  if (at === round.steps.length) return { steps: round.steps, isQuiet: round.isQuiet };
  const { fault, ...rest } = round;
  const steps = round.steps.toSpliced(at, 1);
  if (fault === undefined) return { ...rest, steps };
  const { afterAnswers: _, ...timed } = fault;
  return { ...rest, steps, fault: timed };
}

/** Leaves out whatever the failure does not need: looks in between, halves of the rounds, quarters, rounds, single steps. */
class Shrinking {
  readonly #check: string;
  readonly #play: Play;
  readonly #say: (line: string) => void;
  readonly #end = performance.now() + limits.shrinkMsMax;
  #smallest: Smallest;

  constructor(played: Plan, check: string, play: Play, say: (line: string) => void) {
    this.#smallest = { plan: played, lines: [] };
    this.#check = check;
    this.#play = play;
    this.#say = say;
  }

  async run(): Promise<Smallest> {
    const { length } = this.#rounds;
    await this.#keepsFailing(this.#rounds.map((round) => ({ ...round, isQuiet: false })));
    for (let size = Math.ceil(length / 2); size >= 1; size = Math.floor(size / 2))
      for (let at = 0; at < this.#rounds.length; )
        if (!(await this.#keepsFailing(this.#rounds.toSpliced(at, size)))) at += size;
    for (let at = this.#rounds.length - 1; at >= 0; at--) await this.#shrinkRound(at);
    return this.#smallest;
  }

  get #rounds(): readonly Round[] {
    return this.#smallest.plan.rounds;
  }

  async #shrinkRound(at: number): Promise<void> {
    const count = (this.#rounds[at]?.steps.length ?? 0) + 1;
    for (let n = count - 1; n >= 0; n--) {
      const round = this.#rounds[at];
      // A round that was left out whole has been tried.
      if (round === undefined || (n === round.steps.length && round.fault === undefined)) continue;
      await this.#keepsFailing(this.#rounds.toSpliced(at, 1, without(round, n)));
    }
  }

  /** Whether it fails at the same check with these rounds; then they are the smallest. */
  async #keepsFailing(rounds: readonly Round[]): Promise<boolean> {
    const plan = { ...this.#smallest.plan, rounds: ended(rounds) };
    const left = this.#end - performance.now();
    if (left <= 0 || plan.rounds.length === 0) return false;
    const lines: string[] = [];
    const { failure, played } = await this.#play(plan, (line) => lines.push(line), left);
    const isSame = failure?.check === this.#check;
    this.#say(
      `  ${stepsOf(plan)} steps ${isSame ? 'fail, too' : `end with: ${failure?.message ?? 'no failure'}`}`,
    );
    if (!isSame) return false;
    this.#smallest = {
      plan: { ...played, rounds: ended(played.rounds) },
      lines: [...lines, failure.message],
    };
    return true;
  }
}

export function shrink(
  played: Plan,
  check: string,
  play: Play,
  say: (line: string) => void,
): Promise<Smallest> {
  return new Shrinking(played, check, play, say).run();
}
