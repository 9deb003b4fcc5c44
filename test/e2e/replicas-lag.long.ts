import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { followFeed } from '../support/feed.ts';
import { type AuditEvent, eventually, pageOf } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import { again } from '../support/replicas/again.ts';
import { organizationOn, startFrontEnd } from '../support/replicas/front-ends.ts';
import { database, type Replicas, startReplicas, whyNoReplicas } from '../support/replicas/replicas.ts';
import { keyKnown, sourceEvent, type Tenant, type TestServer } from '../support/server.ts';

/** What readers see while a replica lags behind the others; 60 seconds on two quiet cores. */
const skip = (await whyNoReplicas()) ?? false;

describe('two shards with two replicas each', { skip, timeout: patience(300_000) }, () => {
  let replicas: Replicas;
  before(async () => {
    replicas = await startReplicas(2, 2);
  });
  after(() => replicas?.stop());

  const feedOf = async (tenant: Tenant, cursor?: string) =>
    again('the feed to answer', () => followFeed(tenant, cursor));

  describe('servers that have each another node first', () => {
    /** At the node that lags behind, and at another one. */
    let atLagging: TestServer;
    let other: TestServer;
    let tenant: Tenant;
    const lagging = () => replicas.at(2, 2);
    before(async () => {
      const start = (url: string) =>
        startFrontEnd({
          env: { ...replicas.env, CLICKHOUSE_URL: url },
          intervals: { evidenceMs: 86_400_000 },
        });
      const urls = replicas.nodes.map(({ door }) => door.url);
      // All addresses; the first one is that of the node that lags behind.
      atLagging = await start(urls.toReversed().join(','));
      tenant = await organizationOn(replicas, atLagging, 2);
      await lagging().command('SYSTEM STOP FETCHES watermarks');
      // Its row is not at that node.
      other = await start(replicas.nodeOf(1, 1).door.url);
      await keyKnown(other, tenant.key);
    });
    after(async () => {
      await Promise.all([atLagging, other].map((server) => server?.stop()));
    });

    test('the feed waits for a server whose row its node does not have', async () => {
      const [writers] = await lagging().rows<{ unknown: string }>(
        `SELECT uniqExact(writer) AS unknown FROM clusterAllReplicas('audit', ${database}, watermarks)
         WHERE writer GLOBAL NOT IN (SELECT writer FROM ${database}.watermarks)`,
      );
      assert.notEqual(writers?.unknown, '0');
      // The INSERT of the other server waits for its second replica, and has its number.
      const ofFirst = await organizationOn(replicas, atLagging);
      await keyKnown(other, ofFirst.key);
      await replicas.at(1, 2).command('SYSTEM STOP FETCHES events_local');
      const flow = randomUUID();
      await ofFirst.with({ server: other }).record([sourceEvent({ flow_id: flow })]);
      const flows: unknown[] = [];
      let cursor = '';
      const follow = async () => {
        const [events, at] = await feedOf(ofFirst, cursor);
        flows.push(...events.map(({ flow_id }) => flow_id));
        cursor = at;
      };
      // Reads go to either replica of the shard. One of them has the event.
      for (let n = 0; n < 12; n++) {
        await sleep(500);
        await follow();
      }
      await again('fetches to go on', () => replicas.at(1, 2).command('SYSTEM START FETCHES events_local'));
      await eventually(
        'the feed to have the event',
        async () => {
          await follow();
          return flows.includes(flow) || undefined;
        },
        5_000,
      );
      await again('fetches to go on', () => lagging().command('SYSTEM START FETCHES watermarks'));
    });

    test('a page counts what one replica has; the feed what both have', async () => {
      const year = { startTime: '2025-01-01T00:00:00Z', endTime: '2025-12-31T00:00:00Z' };
      const events = Array.from({ length: 20 }, () => sourceEvent({ timestamp: '2025-05-05T00:00:00Z' }));
      const totalOf = async (): Promise<number | undefined> => {
        const answer = await tenant.get({ ...year, limit: '1' }).catch(() => undefined);
        return answer?.status === 200 ? pageOf(answer).meta.total : undefined;
      };
      const totalIs = (total: number) =>
        eventually(`a total of ${total}`, async () => (await totalOf()) === total || undefined);
      await tenant.record(events);
      await totalIs(20);
      const fed = (found: readonly AuditEvent[]) =>
        found.filter(({ time }) => time === Date.UTC(2025, 4, 5) * 1000);
      const [begun, begin] = await feedOf(tenant);
      const cursor = await eventually('the feed to have these', async () => {
        const [more, at] = await feedOf(tenant, begin);
        return fed([...begun, ...more]).length === 20 ? at : undefined;
      });
      // The server writes and reads at the other replica.
      await replicas.at(2, 1).command('SYSTEM STOP FETCHES events_local');
      await tenant.record(events);
      await totalIs(40);
      assert.deepEqual((await feedOf(tenant, cursor))[0], []);
      await replicas.nodeOf(2, 2).engine.kill();
      await totalIs(20);
      await replicas.nodeOf(2, 2).engine.start();
      await again('fetches to go on', () => replicas.at(2, 1).command('SYSTEM START FETCHES events_local'));
      await totalIs(40);
      await eventually('the feed to have them', async () => {
        const [more] = await feedOf(tenant, cursor);
        assert.ok(more.length <= 20);
        return more.length === 20 || undefined;
      });
    });
  });
});
