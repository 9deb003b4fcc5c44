import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { patience } from './patience.ts';

/** A ClickHouse server image, if Docker runs. */
export const image = 'clickhouse/clickhouse-server:26.3';
const user = 'audit';
const password = 'of-the-test';
const port = 8123;
const run = promisify(execFile);

export interface ServerImage {
  /** Environment of a service that uses it. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

async function docker(timeoutMs: number, ...args: string[]): Promise<void> {
  await run('docker', args, { timeout: patience(timeoutMs) });
}

/** A reason if Docker or an image is missing; undefined if available. */
export async function whyNoImages(images: readonly string[]): Promise<string | undefined> {
  try {
    await docker(10_000, 'info');
  } catch {
    return 'Docker does not answer';
  }
  for (const one of images) {
    try {
      // Prefers local images, as on a machine without network.
      await docker(10_000, 'image', 'inspect', one).catch(() => docker(60_000, 'pull', one));
    } catch {
      return `Docker cannot get ${one}`;
    }
  }
  return undefined;
}

/** Starts one and waits until it answers; a reason if that is not possible. */
export async function startServerImage(): Promise<ServerImage | string> {
  const reason = await whyNoImages([image]);
  if (reason !== undefined) return reason;
  const { GenericContainer, Wait } = await import('testcontainers');
  const container = await new GenericContainer(image)
    .withEnvironment({ CLICKHOUSE_USER: user, CLICKHOUSE_PASSWORD: password })
    .withExposedPorts(port)
    .withWaitStrategy(Wait.forHttp('/ping', port))
    .withStartupTimeout(patience(60_000))
    .start();
  const url = `http://${container.getHost()}:${container.getMappedPort(port)}`;
  return {
    env: { CLICKHOUSE_URL: url, CLICKHOUSE_USER: user, CLICKHOUSE_PASSWORD: password },
    stop: async () => {
      await container.stop();
    },
  };
}
