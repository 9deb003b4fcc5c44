import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { call, eventually } from './http.ts';
import { patience } from './patience.ts';

/** A ClickHouse server out of its image, where Docker runs: by the command, so that no test needs a package for it. */
const image = 'clickhouse/clickhouse-server:26.3';
const user = 'audit';
const password = 'of-the-test';
const run = promisify(execFile);

export interface ServerImage {
  /** The variables that make a service use it. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

async function docker(timeoutMs: number, ...args: string[]): Promise<string> {
  const { stdout } = await run('docker', args, { timeout: patience(timeoutMs) });
  return stdout.trim();
}

/** Starts one and waits until it answers; a reason in words where there is no Docker, or no image to be had. */
export async function startServerImage(): Promise<ServerImage | string> {
  try {
    await docker(10_000, 'info');
  } catch {
    return 'Docker does not answer';
  }
  try {
    // What is here already is taken, as on a machine without a network.
    await docker(10_000, 'image', 'inspect', image).catch(() => docker(60_000, 'pull', image));
  } catch {
    return `Docker cannot get ${image}`;
  }
  const settings = [`CLICKHOUSE_USER=${user}`, `CLICKHOUSE_PASSWORD=${password}`];
  const variables = settings.flatMap((setting) => ['--env', setting]);
  const id = await docker(
    30_000,
    'run',
    '--detach',
    '--rm',
    '--publish',
    '127.0.0.1::8123',
    ...variables,
    image,
  );
  const stop = async () => {
    await docker(30_000, 'rm', '--force', '--volumes', id);
  };
  try {
    const url = `http://${await docker(10_000, 'port', id, '8123/tcp')}`;
    const answers = async () =>
      (await call(`${url}/ping`, { timeoutMs: 1000 }).catch(() => undefined))?.status === 200 || undefined;
    await eventually('the server image to answer', answers, 60_000);
    return { env: { CLICKHOUSE_URL: url, CLICKHOUSE_USER: user, CLICKHOUSE_PASSWORD: password }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
