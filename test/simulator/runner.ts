import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { Draw } from './draw.ts';
import { Finding } from './finding.ts';
import { limits } from './limits.ts';
import { makeOrganization } from './operations/control.ts';
import { operationOf } from './operations/all.ts';
import type { Plan, Round, Step } from './plan.ts';
import { quietPoint } from './quiet.ts';
import { ending } from './waiting.ts';
import { World } from './world.ts';

/** What came of one run. */
export interface Outcome {
  readonly failure: Finding | undefined;
  readonly lines: readonly string[];
  readonly events: number;
}

async function runStep(world: World, name: string, step: Step): Promise<void> {
  const began = performance.now();
  const operation = operationOf(step.operation);
  const said = await ending(step.operation, limits.operationMsMax, operation.run(world, new Draw(step.seed)));
  if (said !== undefined)
    world.say(`${name} ${step.operation}: ${said} [${Math.round(performance.now() - began)} ms]`);
}

async function runFault(world: World, name: string, step: Step): Promise<void> {
  await sleep(step.afterMs ?? 0);
  await runStep(world, `${name} after ${step.afterMs} ms`, step);
}

async function runRound(world: World, round: Round, number: number): Promise<void> {
  const { fault } = round;
  // Before anything is sent: nobody can say afterwards which requests a fault has hit.
  if (fault !== undefined) world.disturb();
  const work = round.steps.map((step, at) => runStep(world, `${number}.${at + 1}`, step));
  if (fault !== undefined) work.push(runFault(world, `${number}!`, fault));
  const ended = await Promise.allSettled(work);
  const failed = ended.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  await world.calm();
}

/** Plays a plan from an empty data directory on; stops at the first thing that must never be. */
export async function runPlan(plan: Plan, say: (line: string) => void = () => undefined): Promise<Outcome> {
  const directory = await temporaryDirectory();
  const dataDir = join(directory, 'data');
  await mkdir(dataDir, { mode: 0o700 });
  const world = new World(directory, dataDir, say);
  let failure: Finding | undefined;
  try {
    await world.service.start();
    for (let n = 0; n < 2; n++) await makeOrganization(world);
    for (const [n, round] of plan.rounds.entries()) {
      await runRound(world, round, n + 1);
      if (round.isQuiet) {
        const began = performance.now();
        await quietPoint(world, plan.seed + n);
        world.say(`${n + 1} everything looked at [${Math.round(performance.now() - began)} ms]`);
      }
    }
    await world.service.stop();
  } catch (error) {
    failure =
      error instanceof Finding
        ? error
        : new Finding(
            'the simulator itself',
            error instanceof Error ? (error.stack ?? error.message) : String(error),
          );
  } finally {
    await world.service.killAtTheEnd();
    await removeDirectory(directory);
  }
  return { failure, lines: world.lines, events: world.model.events };
}
