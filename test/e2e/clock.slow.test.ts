import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { feedPage } from '../support/feed.ts';
import { call, eventually } from '../support/http.ts';
import { startPlainEngine } from '../support/plain-engine.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import {
  createTenant,
  printed,
  runCli,
  sourceEvent,
  startServer,
  type Tenant,
  type TestServer,
} from '../support/server.ts';

const hourMs = 3_600_000;

/** The environment of a process whose clock is wrong. */
function wrongBy(ms: number): Record<string, string> {
  const module = new URL('../support/shifted-clock.mjs', import.meta.url).href;
  return { NODE_OPTIONS: `--import ${module}`, CLOCK_SHIFT_MS: String(ms) };
}

/** Follows the feed from the beginning on. */
class Follower {
  #cursor = '';
  readonly seen: string[] = [];

  async poll(tenant: Tenant): Promise<void> {
    const { data, meta } = await feedPage(tenant, { cursor: this.#cursor, limit: '1000' });
    this.#cursor = meta.next_cursor;
    this.seen.push(...data.map((event) => event.flow_id ?? String(event.activity_id)));
  }

  async sees(tenant: Tenant, what: string, times = 1): Promise<void> {
    await eventually(`${what} in the feed`, async () => {
      await this.poll(tenant);
      return this.seen.filter((one) => one === what).length >= times ? true : undefined;
    });
  }
}

/** Sets the clock of all processes of a server right. */
function setRight(server: TestServer): void {
  process.kill(server.pid, 'SIGUSR2');
  for (const line of server.stderrLines().filter((one) => one.includes('a front end is up')))
    process.kill((JSON.parse(line) as { pid: number }).pid, 'SIGUSR2');
}

for (const PROCESSES of ['1', '2'])
  test(`a clock that is set back or forward neither holds the feed back nor makes it miss or repeat anything, with PROCESSES=${PROCESSES}`, async () => {
    const dataDir = await temporaryDirectory();
    const start = (ms: number) => startServer({ dataDir, env: { ...wrongBy(ms), PROCESSES } });
    // To this server commands, which have the right clock, are three hours ahead.
    let server = await start(-3 * hourMs);
    const startAgain = async (ms: number): Promise<void> => {
      await server.kill('SIGKILL');
      server = await start(ms);
      tenant = tenant.with({ server });
    };
    const cli = (args: readonly string[]) => runCli(args, { dataDir });
    let tenant = await createTenant({ ...server, cli }, 'clock');
    const follower = new Follower();
    const recorded: string[] = [];
    let keys = 1;
    const recordAndSee = async (): Promise<void> => {
      const flow = randomUUID();
      await tenant.record([sourceEvent({ flow_id: flow })]);
      recorded.push(flow);
      await follower.sees(tenant, flow);
    };
    // What a command records has a place behind all that was handed out.
    const commandAndSee = async (): Promise<void> => {
      printed(await cli(['key', 'create', '--org', 'clock', '--scopes', 'read', '--json']));
      keys += 1;
      await follower.sees(tenant, '1300', keys);
    };
    try {
      await follower.sees(tenant, '1300');
      await recordAndSee();
      await startAgain(24 * hourMs);
      await commandAndSee();
      await recordAndSee();
      setRight(server);
      await recordAndSee();
      await commandAndSee();
      await startAgain(-hourMs);
      await commandAndSee();
      await recordAndSee();
      setRight(server);
      await recordAndSee();
      assert.deepEqual(
        follower.seen.filter((one) => recorded.includes(one)),
        recorded,
      );
      assert.equal(follower.seen.filter((one) => one === '1300').length, keys);
    } finally {
      await server.stop();
      await removeDirectory(dataDir);
    }
  });

test('a clock behind the others on an engine is told at the start and in a metric', async () => {
  const engine = await startPlainEngine();
  try {
    const server = await startServer({ env: { ...engine.env, ...wrongBy(-hourMs) } });
    try {
      const told = server.stderrLines().filter((line) => line.includes('the clock is behind'));
      assert.equal(told.length, 1);
      const { behindSeconds } = JSON.parse(told[0] as string) as { behindSeconds: number };
      assert.ok(Math.abs(behindSeconds - 3600) < 60, `${behindSeconds} s`);
      const { text } = await call(`${server.url}/metrics`);
      const [, seconds] = /^auditlog_clock_behind_seconds ([\d.]+)$/m.exec(text) ?? [];
      assert.ok(Math.abs(Number(seconds) - 3600) < 60, `${seconds} s`);
    } finally {
      await server.stop();
    }
  } finally {
    await engine.stop();
  }
});
