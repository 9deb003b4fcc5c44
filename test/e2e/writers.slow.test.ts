import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { followFeed } from '../support/feed.ts';
import { call, eventually } from '../support/http.ts';
import { type PlainEngine, startPlainEngine } from '../support/plain-engine.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import {
  createTenant,
  keyKnown,
  sourceEvent,
  startServer,
  type Tenant,
  type TestServer,
} from '../support/server.ts';

/** Two servers on one engine. The second connects through a proxy, and dies with events in its log. */
describe('a server that does not come back', () => {
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
    ({ env } = engine);
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
  const sql = async (query: string) => {
    const headers = { 'x-clickhouse-user': engine.user, 'x-clickhouse-key': engine.password };
    const answer = await call(`${engine.url}/?database=audit`, { method: 'POST', headers, body: query });
    assert.equal(answer.status, 200, answer.text);
  };
  /** Pretends that all work of a server has ended. */
  const passTime = (pid: number) =>
    sql(
      `INSERT INTO watermarks SELECT * REPLACE (version + 1 AS version, 1 AS gone_after) FROM watermarks FINAL WHERE pid = ${pid}`,
    );
  /** The follower's events so far, in order. */
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

  test('holds the feed back until nothing of it can be under way, and for all to see', async () => {
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
    await eventually(
      'the metric',
      async () =>
        /^auditlog_feed_held_back_seconds \d\d/m.test((await call(`${living.url}/metrics`)).text) ||
        undefined,
      30_000,
      1_000,
    );
    await follow();
    assert.ok(!late.some((flow) => seen.includes(flow)), 'the feed has gone on without the dead server');
    const waits = () => living.stderrLines().filter((line) => line.includes('The feed waits for a writer'));
    await eventually('the line of the log', async () => waits().length > 0 || undefined);
    const lines = waits();
    assert.equal(lines.length, 1, lines.join('\n'));
    assert.equal((JSON.parse(lines[0] ?? '{}') as { pid?: number }).pid, dying.pid);
    await passTime(dying.pid);
    await followed(sent);
    await eventually(
      'the metric to be 0',
      async () =>
        /^auditlog_feed_held_back_seconds 0$/m.test((await call(`${living.url}/metrics`)).text) || undefined,
    );
  });

  test('stores its log at new positions when it comes back, so that no follower misses it', async () => {
    dying = await startDying();
    atDying = tenant.with({ server: dying });
    const more = flowIds(2);
    await record(atDying, more);
    await followed([...unsent, ...more]);
    sent.push(...unsent, ...more);
    assert.deepEqual(seen.toSorted(), sent.toSorted());
    // No trace is left: the next start is an ordinary one.
    await dying.stop();
    dying = await startDying();
    await tenant.settled(sent.length);
    assert.deepEqual(seen.toSorted(), sent.toSorted());
  });

  test('each event that was in flight when it died is stored once', async () => {
    for (let round = 0; round < 3; round++) {
      atDying = tenant.with({ server: dying });
      const flows = flowIds(20);
      // The answer to the INSERT is lost, so its result is unknown.
      proxy.set({ cutAfterBytes: 40 });
      await record(atDying, flows);
      await dying.kill('SIGKILL');
      proxy.set('none');
      dying = await startDying();
      sent.push(...flows);
      await followed(sent);
    }
    assert.deepEqual(seen.toSorted(), sent.toSorted());
    await tenant.settled(sent.length);
  });
});
