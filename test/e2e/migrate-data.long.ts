import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDirectoryLocked } from '../../src/base/directory-lock.ts';
import { openStorage } from '../../src/storage/client.ts';
import { cliCommand } from '../support/cli-command.ts';
import { silentLog } from '../support/engine.ts';
import { acceptedOf, call, eventually } from '../support/http.ts';
import { KeptService } from '../support/kept-service.ts';
import { type PlainEngine, startPlainEngine } from '../support/plain-engine.ts';
import { projectRoot } from '../support/project-root.ts';
import { rounds } from '../support/rounds.ts';
import { createTenant, printed, runCli, sourceEvent, type Tenant } from '../support/server.ts';

/** A service that moves from its own engine to another while producers and a follower go on. */
const service = new KeptService({ EVIDENCE_INTERVAL: '200ms' });
let engine: PlainEngine;
before(async () => {
  [engine] = await Promise.all([startPlainEngine(), service.start()]);
});
after(async () => {
  await service.end();
  await engine?.stop();
});

const migrate = () => ['migrate-data', '--to', engine.url, '--to-user', engine.user];
const password = () => ({ CLICKHOUSE_TO_PASSWORD: engine.password });

interface Report {
  readonly state: string;
  readonly healthy: boolean;
  readonly findings: readonly { readonly kind: string; readonly organization?: string }[];
  readonly settings: Readonly<Record<string, string>>;
}

async function run(...args: string[]): Promise<Report> {
  const options = { dataDir: service.dataDir, env: password(), timeoutMs: 120_000 };
  return printed(await runCli([...migrate(), '--json', ...args], options)) as Report;
}

/** Starts the command, and kills it at some moment of its work; one that was quicker has ended well. */
async function killed(...args: string[]): Promise<void> {
  const env = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    DATA_DIR: service.dataDir,
    ...password(),
  };
  const child = spawn(process.execPath, [...cliCommand, ...migrate(), ...args], {
    cwd: projectRoot,
    env,
    stdio: 'ignore',
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const turn = join(service.dataDir, 'migrate-data');
  await eventually('the command to begin', async () =>
    child.exitCode !== null || (await isDirectoryLocked(turn).catch(() => false)) ? true : undefined,
  );
  await sleep(Math.random() * 1_500);
  child.kill('SIGKILL');
  assert.ok([0, null].includes(await ended));
}

/** Sends batches, one after the other, each until it is acknowledged by the service that runs then. */
class Producer {
  readonly #tenant: () => Tenant;
  #sending: Promise<void> | undefined;
  #isStopped = false;
  acknowledged = 0;

  constructor(tenant: () => Tenant) {
    this.#tenant = tenant;
  }

  start(): void {
    this.#isStopped = false;
    this.#sending = this.#go();
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#sending ?? Promise.resolve();
  }

  async #go(): Promise<void> {
    while (!this.#isStopped) {
      await this.send(100);
      await sleep(20);
    }
  }

  async send(count: number, timestamp = '2024-05-06T07:08:09.123456Z'): Promise<void> {
    const first = this.acknowledged;
    const batch = Array.from({ length: count }, (_, n) =>
      sourceEvent({ timestamp, extra: { n: first + n, text: 'é'.repeat(n % 90) } }),
    );
    const key = randomUUID();
    await eventually(
      'a batch to be acknowledged',
      async () => {
        const answer = await this.#tenant()
          .post(batch, { 'idempotency-key': key })
          .catch(() => undefined);
        if (answer === undefined || answer.status === 503) return undefined;
        return acceptedOf(answer).accepted === count ? true : undefined;
      },
      120_000,
    );
    this.acknowledged += count;
  }
}

interface FeedPage {
  readonly data: readonly { readonly extra_map?: { readonly n?: number } }[];
  readonly meta: { readonly next_cursor: string };
}

/** Follows the feed of an organization over the move. */
class Follower {
  readonly #tenant: () => Tenant;
  readonly seen: number[] = [];
  #cursor = '';

  constructor(tenant: () => Tenant) {
    this.#tenant = tenant;
  }

  async poll(): Promise<void> {
    const { server, key } = this.#tenant();
    const query = new URLSearchParams({ cursor: this.#cursor, limit: '1000' }).toString();
    const answer = await call(`${server.url}/api/v1/audit/feed?${query}`, {
      headers: { 'x-api-key': key },
    }).catch(() => undefined);
    if (answer?.status !== 200) return;
    const { data, meta } = JSON.parse(answer.text) as FeedPage;
    this.#cursor = meta.next_cursor;
    for (const event of data) if (event.extra_map?.n !== undefined) this.seen.push(event.extra_map.n);
  }

  async until(count: number): Promise<void> {
    await eventually(`${count} events in the feed`, async () => {
      await this.poll();
      return this.seen.length >= count ? true : undefined;
    });
  }
}

/** What readers get of the events that producers sent: pages, and the whole export. */
async function readsOf(tenant: Tenant): Promise<string[]> {
  const range = 'endTime=2024-12-31T00:00:00Z';
  const queries = [
    `?${range}&limit=1000`,
    `?${range}&limit=100&offset=7001`,
    `/export?${range}`,
    `/export?${range}&format=csv`,
  ];
  const answers: string[] = [];
  for (const query of queries) {
    const { status, text } = await call(`${tenant.server.url}/api/v1/audit${query}`, {
      headers: { 'x-api-key': tenant.key },
    });
    assert.equal(status, 200, text);
    answers.push(text.replaceAll(/"logged_time":\d+/g, ''));
  }
  return answers;
}

/** Asks the target, or makes a change there that nothing but the database sees. */
async function atTarget(sql: string): Promise<unknown[]> {
  const { url, user, password } = engine;
  const storage = openStorage({ url, user, password, database: 'audit', headers: {} }, silentLog);
  try {
    if (sql.startsWith('SELECT')) return await storage.rows(sql);
    await storage.command(sql, {}, { settings: { mutations_sync: 1 } });
    return [];
  } finally {
    await storage.close();
  }
}

test('a service moves to a server under load, with the command killed again and again, and readers notice nothing', async () => {
  let tenant = await createTenant(service.server, 'acme');
  const other = await createTenant(service.server, 'globex');
  await other.record([sourceEvent({ extra: { n: -1 } })]);
  const producer = new Producer(() => tenant);
  const follower = new Follower(() => tenant);
  for (let batch = 0; batch < rounds(2, 40); batch += 1) await producer.send(5_000);
  await follower.poll();
  producer.start();
  for (let round = 0; round < rounds(1, 30); round += 1) {
    await killed();
    await follower.poll();
  }
  assert.equal((await run()).state, 'copied');
  await follower.poll();
  const refused = await runCli([...migrate(), '--finish'], { dataDir: service.dataDir, env: password() });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /a server runs on .*: stop it first/);
  await producer.stop();
  const total = producer.acknowledged;
  await tenant.settled(total, { endTime: '2024-12-31T00:00:00Z' });
  const before = [await readsOf(tenant), await readsOf(other)];
  const kept = join(service.dataDir, 'kept.checkpoint');
  writeFileSync(kept, await checkpointOf(tenant, total));
  // What comes now is copied by the last run, or sent to the target by the next start.
  await producer.send(100, '2025-05-06T07:08:09Z');
  await service.server.kill('SIGKILL');
  for (let round = 0; round < rounds(1, 10); round += 1) await killed('--finish');
  const report = await run('--finish');
  assert.deepEqual([report.state, report.healthy], ['finished', true]);
  const here = { dataDir: service.dataDir };
  for (const command of [['org', 'list'], ['serve']]) {
    const { code, stderr } = await runCli(command, here);
    assert.equal(code, 2);
    assert.match(stderr, /CLICKHOUSE_URL is unset: the data of .* have been moved to http/);
  }
  // Followers at the target wait for the events that are in the log.
  assert.deepEqual(await atTarget('SELECT count() AS n FROM watermarks FINAL WHERE until > now()'), [
    { n: '1' },
  ]);
  const server = await service.start({
    ...report.settings,
    CLICKHOUSE_PASSWORD: engine.password,
    EVIDENCE_INTERVAL: '200ms',
  });
  assert.equal(server.enginePid(), undefined);
  tenant = tenant.with({ server });
  // Events of another year, which the log has sent, do not change what was there before.
  await follower.until(producer.acknowledged);
  assert.deepEqual([await readsOf(tenant), await readsOf(other.with({ server }))], before);
  await producer.send(100, '2025-05-06T07:08:09Z');
  await follower.until(producer.acknowledged);
  assert.deepEqual(
    follower.seen.toSorted((a, b) => a - b),
    Array.from({ length: producer.acknowledged }, (_, n) => n),
  );
  await checkpointOf(tenant, producer.acknowledged);
  const verification = printed(
    await server.cliHere(['verify', '--org', 'acme', '--checkpoint', kept, '--json']),
  ) as Report;
  assert.deepEqual(verification.findings, []);
  assert.equal((await run('--verify')).healthy, true);
  await atTarget(
    `ALTER TABLE events UPDATE ocsf = replaceOne(ocsf, '"n":7,', '"n":8,') WHERE position(ocsf, '"n":7,') > 0`,
  );
  const answer = await runCli([...migrate(), '--json', '--verify'], {
    dataDir: service.dataDir,
    env: password(),
  });
  assert.equal(answer.code, 1);
  const { findings } = JSON.parse(answer.stdout) as Report;
  assert.deepEqual(
    findings.map(({ kind, organization }) => [kind, organization]),
    [['altered', 'acme']],
  );
});

/** The newest checkpoint of an organization, once it covers so many events. */
function checkpointOf(tenant: Tenant, events: number): Promise<string> {
  return eventually('a checkpoint of all events', async () => {
    const { text } = await call(`${tenant.server.url}/api/v1/audit/evidence/checkpoint`, {
      headers: { 'x-api-key': tenant.key },
    });
    return Number(text.split('\n')[1]) >= events ? text : undefined;
  });
}
