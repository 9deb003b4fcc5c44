import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownDirectory, ownProcess } from '../lab/left-behind.ts';

/** A PostgreSQL on a free port with a new directory. */
export interface Postgres {
  readonly url: string;
  readonly directory: string;
  /** Process id of the postmaster, the parent of its workers. */
  readonly pid: number;
  stop(): Promise<void>;
}

const binaries = '/usr/lib/postgresql';
const startMsMax = 20_000;

/** Folder of the newest installed version; undefined without one. */
export function findPostgres(): string | undefined {
  if (!existsSync(binaries)) return undefined;
  const versions = readdirSync(binaries)
    .map(Number)
    .filter((version) => version > 0)
    .sort((a, b) => b - a);
  return versions
    .map((version) => join(binaries, String(version), 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')));
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== 'object' || address === null) throw new Error('no free port');
  return address.port;
}

/** PostgreSQL refuses to run as root; its package creates a user. */
function asUser(command: string, args: readonly string[]): [string, string[]] {
  if (process.getuid?.() !== 0) return [command, [...args]];
  return ['setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', command, ...args]];
}

/** Usual settings for this load and machine, with the default durability: fsync at commit. */
const settings = [
  'shared_buffers=2GB',
  'effective_cache_size=6GB',
  'work_mem=32MB',
  'max_wal_size=4GB',
  'checkpoint_timeout=15min',
  'random_page_cost=1.1',
  'unix_socket_directories=',
];

export async function startPostgres(bin: string): Promise<Postgres> {
  const directory = ownDirectory(mkdtempSync(join(tmpdir(), 'auditlog-bench-pg-')));
  const data = join(directory, 'data');
  chmodSync(directory, 0o755);
  if (process.getuid?.() === 0) execFileSync('chown', ['postgres', directory]);
  const port = await freePort();
  const options = { cwd: directory, stdio: 'ignore' } as const;
  const init = asUser(join(bin, 'initdb'), [
    '-D',
    data,
    '-A',
    'trust',
    '-U',
    'bench',
    '-E',
    'UTF8',
    '--locale=C',
  ]);
  execFileSync(init[0], init[1], options);
  const args = ['-D', data, '-h', '127.0.0.1', '-p', String(port), ...settings.flatMap((one) => ['-c', one])];
  const [command, all] = asUser(join(bin, 'postgres'), args);
  const child = ownProcess(spawn(command, all, options));
  const deadline = performance.now() + startMsMax;
  while (!isReady(bin, port)) {
    if (child.exitCode !== null || performance.now() > deadline) throw new Error('PostgreSQL did not start');
    await sleep(100);
  }
  return {
    url: `postgres://bench@127.0.0.1:${port}/postgres`,
    directory: data,
    pid: child.pid ?? 0,
    stop: () => stop(child, directory),
  };
}

function isReady(bin: string, port: number): boolean {
  try {
    execFileSync(join(bin, 'pg_isready'), ['-q', '-h', '127.0.0.1', '-p', String(port)]);
    return true;
  } catch {
    // The exit code shows failures.
    return false;
  }
}

async function stop(child: ChildProcess, directory: string): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  if (child.exitCode === null) {
    // Fast shutdown: sessions are ended, nothing waits for them.
    child.kill('SIGINT');
    await ended;
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}
