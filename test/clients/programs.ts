import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../support/project-root.ts';

/** The example programs of `clients/`, which record numbered events. */

const folder = (name: string) => fileURLToPath(new URL(`clients/${name}`, projectRoot));

/** The reason why a program cannot run here; false if it can. */
export const skipPython =
  spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).status === 0
    ? false
    : 'NOT TESTED: python3, 3.9 or later, is not installed';
export const skipGo = spawnSync('go', ['version']).status === 0 ? false : 'NOT TESTED: go is not installed';

export interface Example {
  /** Resolves when half of the events are recorded. */
  readonly half: Promise<void>;
  /** The last line of its output, after exit code 0. */
  readonly report: Promise<unknown>;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

function started(command: string, args: readonly string[], cwd: string, key: string): Example {
  const env = { ...process.env, AUDITLOG_API_KEY: key, PYTHONDONTWRITEBYTECODE: '1', GOFLAGS: '' };
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let out = '';
  let error = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (error += piece));
  const half = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      out += piece;
      if (out.startsWith('half\n')) resolve();
    });
  });
  const report = once(child, 'close').then(([code]) => {
    running.delete(child);
    assert.equal(code, 0, `${out}${error}`);
    return JSON.parse(out.trim().split('\n').at(-1) ?? '') as unknown;
  });
  return { half, report };
}

/** Without a rate it records as fast as possible. */
export function pythonExample(url: string, key: string, count: number, perSecond?: number): Example {
  const rate = perSecond === undefined ? [] : [String(perSecond)];
  return started('python3', ['example.py', url, String(count), ...rate], folder('python'), key);
}

export function goExample(url: string, key: string, count: number, perSecond: number): Example {
  const args = ['run', './example', url, String(count), String(perSecond)];
  return started('go', args, folder('go'), key);
}

/** Runs the unit tests of a client. */
export function runUnitTests(client: 'python' | 'go'): void {
  const [command, ...args] =
    client === 'python'
      ? ['python3', '-m', 'unittest', 'discover', '-s', 'tests']
      : ['go', 'test', '-count=1', './...'];
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', GOFLAGS: '' };
  const ran = spawnSync(command ?? '', args, { cwd: folder(client), env, encoding: 'utf8' });
  assert.equal(ran.status, 0, `${ran.stdout}${ran.stderr}`);
}
