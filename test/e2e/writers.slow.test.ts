import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { cp } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { followFeed } from '../support/feed.ts';
import { call, eventually } from '../support/http.ts';
import { type PlainEngine, startPlainEngine } from '../support/plain-engine.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import {
  createTenant,
  keyKnown,
  printed,
  runCli,
  sourceEvent,
  startServer,
  type Tenant,
  type TestServer,
} from '../support/server.ts';

interface Writer {
  readonly number: number;
  readonly instance: string;
  readonly pid: number;
  readonly state: string;
  readonly holds_feed_back: boolean;
  readonly held_back_since: string | null;
  readonly fenced_by: string | null;
}

/** Two servers on one engine. The second reaches it through a proxy, and dies with events in its log. */
describe('a writer that does not come back', () => {
  let engine: PlainEngine;
  let proxy: FaultProxy;
  let env: Readonly<Record<string, string>>;
  let living: TestServer;
  let dying: TestServer;
  let dataDir: string;
  let tenant: Tenant;
  let atDying: Tenant;

  before(async () => {
    engine = await startPlainEngine();
    proxy = await startFaultProxy(engine.port);
    dataDir = await temporaryDirectory();
    env = { ...engine.env, EVIDENCE_INTERVAL: 'off' };
    living = await startServer({ env });
    dying = await startDying();
    tenant = await createTenant(living, 'writers');
    await keyKnown(dying, tenant.key);
    atDying = tenant.with({ server: dying });
  });
  after(async () => {
    await Promise.all([living?.stop(), dying?.stop()]);
    await proxy?.stop();
    await engine?.stop();
    if (dataDir !== undefined) await removeDirectory(dataDir);
  });

  const startDying = () => startServer({ dataDir, env: { ...env, CLICKHOUSE_URL: proxy.url } });
  const flowIds = (count: number) => Array.from({ length: count }, () => randomUUID() as string);
  const record = (by: Tenant, flows: readonly string[]) =>
    by.record(flows.map((flow) => sourceEvent({ flow_id: flow })));
  const writers = async () => printed(await living.cliHere(['writers', 'list', '--json'])) as Writer[];
  const sql = async (query: string) => {
    const headers = { 'x-clickhouse-user': engine.user, 'x-clickhouse-key': engine.password };
    const answer = await call(`${engine.url}/?database=audit`, { method: 'POST', headers, body: query });
    assert.equal(answer.status, 200, answer.text);
  };
  /** As if a writer had been seen last ten minutes ago: the time that an operator has to wait for. */
  const age = async (instance: string) => {
    const condition = `WHERE owner = '${instance}' OR name = 'run ${instance}'`;
    await sql('CREATE TABLE aged AS leases ENGINE = Memory');
    const older = '* REPLACE (seen - INTERVAL 10 MINUTE AS seen)';
    await sql(`INSERT INTO aged SELECT ${older} FROM leases FINAL ${condition}`);
    await sql(`DELETE FROM leases ${condition}`);
    await sql('INSERT INTO leases SELECT * FROM aged');
    await sql('DROP TABLE aged');
  };
  /** What a follower of the feed has been handed out so far, in order. */
  const seen: string[] = [];
  let cursor = '';
  const follow = async () => {
    const [events, next] = await followFeed(tenant, cursor);
    cursor = next;
    seen.push(...events.flatMap(({ flow_id: flow }) => flow ?? []));
  };
  const followed = (expected: readonly string[]) =>
    eventually(`the follower to have ${expected.length} events`, async () => {
      await follow();
      return expected.every((flow) => seen.includes(flow)) || undefined;
    });

  const sent: string[] = [];
  let unsent: string[] = [];

  test('holds the feed back for all to see, until it is fenced', async () => {
    const [early, waiting, late] = [flowIds(2), flowIds(3), flowIds(2)];
    await record(atDying, early);
    await followed(early);
    proxy.set('refuse');
    await record(atDying, waiting);
    await dying.kill('SIGKILL');
    proxy.set('none');
    await record(tenant, late);
    sent.push(...early, ...late);
    unsent = waiting;
    // Which takes its time: each look is a command, and two servers are beside.
    const lookMs = 1_000;
    const awayOf = async () => {
      await follow();
      return (await writers()).find((writer) => writer.holds_feed_back && writer.state === 'away');
    };
    const dead = await eventually('the dead writer to be told of', awayOf, 30_000, lookMs);
    assert.equal(dead.pid, dying.pid);
    assert.ok(dead.held_back_since);
    assert.ok(!late.some((flow) => seen.includes(flow)), 'the feed has gone on without the dead writer');
    const held = new RegExp(`^auditlog_feed_held_back_seconds\\{writer="${dead.number}"\\} (\\d\\d)`, 'm');
    await eventually(
      'the metric',
      async () => held.test((await call(`${living.url}/metrics`)).text) || undefined,
      30_000,
      lookMs,
    );
    const ready = await call(`${living.url}/readyz`);
    assert.equal(ready.status, 200);
    assert.match(ready.text, /"feed_goes_on":false/);
    const lines = living.stderrLines().filter((line) => line.includes('the feed waits for a writer'));
    assert.equal(lines.length, 1, lines.join('\n'));

    const name = String(dead.number);
    const fence = (...args: string[]) => living.cliHere(['writers', 'fence', ...args]);
    const early1 = await fence(name, '--confirm', name);
    assert.equal(early1.code, 1);
    assert.match(early1.stderr, /was seen \d+ s ago: it may be running/);
    await age(dead.instance);
    assert.equal((await fence(name)).code, 2, 'fenced without having been confirmed');
    assert.equal((await fence(name, '--confirm', '63')).code, 2);
    assert.equal((await fence('62', '--confirm', '62')).code, 1);
    const fenced = printed(await fence(name, '--confirm', name, '--json')) as Writer;
    assert.deepEqual([fenced.state, fenced.holds_feed_back], ['fenced', false]);
    assert.match(String(fenced.fenced_by), /@/);
    assert.equal((await fence(name, '--confirm', name)).code, 1, 'fenced twice');
    await followed(sent);
    await eventually('the metric to be gone', async () => {
      const { text } = await call(`${living.url}/metrics`);
      return text.includes('auditlog_feed_held_back_seconds{') ? undefined : true;
    });
  });

  test('stores what its log has at new places when it does come back, so that nobody misses it', async () => {
    const before = (await writers()).find(({ state }) => state === 'fenced');
    dying = await startDying();
    const lines = dying.stderrLines().filter((line) => line.includes('take new places in the order'));
    assert.equal(lines.length, 1, dying.stderrLines().join('\n'));
    assert.match(lines[0] ?? '', /"events":3,"storedBefore":0/);
    atDying = tenant.with({ server: dying });
    const more = flowIds(2);
    await record(atDying, more);
    await followed([...unsent, ...more]);
    sent.push(...unsent, ...more);
    assert.deepEqual(seen.toSorted(), sent.toSorted());
    const now = (await writers()).find(({ pid, state }) => pid === dying.pid && state === 'running');
    assert.notEqual(now?.instance, before?.instance);
    assert.notEqual(now?.number, before?.number);
    // Nothing is left of all that: another start is one like any other.
    await dying.stop();
    dying = await startDying();
    assert.ok(!dying.stderrLines().some((line) => line.includes('take new places')));
    await tenant.settled(sent.length);
  });

  // `writer-registry.test.ts` has what a server does then, without the server.
  test('ends by itself where it lives and was fenced, and is another after its next start', async () => {
    const live = (await writers()).find(({ pid, state }) => pid === dying.pid && state === 'running');
    assert.ok(live);
    // As the command would, had the server been cut off for minutes.
    const columns = 'fenced_writers (instance, id, low, operator)';
    await sql(`INSERT INTO ${columns} VALUES ('${live.instance}', ${live.number}, 0, 'test')`);
    assert.equal(await dying.exited(), 1);
    assert.match(dying.stderrLines().join('\n'), /this server was fenced while it was away/);
    dying = await startDying();
    atDying = tenant.with({ server: dying });
    const last = flowIds(1);
    await record(atDying, last);
    await followed(last);
    sent.push(...last);
    assert.deepEqual(seen.toSorted(), sent.toSorted());
  });

  // `start.slow.test.ts` has one on the same data directory.
  test('a second server on a copy of its data directory is refused', async () => {
    const copy = `${living.dataDir}-copy`;
    try {
      await cp(living.dataDir, copy, { recursive: true, filter: (path) => !path.includes('lock.') });
      const copied = await runCli(['serve'], { dataDir: copy, env: { ...env, PORT: '0' } });
      assert.equal(copied.code, 1, copied.stderr);
      assert.match(copied.stderr, /is a copy of one that a running server uses \(host .*, process \d+\)/);
      assert.match(copied.stderr, /remove instance-id, wal, wal-head and idempotency/);
      const ready = await call(`${living.url}/readyz`);
      assert.equal(ready.status, 200);
    } finally {
      await removeDirectory(copy);
    }
  });
});
