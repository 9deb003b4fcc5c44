import { fork } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../support/directories.ts';
import { projectRoot } from '../support/project-root.ts';
import type { Plan } from './plan.ts';
import type { Message } from './play.ts';
import type { Outcome } from './runner.ts';

/** The directory of a run, and its time limit. */
export interface Apart {
  readonly say: (line: string) => void;
  /** The project whose service is tested. */
  readonly root?: string;
  readonly msMax?: number;
}

/**
 * Plays a plan in its own process, with all files in one directory that is removed at the end, so runs can follow
 * each other for hours. If the process is killed, the simulator has failed.
 */
export async function playApart(plan: Plan, { say, root, msMax }: Apart): Promise<Outcome> {
  const directory = await temporaryDirectory();
  const folder = root ?? fileURLToPath(projectRoot);
  const child = fork(join(folder, 'test/simulator/play.ts'), {
    cwd: folder,
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, TMPDIR: directory },
  });
  const timer = msMax === undefined ? undefined : setTimeout(() => child.kill(), msMax);
  try {
    return await new Promise<Outcome>((resolve) => {
      child.on('message', (message: Message) => {
        if ('line' in message) return say(message.line);
        resolve(message.outcome);
        child.disconnect();
      });
      child.once('exit', (code, signal) => {
        const message = `the simulator itself: its process ended (${code ?? signal})`;
        resolve({ failure: { check: 'the simulator itself', message }, played: plan, events: 0 });
      });
      child.send(plan);
    });
  } finally {
    clearTimeout(timer);
    if (child.exitCode === null && child.signalCode === null)
      await new Promise((resolve) => child.once('exit', resolve));
    await rm(directory, { recursive: true, force: true, maxRetries: 20 });
  }
}
