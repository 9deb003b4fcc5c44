import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { Redis } from 'ioredis';
import { eventually } from './http.ts';
import { freePort } from './plain-engine.ts';
import { removeDirectory, temporaryDirectory } from './directories.ts';

/** A Redis server of one test, without persistence. */
export interface TestRedis {
  readonly url: string;
  readonly password: string;
  /** Names, and values of strings. */
  contents(): Promise<string[]>;
  /** Removes all keys, as if expired. */
  clear(): Promise<void>;
  /** Replaces every string. */
  overwrite(text: string): Promise<void>;
  /** SIGSTOP: it accepts connections and does not answer. */
  pause(): void;
  resume(): void;
  /** SIGKILL, resolved once it is gone. */
  kill(): Promise<void>;
  /** Starts it again, empty, on the same port. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

const isInstalled = ((): boolean => {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** For a test's option `skip`: false if Redis is installed, otherwise the reason. */
export const skipWithoutRedis: string | false = isInstalled
  ? false
  : 'redis-server is NOT INSTALLED: nothing of what processes share through Redis is tested here';

export async function startRedis(): Promise<TestRedis> {
  const directory = await temporaryDirectory();
  const port = await freePort();
  const password = 'a/p@ss word';
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', ''];
  let child: ChildProcess | undefined;
  let gone: Promise<void> = Promise.resolve();
  const url = `redis://:${encodeURIComponent(password)}@127.0.0.1:${port}`;

  const withClient = async <T>(work: (client: Redis) => Promise<T>): Promise<T> => {
    const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return await work(client);
    } finally {
      client.disconnect();
    }
  };
  const start = async () => {
    const started = spawn('redis-server', [...options, '--appendonly', 'no', '--requirepass', password], {
      stdio: 'ignore',
    });
    child = started;
    gone = new Promise((resolve) => started.once('close', () => resolve()));
    await eventually('Redis to answer', () => withClient((client) => client.ping()).catch(() => undefined));
  };
  const kill = async () => {
    child?.kill('SIGKILL');
    await gone;
  };
  await start();
  return {
    url,
    password,
    contents: () =>
      withClient(async (client) => {
        const names = await client.keys('*');
        return [...names, ...(await Promise.all(names.map((name) => client.get(name)))).map(String)];
      }),
    clear: () => withClient(async (client) => void (await client.flushall())),
    overwrite: (text) =>
      withClient(async (client) => {
        for (const name of await client.keys('*')) await client.set(name, text, 'KEEPTTL');
      }),
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    kill,
    start,
    stop: async () => {
      await kill();
      await removeDirectory(directory);
    },
  };
}
