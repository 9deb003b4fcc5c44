import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { loudLines } from './checks/log.ts';
import { Draw } from './draw.ts';
import { fullDisk, SmallDisk } from './faults/disk.ts';
import { Finding } from './finding.ts';
import { limits } from './limits.ts';
import { makeOrganization } from './operations/control.ts';
import { operationOf } from './operations/all.ts';
import type { Plan, Round, Step } from './plan.ts';
import { quietPoint } from './quiet.ts';
import { ending, patiently } from './waiting.ts';
import { World } from './world.ts';

/** The result of one run. */
export interface Outcome {
  readonly failure: { readonly check: string; readonly message: string } | undefined;
  /** The rounds so far, with the moments of faults and without steps that had nothing to do. */
  readonly played: Plan;
  readonly events: number;
}

/** One run: its plan, its world and its progress. */
class Run {
  readonly #plan: Plan;
  readonly #world: World;
  readonly #played: Round[] = [];

  constructor(plan: Plan, world: World) {
    this.#plan = plan;
    this.#world = world;
  }

  get played(): Plan {
    return { ...this.#plan, rounds: this.#played };
  }

  async play(): Promise<void> {
    const { seed, rounds } = this.#plan;
    await this.#world.service.start();
    for (let n = 0; n < 2; n++) await makeOrganization(this.#world);
    for (const [n, round] of rounds.entries()) {
      await this.#round(round, n + 1);
      if (!round.isQuiet) continue;
      const began = performance.now();
      const bounds = await quietPoint(this.#world, seed + n);
      this.#world.say(
        `${n + 1} everything looked at: ${bounds} [${Math.round(performance.now() - began)} ms]`,
      );
    }
    await this.#world.service.stop();
  }

  async #round(round: Round, number: number): Promise<void> {
    const { fault } = round;
    const idle = new Set<Step>();
    const note = async (step: Step, did: Promise<boolean>): Promise<void> => {
      if (!(await did)) idle.add(step);
    };
    // First: afterwards it is unknown which requests a fault has hit.
    if (fault !== undefined) this.#world.disturb();
    const steps = round.steps.map((step, at) => note(step, this.#step(`${number}.${at + 1}`, step)));
    const struck = fault && this.#fault(fault, `${number}!`);
    const ended = await Promise.allSettled([...steps, ...(struck === undefined ? [] : [struck])]);
    const moment = await struck?.catch(() => undefined);
    this.#played.push({
      steps: round.steps.filter((step) => !idle.has(step)),
      ...(fault !== undefined && { fault: moment ?? fault }),
      isQuiet: round.isQuiet,
    });
    const failed = ended.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    await this.#world.calm();
  }

  /** Resolves with whether there was anything to do. */
  async #step(name: string, step: Step): Promise<boolean> {
    const began = performance.now();
    const operation = operationOf(step.operation);
    const work = operation.run(this.#world, new Draw(step.seed));
    const said = await ending(step.operation, limits.operationMsMax, work);
    if (said === undefined) return false;
    this.#world.say(`${name} ${step.operation}: ${said} [${Math.round(performance.now() - began)} ms]`);
    return true;
  }

  /** The fault, with the moment at which it struck. */
  async #fault(fault: Step, name: string): Promise<Step> {
    const before = this.#world.answers;
    const latest = performance.now() + patiently(limits.faultAfterMsMax);
    if (fault.afterAnswers === undefined) await sleep(fault.afterMs ?? 0);
    else
      while (this.#world.answers - before < fault.afterAnswers && performance.now() < latest) await sleep(1);
    const afterAnswers = this.#world.answers - before;
    await this.#step(`${name} after ${afterAnswers} answers`, fault);
    return { ...fault, afterAnswers };
  }
}

/** Plays a plan from an empty data directory on; stops at the first failure. */
export async function runPlan(plan: Plan, say: (line: string) => void = () => undefined): Promise<Outcome> {
  const directory = await temporaryDirectory();
  const dataDir = join(directory, 'data');
  await mkdir(dataDir, { mode: 0o700 });
  const world = new World(directory, dataDir, say, plan);
  if (plan.rounds.some(({ fault }) => fault?.operation === fullDisk)) world.disk = SmallDisk.mountAt(dataDir);
  const run = new Run(plan, world);
  let failure: Outcome['failure'];
  try {
    await run.play();
  } catch (error) {
    const lines = loudLines(world);
    if (lines !== '') world.say(`warnings and errors of the service since the last rest:\n${lines}`);
    failure =
      error instanceof Finding
        ? { check: error.check, message: error.message }
        : {
            check: 'the simulator itself',
            message: error instanceof Error ? (error.stack ?? error.message) : String(error),
          };
  } finally {
    await world.service.killAtTheEnd();
    world.disk?.unmount();
    await removeDirectory(directory);
  }
  return { failure, played: run.played, events: world.model.events };
}
