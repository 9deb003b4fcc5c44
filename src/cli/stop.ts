import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { errorCode } from '../base/errors/system-error.ts';
import { requireData } from '../config/data-dir.ts';
import type { CliDeps } from './context.ts';
import { limits } from './limits.ts';
import { print } from './output.ts';
import type { JsonOption } from '../tools/output.ts';
import { serverOn } from './running-server.ts';
import { loadServedConfig } from './status.ts';

/** Longer than a server waits for requests, the log and the engine. */
const stopServerMsMax = 180_000;

interface StopOptions extends JsonOption {
  readonly dataDir?: string;
}

async function stop(deps: CliDeps, options: StopOptions): Promise<void> {
  const { dataDir } = loadServedConfig(deps, options);
  await requireData(dataDir);
  const server = await serverOn(dataDir);
  if (server === undefined) throw new Error(`no server runs on DATA_DIR ${dataDir}; nothing to stop`);
  const { pid, isHere } = server;
  if (!isHere) throw new Error(`the server on DATA_DIR ${dataDir} runs in another container; stop it there`);
  askToEnd(pid);
  const deadline = performance.now() + stopServerMsMax;
  // The system releases the lock with the process.
  while ((await serverOn(dataDir))?.pid === pid) {
    if (performance.now() > deadline)
      throw new Error(
        `process ${pid} did not stop within ${stopServerMsMax / 1000} s: see its log, or kill it with ` +
          `kill -KILL ${pid}; the next start stores the events in its log`,
      );
    await sleep(limits.statusPollMs);
  }
  print(deps, options, 'CliStop', { pid }, `the server has stopped: process ${pid}`);
}

function askToEnd(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    if (errorCode(error) === 'EPERM')
      throw new Error(`process ${pid} belongs to another user; stop it as that user`, { cause: error });
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

export function registerStop(program: Command, deps: CliDeps): void {
  program
    .command('stop')
    .description('stop the server on DATA_DIR gracefully, and wait for its end')
    .option('--data-dir <directory>', 'of the server (default: DATA_DIR)')
    .option('--json', 'print JSON')
    .action((options: StopOptions) => stop(deps, options));
}
