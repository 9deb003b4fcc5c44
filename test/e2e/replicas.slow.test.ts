import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { loadConfig } from '../../src/config/config.ts';
import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';
import { createSegmentInsert } from '../../src/storage/insert.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { row, SentSegments } from '../ingest/segment-body.ts';
import { silentLog } from '../support/engine.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { followFeed } from '../support/feed.ts';
import { type AuditEvent, eventually, pageOf } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import {
  type ReplicaNode,
  type Replicas,
  startReplicas,
  whyNoReplicas,
} from '../support/replicas/replicas.ts';
import {
  createTenant,
  keyKnown,
  sourceEvent,
  startServer,
  type Tenant,
  type TestServer,
} from '../support/server.ts';

/** Two shards with two real replicas each and a ZooKeeper (test/support/replicas); 60 seconds on two quiet cores. */
const skip = (await whyNoReplicas()) ?? false;
const database = 'prod';

/** Until it does not reject: an engine may abort on a busy machine, and is back at once (docs/cluster.md). */
function again<T>(what: string, work: () => Promise<T>): Promise<{ readonly result: T }> {
  let failure: unknown;
  return eventually(what, () =>
    work().then(
      (result) => ({ result }),
      (error: unknown) => {
        failure = error;
        return undefined;
      },
    ),
  ).catch((error: unknown) => {
    throw new Error(String(error), { cause: failure });
  });
}

describe('two shards with two replicas each', { skip, timeout: patience(300_000) }, () => {
  let replicas: Replicas;
  const open: Storage[] = [];
  before(async () => {
    replicas = await startReplicas(2, 2);
    await replicas.prepare(database, { head: eventHead, tail: eventTail(loadConfig({})) });
  });
  after(async () => {
    await Promise.all(open.map((storage) => storage.close()));
    await replicas?.stop();
  });
  const nodeOf = (shard: number, replica: number): ReplicaNode =>
    replicas.nodes.find((node) => node.shard === shard && node.replica === replica) ?? assert.fail();
  const at = (shard: number, replica: number): Storage => {
    const storage = nodeOf(shard, replica).storage(database);
    open.push(storage);
    return storage;
  };

  const segments = new SentSegments();
  /** Rows of an organization of one shard. */
  const blocksOf = async (shard: number) => {
    const [found] = await at(1, 1).rows<{ org: string }>(
      `SELECT org FROM (SELECT generateUUIDv4(number) AS org FROM numbers(100))
       WHERE cityHash64(org) % 2 = ${shard - 1} LIMIT 1`,
    );
    const org = found?.org ?? assert.fail('there are organizations of each shard');
    return [fc.sample(row, 20).map((one) => ({ ...one, org }))];
  };
  const rowsOn = async (shard: number, replica: number): Promise<number> => {
    const query =
      'SELECT count() AS rows FROM events_local WHERE seq BETWEEN {first:UInt64} AND {last:UInt64}';
    const [found] = await at(shard, replica).rows<{ rows: string }>(query, segments.range);
    return Number(found?.rows);
  };

  /** As the service does it: after any failure the segment is in doubt, and is sent again. */
  const stored = async (shard: number, isDoubtful: boolean): Promise<void> => {
    const insert = createSegmentInsert(at(1, 1), silentLog, randomUUID());
    const blocks = await blocksOf(shard);
    segments.begin();
    let doubtful = isDoubtful;
    await again('the segment to be stored', async () => {
      const segment = segments.insertOf(blocks, doubtful);
      doubtful = true;
      assert.equal(await insert(segment), 'stored');
    });
  };

  test('a segment in doubt is stored while a shard has no events yet', {
    timeout: patience(40_000),
  }, async () => {
    await stored(1, true);
    assert.deepEqual([await rowsOn(1, 1), await rowsOn(1, 2), await rowsOn(2, 1)], [20, 20, 0]);
  });

  const feedOf = async (tenant: Tenant, cursor?: string) =>
    (await again('the feed to answer', () => followFeed(tenant, cursor))).result;

  const shardOf = async ({ organization }: Tenant): Promise<number> => {
    const query = `SELECT toUInt8(cityHash64({org:UUID}) % 2) + 1 AS shard`;
    return (
      (await at(1, 1).rows<{ shard: number }>(query, { org: organization.id }))[0]?.shard ?? assert.fail()
    );
  };

  describe('servers that have each another node first', () => {
    /** At the node that lags behind, and at another one by a way that can be cut. */
    let atLagging: TestServer;
    let other: TestServer;
    /** Knows all nodes, the first replicas first. */
    let beside: TestServer;
    let way: FaultProxy;
    let tenant: Tenant;
    const lagging = () => at(2, 2);
    before(async () => {
      way = await startFaultProxy(Number(new URL(nodeOf(1, 1).door.url).port));
      const start = (url: string) =>
        startServer({
          env: { ...replicas.env(database), CLICKHOUSE_URL: url },
          intervals: { evidenceMs: 86_400_000 },
        });
      atLagging = await start(nodeOf(2, 2).door.url);
      // Its row is not at the node that lags behind.
      await lagging().command('SYSTEM STOP FETCHES watermarks');
      const all = replicas.nodes.map(({ door }) => door.url).join(',');
      [other, beside] = await Promise.all([start(way.url), start(all)]);
      tenant = await createTenant(atLagging, 'replicas');
      await Promise.all([other, beside].map((server) => keyKnown(server, tenant.key)));
    });
    after(async () => {
      await Promise.all([atLagging, other, beside].map((server) => server?.stop()));
      await way?.stop();
    });

    test('the feed waits for a server whose row its node does not have', async () => {
      const [writers] = await lagging().rows<{ unknown: string }>(
        `SELECT uniqExact(writer) AS unknown FROM clusterAllReplicas('audit', ${database}, watermarks)
         WHERE writer GLOBAL NOT IN (SELECT writer FROM ${database}.watermarks)`,
      );
      assert.notEqual(writers?.unknown, '0');
      way.set('refuse');
      const first = randomUUID();
      await tenant.with({ server: other }).record([sourceEvent({ flow_id: first })]);
      await sleep(1_500);
      const second = randomUUID();
      await tenant.record([sourceEvent({ flow_id: second })]);
      await again('the later event', () => tenant.settled(1, { flowId: second }));
      // Longer than servers take to publish how far they are.
      await sleep(2_500);
      const [before, cursor] = await feedOf(tenant);
      way.set('none');
      await again('the earlier event', () => tenant.settled(1, { flowId: first }));
      const flows = before.map(({ flow_id }) => flow_id);
      await eventually('the feed to have both', async () => {
        const [more] = await feedOf(tenant, cursor);
        const all = [...flows, ...more.map(({ flow_id }) => flow_id)];
        return (all.includes(first) && all.includes(second)) || undefined;
      });
      await lagging().command('SYSTEM START FETCHES watermarks');
    });

    test('a page counts what one replica has; the feed what both have', async () => {
      const year = { startTime: '2025-01-01T00:00:00Z', endTime: '2025-12-31T00:00:00Z' };
      const events = Array.from({ length: 20 }, () => sourceEvent({ timestamp: '2025-05-05T00:00:00Z' }));
      const both = tenant.with({ server: beside });
      const totalOf = async (): Promise<number | undefined> => {
        const answer = await both.get({ ...year, limit: '1' });
        return answer.status === 200 ? pageOf(answer).meta.total : undefined;
      };
      const totalIs = (total: number) =>
        eventually(`a total of ${total}`, async () => (await totalOf()) === total || undefined);
      await both.record(events);
      await totalIs(20);
      const fed = (found: readonly AuditEvent[]) =>
        found.filter(({ time }) => time === Date.UTC(2025, 4, 5) * 1000);
      const [begun, begin] = await feedOf(both);
      const cursor = await eventually('the feed to have these', async () => {
        const [more, at] = await feedOf(both, begin);
        return fed([...begun, ...more]).length === 20 ? at : undefined;
      });
      // The shard of the organization: its second replica gets nothing more.
      const shard = await shardOf(tenant);
      await at(shard, 2).command('SYSTEM STOP FETCHES events_local');
      await both.record(events);
      await totalIs(40);
      assert.deepEqual((await feedOf(both, cursor))[0], []);
      await nodeOf(shard, 1).engine.kill();
      await totalIs(20);
      await nodeOf(shard, 1).engine.start();
      await at(shard, 2).command('SYSTEM START FETCHES events_local');
      await totalIs(40);
      await eventually('the feed to have them', async () => {
        const [more] = await feedOf(both, cursor);
        assert.ok(more.length <= 20);
        return more.length === 20 || undefined;
      });
    });
  });

  // The last: shard 1 has one replica from then on.
  test('what one replica has is stored once the other was dropped', {
    timeout: patience(60_000),
  }, async () => {
    await nodeOf(1, 2).engine.kill();
    const storage = at(1, 1);
    await eventually('the replica to count as gone', () =>
      storage.command(`SYSTEM DROP REPLICA '2' FROM TABLE events_local`).then(
        () => true,
        () => undefined,
      ),
    );
    for (const shard of [1, 2]) await stored(shard, false);
    await eventually('the other shard to have it twice', async () => {
      const rows = [await rowsOn(2, 1), await rowsOn(2, 2)];
      return rows.every((one) => one === 20) || undefined;
    });
  });
});
