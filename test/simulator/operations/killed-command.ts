import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cliCommand } from '../../support/cli-command.ts';
import { limits } from '../limits.ts';
import { patiently } from '../waiting.ts';
import { anyKeyCreated } from './control.ts';
import type { Operation, World } from '../world.ts';

/** Commands of their own process that are killed: at any moment, or just when they say that they are about to write. */

const killAfterMsMax = 2_500;
const wordsMax = 500;

/** Commands make this file longer before they take their place in the order. */
const writesOf = (dataDir: string): number => {
  const file = join(dataDir, 'writes-of-commands');
  return existsSync(file) ? statSync(file).size : 0;
};

export interface Killed {
  readonly code: number | null;
  readonly isKilled: boolean;
  /** Its last words on standard error. */
  readonly words: string;
}

/** Runs a command, and kills it after so long; undefined: when it begins to write. */
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

const killCommand: Operation = {
  name: 'kill a command',
  weight: 2,
  kind: 'actor',
  run: async (world, draw) => {
    const organization = draw.pickAny(world.model.here);
    if (organization === undefined) return undefined;
    const { own, slug } = organization;
    const email = `nobody-${draw.int(0, 1e6)}@${slug}.example`;
    const user = ['--email', email, '--name', 'N', '--role', 'member', '--password-stdin'];
    const { told, args } = draw.pick<{ told: string | RegExp; args: readonly string[] }>([
      { told: anyKeyCreated, args: ['key', 'create', '--org', slug, '--scopes', 'read'] },
      { told: `1000 User ${email} created`, args: ['user', 'create', '--org', slug, ...user] },
      {
        told: `5011 Organization ${slug} changed`,
        args: ['org', 'set', '--org', slug, '--name', `Named ${draw.int(0, 99)}`],
      },
    ]);
    own.may(told);
    const afterMs = draw.chance(0.6) ? undefined : draw.int(100, killAfterMsMax);
    const { isKilled } = await runAndKill(world, args, afterMs, 'a long enough password\n');
    return `${slug}: ${args.slice(0, 2).join(' ')} ${isKilled ? `killed ${afterMs === undefined ? 'as it began to write' : `after ${afterMs} ms`}` : 'was quicker'}`;
  },
};

export const killedCommands: readonly Operation[] = [killCommand];
