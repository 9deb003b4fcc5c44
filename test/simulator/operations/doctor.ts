import { spawn } from 'node:child_process';
import { cliCommand } from '../../support/cli-command.ts';
import { brief, hold } from '../finding.ts';
import { limits } from '../limits.ts';
import { ending } from '../waiting.ts';
import type { Operation } from '../world.ts';

/** Looks at the service by its own means, and somebody who starts it twice. */

interface Report {
  readonly checks: readonly {
    readonly about: string;
    readonly healthy: boolean;
    readonly findings: readonly unknown[];
  }[];
}

export const looks: readonly Operation[] = [
  {
    name: 'ask the doctor',
    weight: 0.5,
    kind: 'actor',
    run: async (world) => {
      if (
        world.isDisturbed ||
        world.isDamaged() ||
        world.model.here.some(({ tampered }) => tampered !== undefined)
      )
        return undefined;
      const { stdout, stderr } = await world.command(['doctor', '--json']);
      if (world.isDisturbed) return undefined;
      hold(stdout.startsWith('{'), 'a command without a fault succeeds', () => `doctor: ${brief(stderr)}`);
      const { checks } = JSON.parse(stdout.split('\n')[0] ?? '') as Report;
      const ill = checks.filter(({ about, healthy }) => about === 'events' && !healthy);
      hold(ill.length === 0, 'nothing is damaged without a fault', () => brief(JSON.stringify(ill)));
      return 'the doctor found nothing';
    },
  },
  {
    name: 'start a second server on the same data',
    weight: 0.5,
    kind: 'actor',
    run: async (world) => {
      if (world.isDisturbed) return undefined;
      const { dataDir } = await world.service.up();
      const environment = {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        DATA_DIR: dataDir,
        PORT: '0',
      };
      const child = spawn(process.execPath, [...cliCommand, 'serve'], { env: environment, stdio: 'ignore' });
      const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
      try {
        const code = await ending('a second server', limits.commandMsMax, exit);
        hold(code !== 0 && code !== null, 'one server has a data directory', () => `exit code ${code}`);
      } finally {
        child.kill('SIGKILL');
      }
      return 'a second server was refused';
    },
  },
];
