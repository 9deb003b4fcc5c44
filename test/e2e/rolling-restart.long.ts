import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { newEvidenceKey } from '../../src/evidence/evidence.ts';
import { call, eventually, type HttpAnswer, type HttpCall, type Page } from '../support/http.ts';
import { type PlainEngine, startPlainEngine } from '../support/plain-engine.ts';
import { rounds } from '../support/rounds.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';

/** Three servers on one engine, replaced one after the other under load. */
const count = 3;
let engine: PlainEngine;
let environment: Record<string, string>;
const directories: string[] = [];
const servers: (TestServer | undefined)[] = [];

before(async () => {
  engine = await startPlainEngine();
  const shared = {
    SESSION_SECRET: randomUUID(),
    EVIDENCE_KEY: newEvidenceKey('service'),
  };
  environment = { ...engine.env, ...shared };
  for (let n = 0; n < count; n += 1) {
    directories.push(await temporaryDirectory());
    await start(n);
  }
});
after(async () => {
  for (const server of servers) await server?.stop();
  await engine?.stop();
  for (const directory of directories) await removeDirectory(directory);
});

async function start(n: number): Promise<void> {
  servers[n] = await startServer({
    dataDir: directories[n] ?? '',
    env: environment,
    intervals: { evidenceMs: 500 },
  });
}

/** Takes a server out as an operator does, and puts the new one in its place. */
async function replace(n: number): Promise<void> {
  const old = servers[n];
  await old?.kill('SIGTERM');
  assert.equal(await old?.exited(), 0);
  servers[n] = undefined;
  await start(n);
}

/** Asks one server after the other, and retries as documented: after 503, and where nobody takes the connection. */
class RoundRobin {
  readonly #key: string;
  #next = 0;
  /** What was answered, and how often. */
  readonly outcomes = new Map<string, number>();

  constructor(key: string) {
    this.#key = key;
  }

  async call(path: string, options: HttpCall = {}): Promise<HttpAnswer> {
    const headers = { 'x-api-key': this.#key, connection: 'close', ...options.headers };
    return eventually(
      `an answer to ${path}`,
      async () => {
        this.#next += 1;
        const server = servers[this.#next % count];
        if (server === undefined) return undefined;
        const answer = await call(`${server.url}${path}`, { ...options, headers }).catch(
          (error: unknown) => error,
        );
        const outcome = outcomeOf(answer);
        this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
        return outcome === '200' || outcome === '202' ? (answer as HttpAnswer) : undefined;
      },
      60_000,
      5,
    );
  }
}

function outcomeOf(answer: unknown): string {
  if (answer instanceof Error) return 'code' in answer ? String(answer.code) : answer.message;
  const { status, headers } = answer as HttpAnswer;
  return status === 503 && /^\d+$/.test(String(headers['retry-after']))
    ? '503 with Retry-After'
    : String(status);
}

/** Events of an organization, as one producer sends them and one follower reads them. */
class Load {
  readonly #client: RoundRobin;
  #isStopped = false;
  acknowledged = 0;
  readonly seen: number[] = [];
  #cursor = '';

  constructor(client: RoundRobin) {
    this.#client = client;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async produce(): Promise<void> {
    while (!this.#isStopped) {
      const n = this.acknowledged;
      const body = JSON.stringify(Array.from({ length: 20 }, (_, i) => sourceEvent({ extra: { n: n + i } })));
      const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
      await this.#client.call('/api/v1/audit', { method: 'POST', body, headers });
      this.acknowledged += 20;
    }
  }

  async follow(): Promise<void> {
    while (!this.#isStopped || this.seen.length < this.acknowledged) {
      const query = new URLSearchParams({ cursor: this.#cursor, limit: '1000', wait: '1' }).toString();
      const { text } = await this.#client.call(`/api/v1/audit/feed?${query}`);
      const { data, meta } = JSON.parse(text) as Page & { readonly meta: { readonly next_cursor: string } };
      this.#cursor = meta.next_cursor;
      for (const event of data)
        if (event.extra_map?.['n'] !== undefined) this.seen.push(Number(event.extra_map['n']));
    }
  }
}

test('servers that are replaced one after the other lose nothing, double nothing and refuse nobody for good', async (t) => {
  const tenant: Tenant = await createTenant(servers[0] as TestServer, 'rolling');
  const client = new RoundRobin(tenant.key);
  const load = new Load(client);
  const working = Promise.all([load.produce(), load.follow()]);
  for (let round = 0; round < rounds(1, 5); round += 1) for (let n = 0; n < count; n += 1) await replace(n);
  const known = load.acknowledged;
  await eventually('more events after the last server', async () =>
    load.acknowledged > known ? true : undefined,
  );
  load.stop();
  await working;
  assert.deepEqual(
    load.seen.toSorted((a, b) => a - b),
    Array.from({ length: load.acknowledged }, (_, n) => n),
  );
  const { text } = await client.call('/api/v1/audit?limit=1&endTime=2024-12-31T00:00:00Z');
  assert.equal((JSON.parse(text) as Page).meta.total, load.acknowledged);
  t.diagnostic(`${load.acknowledged} events; ${JSON.stringify(Object.fromEntries(client.outcomes))}`);
  const allowed = ['200', '202', '503 with Retry-After', 'ECONNREFUSED'];
  assert.deepEqual(
    [...client.outcomes.keys()].filter((outcome) => !allowed.includes(outcome)),
    [],
  );
});
