import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, openSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { call, eventually } from '../support/http.ts';
import { createTenant, startServer, type Tenant, type TestServer } from '../support/server.ts';

/** Other programs, run with the configurations of our pages. */

/** Path of a program: from the environment variable, PATH, or directories of daemons. */
export function findProgram(name: string, variable: string): string | undefined {
  const named = process.env[variable];
  if (named !== undefined) return named;
  const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/sbin'];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export { freePort } from '../support/plain-engine.ts';

export interface Program {
  stop(signal?: NodeJS.Signals): Promise<void>;
  hasEnded(): boolean;
}

/** Starts a program whose output goes to a file. */
export function startProgram(
  command: readonly string[],
  { output, env = {} }: { readonly output: string; readonly env?: Readonly<Record<string, string>> },
): Program {
  const [program = '', ...args] = command;
  const file = openSync(output, 'a');
  const child: ChildProcess = spawn(program, args, {
    stdio: ['ignore', file, file],
    env: { ...process.env, ...env },
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.on('exit', kill);
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal);
      await ended;
      process.off('exit', kill);
    },
  };
}

/** An unpacked package that is not installed has its libraries and modules beside it. */
function unpacked(path: string): { readonly args: string[]; readonly env: Record<string, string> } {
  const libraries = join(dirname(dirname(path)), 'lib/syslog-ng');
  if (path.startsWith('/usr/sbin/')) return { args: [], env: {} };
  const release = readdirSync(libraries).find((name) => /^\d/.test(name)) ?? '';
  return { args: [`--module-path=${join(libraries, release)}`], env: { LD_LIBRARY_PATH: libraries } };
}

/** Starts syslog-ng on `syslog-ng.conf` of a folder, which gets all its files, with its output in `output`. */
export function startSyslogNg(program: string, folder: string): Program {
  const { args, env } = unpacked(program);
  const files = ['cfgfile', 'persist-file', 'control', 'pidfile'].map(
    (name) => `--${name}=${join(folder, name === 'cfgfile' ? 'syslog-ng.conf' : name)}`,
  );
  const command = [program, '-F', '--no-caps', ...args, ...files];
  return startProgram(command, { output: join(folder, 'output'), env });
}

/** A service with an organization that can be killed and restarted on its port. */
export class Service {
  readonly dataDir: string;
  readonly port: number;
  #server: TestServer | undefined;
  #tenant: Tenant | undefined;

  constructor(dataDir: string, port: number) {
    this.dataDir = dataDir;
    this.port = port;
  }

  get tenant(): Tenant {
    return this.#tenant ?? assert.fail('not started');
  }

  get server(): TestServer {
    return this.#server ?? assert.fail('not started');
  }

  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    const server = await startServer({ dataDir: this.dataDir, env: { PORT: String(this.port), ...env } });
    this.#server = server;
    this.#tenant = this.#tenant?.with({ server }) ?? (await createTenant(server, 'recipes'));
  }

  /** Kills and restarts it. */
  async killed(): Promise<void> {
    await this.server.kill('SIGKILL');
    await this.start();
  }

  /** Suspends it, as a swapped-out process, for longer than shippers wait. */
  async silentFor(ms: number): Promise<void> {
    process.kill(this.server.pid, 'SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, ms));
    process.kill(this.server.pid, 'SIGCONT');
  }

  async count(query: Readonly<Record<string, string>> = {}): Promise<number> {
    const answer = await this.tenant.get({ ...query, limit: '1' });
    return answer.status === 200 ? (JSON.parse(answer.text) as { meta: { total: number } }).meta.total : 0;
  }

  /** Matches in the events' messages, counted. */
  async messages(pattern: RegExp): Promise<Map<string, number>> {
    const url = `${this.server.url}/api/v1/audit/export`;
    const answer = await call(url, { headers: { 'x-api-key': this.tenant.key } });
    assert.equal(answer.status, 200);
    const counts = new Map<string, number>();
    for (const line of answer.text.split('\n')) {
      const found =
        line === '' ? undefined : pattern.exec((JSON.parse(line) as { message: string }).message)?.[1];
      if (found !== undefined) counts.set(found, (counts.get(found) ?? 0) + 1);
    }
    return counts;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }
}

/** Sends Latin-1 lines over TCP, as an application does to a syslog daemon; resolves when the daemon has them. */
export function sendLines(port: number, lines: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').once('error', reject);
    socket.once('close', () => resolve());
    socket.resume();
    socket.end(lines.map((line) => `${line}\n`).join(''), 'latin1');
  });
}

export async function untilListening(port: number, program: Program): Promise<void> {
  await eventually('the program to listen', async () => {
    assert.ok(!program.hasEnded(), 'the program has ended');
    return new Promise<true | undefined>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(undefined));
      socket.once('connect', () => socket.destroy());
    });
  });
}

/**
 * A shipper delivers `total` numbered messages while the service is silent for longer than it waits, and killed
 * twice; each must be stored once.
 */
export async function holdThroughKills(service: Service, total: number, silenceMs: number): Promise<void> {
  const reached = (share: number) =>
    eventually(
      `${share} of the messages`,
      async () => ((await service.count()) >= total * share ? true : undefined),
      600_000,
    );
  await reached(0.1);
  await service.silentFor(silenceMs);
  await reached(0.25);
  await service.killed();
  await reached(0.5);
  await service.killed();
  await reached(1);
  await service.tenant.caughtUp();
  const counts = await service.messages(/^message (\d+)$/);
  const missing = Array.from({ length: total }, (_, n) => String(n)).filter((id) => !counts.has(id));
  const doubled = [...counts].filter(([, count]) => count !== 1);
  assert.deepEqual(
    { missing, doubled, different: counts.size },
    { missing: [], doubled: [], different: total },
  );
}
