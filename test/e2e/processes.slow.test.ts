import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { cliCommand } from '../support/cli-command.ts';
import { followFeed } from '../support/feed.ts';
import { acceptedOf, call, eventually } from '../support/http.ts';
import { KeptService } from '../support/kept-service.ts';
import { type PlainEngine, startPlainEngine } from '../support/plain-engine.ts';
import { projectRoot } from '../support/project-root.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import {
  createTenant,
  isAlive,
  runCli,
  type SharedServer,
  sourceEvent,
  startServer,
  type Tenant,
} from '../support/server.ts';

/** Fresh connections: the system gives each to one of the processes. */
const fresh = { connection: 'close' };

/** Process ids of the front ends by their number, of those that were started last. */
function frontEnds(server: SharedServer): ReadonlyMap<number, number> {
  const up = server.stderrLines().filter((line) => line.includes('a front end is up'));
  const facts = up.map((line) => JSON.parse(line) as { process: number; pid: number });
  return new Map(facts.map(({ process: number, pid }) => [number, pid]));
}

const pidOf = (server: SharedServer, number: number): number => frontEnds(server).get(number) ?? 0;

/** The number of requests that each process has answered on a route. */
async function answeredBy(server: SharedServer, route: string): Promise<Map<string, number>> {
  const { text } = await call(`${server.url}/metrics`, { headers: fresh });
  const found = new Map<string, number>();
  for (const line of text.split('\n').filter((one) => one.startsWith('auditlog_http_requests_total{'))) {
    const [, of] = /route="([^"]*)"/.exec(line) ?? [];
    const [, number = ''] = /process="([^"]*)"/.exec(line) ?? [];
    if (of === route) found.set(number, (found.get(number) ?? 0) + Number(line.split(' ').at(-1)));
  }
  return found;
}

/** Ids of all events in the feed, in its order, until it has those that are waited for. */
async function idsInFeed(tenant: Tenant, wanted: ReadonlySet<string>): Promise<string[]> {
  let cursor = '';
  const seen: string[] = [];
  await eventually('all that was acknowledged in the feed', async () => {
    const found = await followFeed(tenant, cursor, '1000', fresh).catch(() => undefined);
    if (found === undefined) return undefined;
    const [events, next] = found;
    for (const { extra_map: extra } of events) if (typeof extra?.['id'] === 'string') seen.push(extra['id']);
    cursor = next;
    const held = new Set(seen);
    return [...wanted].every((id) => held.has(id)) || undefined;
  });
  return seen;
}

/**
 * Writers that post small batches, each on a connection of its own, and remember what was acknowledged. Every second one
 * sends with an Idempotency-Key until it is answered, and then once more.
 */
class Writers {
  readonly acknowledged = new Set<string>();
  readonly #ending = new AbortController();
  readonly #all: Promise<unknown>;

  constructor(tenant: Tenant, count: number) {
    this.#all = Promise.all(Array.from({ length: count }, (_, n) => this.#write(tenant, n % 2 === 1)));
  }

  async #write(tenant: Tenant, isRepeating: boolean): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      const ids = [randomUUID(), randomUUID()];
      const body = ids.map((id) => sourceEvent({ extra: { id } }));
      const headers = { ...fresh, ...(isRepeating && { 'idempotency-key': randomUUID() }) };
      const post = () => tenant.post(body, headers).catch(() => undefined);
      let answer = await post();
      for (; answer?.status !== 202; answer = await post()) if (!isRepeating || signal.aborted) break;
      if (answer?.status !== 202) continue;
      for (const id of ids) this.acknowledged.add(id);
      const again = isRepeating ? await post() : undefined;
      if (again?.status === 202) assert.equal(again.text, answer.text);
    }
  }

  /** Waits until so many more are acknowledged. */
  more(count: number): Promise<true> {
    const from = this.acknowledged.size;
    return eventually('more to be acknowledged', async () =>
      this.acknowledged.size >= from + count ? true : undefined,
    );
  }

  async end(): Promise<void> {
    this.#ending.abort();
    await this.#all;
  }
}

/** Every acknowledged event is there once, and nothing twice, by the feed and by the page. */
async function allThereOnce(tenant: Tenant, acknowledged: ReadonlySet<string>): Promise<void> {
  const seen = await idsInFeed(tenant, acknowledged);
  assert.equal(new Set(seen).size, seen.length, 'an event came twice');
  assert.ok(seen.length >= acknowledged.size);
}

describe('several processes and the embedded engine', () => {
  const service = new KeptService({ PROCESSES: '2' });
  after(() => service.end());
  let tenant: Tenant;
  const acknowledged = new Set<string>();
  /** Of the processes whose logs fewer find later; each takes a second to start. */
  const numbers = ['1', '2', '3'];
  /** Next start, with as many processes; nothing that is acknowledged there reaches the engine by itself. */
  const startHolding = async (processes: string): Promise<void> => {
    const server = await service.start({ PROCESSES: processes, FLUSH_INTERVAL: '60s' });
    tenant = tenant.with({ server });
  };
  const post = async (headers: Record<string, string> = {}): Promise<void> => {
    const ids = [randomUUID(), randomUUID()];
    acceptedOf(
      await tenant.post(
        ids.map((id) => sourceEvent({ extra: { id } })),
        { ...fresh, ...headers },
      ),
    );
    for (const id of ids) acknowledged.add(id);
  };

  /** Another body under any of these keys is refused, whichever process is asked, also where nothing in it is good. */
  const allKnown = async (keys: readonly string[]): Promise<void> => {
    const sent = await Promise.all(
      keys.map((key, n) =>
        tenant.post([n % 2 === 0 ? sourceEvent() : {}], { ...fresh, 'idempotency-key': key }),
      ),
    );
    assert.deepEqual(
      sent.map(({ status }) => status),
      keys.map(() => 422),
    );
  };

  test('requests are taken by all of them, and a connection stays with one', async () => {
    const server = await service.start();
    assert.equal(frontEnds(server).size, 2);
    for (let n = 0; n < 40; n++) await call(`${server.url}/healthz`, { headers: fresh });
    const byAll = await answeredBy(server, 'health');
    assert.ok((byAll.get('1') ?? 0) > 0 && (byAll.get('2') ?? 0) > 0, JSON.stringify([...byAll]));
    assert.equal(
      [...byAll.values()].reduce((sum, one) => sum + one, 0),
      40,
    );
    for (let n = 0; n < 20; n++) await call(`${server.url}/healthz`);
    const grown = [...(await answeredBy(server, 'health'))].filter(
      ([number, count]) => count !== byAll.get(number),
    );
    assert.equal(grown.length, 1, 'a connection that is kept has one process');
    // Lines of all are whole, and none is lost.
    await eventually('the lines of all requests', async () => {
      const lines = server.stdoutLines().map((line) => JSON.parse(line) as { path: string });
      return lines.filter(({ path }) => path === '/healthz').length === 60 || undefined;
    });
    const ready = await call(`${server.url}/readyz`);
    assert.equal(ready.status, 200, ready.text);
  });

  test('repeats that come together store once, also while the engine is slow', async () => {
    const { server } = service;
    const slow = await createTenant(server, 'slow');
    const [id, last] = [randomUUID(), randomUUID()];
    const headers = { ...fresh, 'idempotency-key': randomUUID() };
    const engine = server.enginePid() ?? 0;
    process.kill(engine, 'SIGSTOP');
    const sent = Array.from({ length: 12 }, () => slow.post([sourceEvent({ extra: { id } })], headers));
    await sleep(3_000);
    process.kill(engine, 'SIGCONT');
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    assert.ok(statuses.includes(202), statuses.join());
    // One may be told that another process is at it.
    assert.deepEqual(
      statuses.filter((status) => status !== 202 && status !== 503),
      [],
    );
    acceptedOf(await slow.post([sourceEvent({ extra: { id: last } })], fresh));
    await allThereOnce(slow, new Set([id, last]));
  });

  // `several processes share a ClickHouse server` kills one of them, and so does the simulator.
  test('all end with the supervisor, however it ends, and the next start goes on', async () => {
    tenant = await createTenant(service.server, 'several');
    await post();
    const pids = [...frontEnds(service.server).values()];
    assert.equal(pids.length, 2);
    await service.server.kill('SIGKILL');
    await eventually('the front ends to end', async () => (pids.some(isAlive) ? undefined : true));
    await startHolding(String(numbers.length));
    await allThereOnce(tenant, acknowledged);
  });

  test('what fewer processes find in the logs of more is stored, and its keys are remembered', async () => {
    const { server } = service;
    const before = await answeredBy(server, 'ingest');
    const keys: string[] = [];
    await eventually('every process to have events in its log', async () => {
      keys.push(randomUUID());
      await post({ 'idempotency-key': String(keys.at(-1)) });
      const now = await answeredBy(server, 'ingest');
      return numbers.every((number) => (now.get(number) ?? 0) > (before.get(number) ?? 0)) || undefined;
    });
    await server.kill('SIGKILL');
    await startHolding('1');
    // From the first request on, though what they left is still to be stored.
    await allKnown(keys);
    await allThereOnce(tenant, acknowledged);
    await eventually('the directories of the processes to go', async () =>
      (await readdir(service.dataDir)).some((name) => name.startsWith('process-')) ? undefined : true,
    );
    await allKnown(keys);
  });

  test('what one process has left in its log is stored when there are several, and the end is clean', async () => {
    const keys = Array.from({ length: 20 }, () => randomUUID());
    for (const key of keys) await post({ 'idempotency-key': key });
    await service.server.kill('SIGKILL');
    await startHolding('2');
    await allKnown(keys);
    await allThereOnce(tenant, acknowledged);
    await eventually('the log of the one to go', async () =>
      (await readdir(service.dataDir)).includes('wal') ? undefined : true,
    );
    await post();
    const { server } = service;
    assert.equal(await server.stop(), 0);
    // What was flushed at the end needs no log.
    for (const name of ['process-1', 'process-2'])
      assert.equal((await readdir(join(service.dataDir, name, 'wal'))).length, 1);
    // What was stored last is in the ledger: a part that is lost before the next start is told.
    const counted = await rowsOfLedger(service.dataDir);
    await startHolding('1');
    await allThereOnce(tenant, acknowledged);
    assert.equal(await service.server.stop(), 0);
    assert.equal(await rowsOfLedger(service.dataDir), counted);
  });
});

/** How many events the ledger has counted. */
async function rowsOfLedger(dataDir: string): Promise<number> {
  const { ledger } = JSON.parse(await readFile(join(dataDir, 'ledger.json'), 'utf8')) as {
    readonly ledger: { readonly counts: readonly { readonly rows: number }[] };
  };
  return ledger.counts.reduce((sum, { rows }) => sum + rows, 0);
}

describe('several processes and a ClickHouse server', () => {
  let engine: PlainEngine;
  before(async () => {
    engine = await startPlainEngine();
  });
  after(() => engine?.stop());

  test('several processes share a ClickHouse server', async () => {
    const server = await startServer({ env: { ...engine.env, PROCESSES: '2' } });
    try {
      const tenant = await createTenant(server, 'several');
      const writers = new Writers(tenant, 4);
      await writers.more(40);
      const pid = pidOf(server, 1);
      process.kill(pid, 'SIGKILL');
      await eventually('the front end to be up again', async () =>
        pidOf(server, 1) === pid ? undefined : true,
      );
      await writers.more(20);
      await writers.end();
      const byAll = await answeredBy(server, 'ingest');
      assert.ok(byAll.has('1') && byAll.has('2'), JSON.stringify([...byAll]));
      // The system chooses who is asked: twenty repeats do not all come to the same process.
      const key = { ...fresh, 'idempotency-key': randomUUID() };
      const first = await tenant.post([sourceEvent()], key);
      for (let n = 0; n < 20; n++) assert.equal((await tenant.post([sourceEvent()], key)).text, first.text);
      assert.equal((await tenant.post([sourceEvent({ action: 1 })], key)).status, 422);
      await allThereOnce(tenant, writers.acknowledged);
      assert.equal(await server.stop(), 0);
    } finally {
      await server.stop();
    }
  });

  test('what a front end cannot be started with is told once, with its exit code', async () => {
    const dataDir = await temporaryDirectory();
    try {
      await writeFile(join(dataDir, 'session-secret'), 'short', { mode: 0o600 });
      const { code, stderr } = await runCli(['serve'], { dataDir, env: { ...engine.env, PROCESSES: '2' } });
      assert.equal(code, 2, stderr);
      const told = stderr.split('\n').filter((line) => line.startsWith('auditlog: '));
      assert.deepEqual(told.length, 1, stderr);
      assert.match(String(told[0]), /session-secret is shorter than 32 bytes/);
    } finally {
      await removeDirectory(dataDir);
    }
  });
});

describe('a start that cannot be', () => {
  const env = { PROCESSES: '2' };

  test('a port that another program has ends it with a line that says so', async () => {
    const dataDir = await temporaryDirectory();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    try {
      const { code, stderr } = await runCli(['serve'], { dataDir, env: { ...env, PORT: String(port) } });
      assert.equal(code, 1, stderr);
      assert.equal(
        stderr,
        `auditlog: cannot listen on 127.0.0.1 port ${port}: the port is in use by process ${process.pid} (node)`,
      );
    } finally {
      other.close();
      await removeDirectory(dataDir);
    }
  });
});

/** Process ids of the front ends below a server, oldest first. */
async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const pids = text.trim().split(' ').map(Number).filter(Boolean);
  const commands = await Promise.all(
    pids.map((child) => readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => '')),
  );
  return pids.filter((_, index) => commands[index]?.includes('front-end')).sort((a, b) => a - b);
}

test('one that is killed before it listens is started again, and the server is ready when all are up', async () => {
  const dataDir = await temporaryDirectory();
  const env = { PATH: process.env['PATH'], DATA_DIR: dataDir, PORT: '0', PROCESSES: '2', WORKERS: '1' };
  const server = spawn(process.execPath, [...cliCommand, 'serve'], {
    cwd: projectRoot,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let told = '';
  server.stderr.setEncoding('utf8').on('data', (text: string) => {
    told += text;
  });
  const ended = once(server, 'exit');
  const pid = server.pid ?? assert.fail('the server was not started');
  const signalNew = (known: readonly number[], signal: NodeJS.Signals) =>
    eventually('a front end to begin', async () => {
      assert.equal(server.exitCode, null, told);
      const [next] = (await childrenOf(pid)).filter((one) => !known.includes(one));
      if (next !== undefined) process.kill(next, signal);
      return next;
    });
  const ready = async (url: string) => {
    const answer = await call(`${url}/readyz`, { headers: fresh });
    const { checks } = JSON.parse(answer.text) as { checks: Record<string, boolean> };
    return { status: answer.status, isUp: checks['processes_up'] };
  };
  try {
    const killed = await signalNew([], 'SIGKILL');
    const first = await eventually('the first one again', async () => {
      assert.equal(server.exitCode, null, told);
      return (await childrenOf(pid)).find((one) => one !== killed);
    });
    const second = await signalNew([killed, first], 'SIGSTOP');
    const { url } = JSON.parse(await readFile(join(dataDir, 'server.json'), 'utf8')) as { url: string };
    assert.deepEqual(await ready(url), { status: 503, isUp: false });
    process.kill(second, 'SIGKILL');
    await eventually('all to be up', async () => {
      assert.equal(server.exitCode, null, told);
      const { status, isUp } = await ready(url);
      return status === 200 && isUp === true ? true : undefined;
    });
    assert.match(told, /all front ends are up/);
    server.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  } finally {
    server.kill('SIGKILL');
    await ended;
    await removeDirectory(dataDir);
  }
});
