import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cliCommand } from '../../support/cli-command.ts';
import { limits } from '../limits.ts';
import { patiently } from '../waiting.ts';
import type { World } from '../world.ts';

/** Commands in their own process that are killed. */

const wordsMax = 500;

/** Commands extend this file before they take their turn. */
const writesOf = (dataDir: string): number => {
  const file = join(dataDir, 'writes-of-commands');
  return existsSync(file) ? statSync(file).size : 0;
};

export interface Killed {
  readonly code: number | null;
  readonly isKilled: boolean;
  /** The end of its standard error. */
  readonly words: string;
}

/** Runs a command, and kills it after this time; undefined: when it begins to write. */
export async function runAndKill(
  world: World,
  args: readonly string[],
  afterMs: number | undefined,
  stdin = '',
): Promise<Killed> {
  const { dataDir } = await world.service.up();
  const environment = world.service.commandEnvironment;
  const before = writesOf(dataDir);
  const child = spawn(process.execPath, [...cliCommand, ...args], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment, DATA_DIR: dataDir },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-wordsMax);
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(stdin);
  const exit = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const deadline = performance.now() + patiently(afterMs ?? limits.commandMsMax);
  while (child.exitCode === null && performance.now() < deadline) {
    if (afterMs === undefined && writesOf(dataDir) > before) break;
    await sleep(1);
  }
  if (child.exitCode === null) child.kill('SIGKILL');
  const code = await exit;
  return { code, isKilled: code === null, words: words.trim() };
}
