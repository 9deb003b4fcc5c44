import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { loadConfig } from '../../src/config/config.ts';
import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';
import { segmentSeqRange } from '../../src/base/events/sequence.ts';
import { openStorage } from '../../src/storage/client.ts';
import { createSegmentInsert } from '../../src/storage/insert.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { takeWriter } from '../../src/storage/writers.ts';
import { row, SentSegments } from '../ingest/segment-body.ts';
import { silentLog } from '../support/engine.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { call, eventually } from '../support/http.ts';
import { freePort, startPlainEngine } from '../support/plain-engine.ts';
import { projectRoot } from '../support/project-root.ts';
import { rounds } from '../support/rounds.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';
import { startTwoShards, type TwoShards } from '../support/two-shards.ts';

/** What only a cluster brings with it, on two shards without replicas (see `two-shards.ts`). */
const envelope = { head: eventHead, tail: eventTail(loadConfig({})) };
let two: TwoShards;
before(async () => {
  two = await startTwoShards();
});
after(() => two.stop());

/** How many queries a node has been asked by other nodes. */
async function queriesOf(node: Storage): Promise<number> {
  const sql =
    "SELECT sum(if(event = 'Query', 1, -1) * toFloat64(value)) AS asked FROM system.events WHERE event IN ('Query', 'InitialQuery')";
  return (await node.rows<{ asked: number }>(sql))[0]?.asked ?? Number.NaN;
}

describe('reads on a cluster', () => {
  let server: TestServer;
  /** An organization of each shard. */
  const byShard = new Map<number, Tenant>();
  before(async () => {
    await two.prepare('reads', envelope);
    server = await startServer({ env: two.env('reads'), intervals: { evidenceMs: 86_400_000 } });
    // Which shard it will be follows from the id, which is random.
    for (let n = 0; byShard.size < 2 && n < 40; n++) {
      const tenant = await createTenant(server, `shard-${n}`);
      byShard.set(await shardOf(tenant), tenant);
    }
    assert.deepEqual(new Set(byShard.keys()), new Set([1, 2]));
  });
  after(() => server.stop());

  /** Where the events are that making it has left. */
  const shardOf = async (tenant: Tenant): Promise<number> => {
    await tenant.own();
    const query = 'SELECT DISTINCT _shard_num AS shard FROM events WHERE org = {org:UUID}';
    const org = tenant.organization.id;
    const shards = await two.storageOf('a', 'reads').rows<{ shard: number }>(query, { org });
    assert.equal(shards.length, 1, 'all events of an organization are on one shard');
    return shards[0]?.shard ?? 0;
  };

  test('of an organization ask its shard alone', async () => {
    const events = Array.from({ length: 300 }, (_, n) =>
      sourceEvent({ timestamp: Date.UTC(2024, 0, 1, 0, n) * 1000, actor: `user-${n % 7}@a.example` }),
    );
    for (const tenant of byShard.values()) {
      await tenant.record(events);
      await tenant.settled(300, { endTime: '2024-12-31T00:00:00Z' });
    }
    const [ofFirst, ofSecond] = [byShard.get(1), byShard.get(2)];
    assert.ok(ofFirst && ofSecond);
    const b = two.storageOf('b', 'reads');
    /** How many queries node b is asked by node a beside one read. */
    const askedBeside = async (tenant: Tenant, target: string) => {
      const begun = await queriesOf(b);
      const answer = await call(`${server.url}/api/v1/audit${target}`, {
        headers: { 'x-api-key': tenant.key },
      });
      assert.equal(answer.status, 200, `${target} ${answer.text.slice(0, 200)}`);
      return (await queriesOf(b)) - begun;
    };
    for (const target of [
      '?actor=user-3@a.example&limit=5&offset=20',
      '?offset=250&startTime=2024-01-01T00:10:00Z',
      '/export?format=csv',
      '/feed?limit=50',
    ]) {
      // The server asks for other things now and then, so one quiet try is enough; a read that asks b never has one. Between
      // two tries the event of an export is stored, which asks b too.
      await eventually(
        `${target} to ask its own shard alone`,
        async () => ((await askedBeside(ofFirst, target)) === 0 ? true : undefined),
        120_000,
        1_700,
      );
      assert.ok((await askedBeside(ofSecond, target)) > 0, `${target} asks the shard that has its events`);
    }
  });

  test('are of one moment, however many events come meanwhile', async () => {
    for (const tenant of byShard.values()) {
      const recorded = { events: 0 };
      const ending = new AbortController();
      const writing = (async () => {
        while (!ending.signal.aborted) {
          await tenant.record(
            Array.from({ length: 20 }, () => sourceEvent({ timestamp: '2023-01-01T00:00:00Z' })),
          );
          recorded.events += 20;
        }
      })();
      const year = { startTime: '2023-01-01T00:00:00Z', endTime: '2023-12-31T00:00:00Z' };
      for (let n = 0; n < rounds(6, 100) || recorded.events < 100; n++) {
        const headers = { 'x-api-key': tenant.key };
        const query = new URLSearchParams(year).toString();
        const file = await call(`${server.url}/api/v1/audit/export?format=ndjson&${query}`, { headers });
        assert.equal(file.text.split('\n').length - 1, Number(file.headers['x-total-count']));
        const { data, meta } = await tenant.page({ ...year, limit: '1000' });
        assert.equal(data.length, Math.min(1000, meta.total));
      }
      ending.abort();
      await writing;
      await tenant.settled(recorded.events, year);
    }
  });
});

describe('a doubtful segment on a cluster', () => {
  let proxyOfA: FaultProxy;
  const open: Storage[] = [];
  const blocks = [fc.sample(row, 20)];
  const segments = new SentSegments();
  let segment = 0;
  before(async () => {
    await two.prepare('doubt', envelope);
    proxyOfA = await startFaultProxy(two.a.port);
  });
  after(async () => {
    await Promise.all(open.map((storage) => storage.close()));
    await proxyOfA.stop();
  });

  const through = (url: string, ...otherUrls: string[]): Storage => {
    const { user, password } = two.a;
    const storage = openStorage(
      { url, otherUrls, user, password, database: 'doubt', headers: {}, cluster: two.cluster },
      silentLog,
    );
    open.push(storage);
    return storage;
  };
  const insertOf = (doubtful: boolean) => segments.insertOf(blocks, doubtful);
  const counts = () =>
    two
      .storageOf('b', 'doubt')
      .rows(
        'SELECT count() AS rows, uniqExact(seq) AS distinct FROM events WHERE seq BETWEEN {first:UInt64} AND {last:UInt64}',
        segments.range,
      );

  /**
   * An attempt of another server, or of this one through another node, that takes `seconds`, once it is under way; each
   * row is a part.
   */
  const slowAttempt = async (storage: Storage, seconds: number) => {
    const queryId = `doubt-segment-${segment}`;
    const { first } = segmentSeqRange(segment);
    let hasEnded = false;
    const ended = storage.command(
      `INSERT INTO events (seq, org, time, expires) SELECT {first:UInt64} + number, generateUUIDv4(number), now64(6), '2149-06-06'
       FROM numbers(20) WHERE sleepEachRow({pause:Float64}) = 0 SETTINGS max_block_size = 1`,
      { first, pause: seconds / 20 },
      { queryId, timeoutMs: 60_000 },
    );
    const outcome = ended
      .then(
        () => 'stored' as const,
        () => 'ended' as const,
      )
      .finally(() => (hasEnded = true));
    const running = 'SELECT count() AS n FROM system.processes WHERE query_id = {queryId:String}';
    await eventually('the attempt to be under way', async () => {
      const [found] = await two.storageOf('a', 'doubt').rows<{ n: string }>(running, { queryId });
      return found?.n === '1' || hasEnded || undefined;
    });
    return { outcome };
  };

  test('waits for an attempt that is still at work on a node whose address it does not know', async () => {
    segment = segments.begin();
    const insert = createSegmentInsert(through(two.doorOfB.url), silentLog);
    const attempt = await slowAttempt(two.storageOf('a', 'doubt'), 2);
    assert.equal(await insert(insertOf(true)), 'stored');
    assert.equal(await attempt.outcome, 'stored');
    assert.deepEqual(await counts(), [{ rows: '20', distinct: '20' }]);
  });

  test('ends an attempt at a node whose address it knows', async () => {
    segment = segments.begin();
    const insert = createSegmentInsert(through(two.doorOfB.url, proxyOfA.url), silentLog);
    const attempt = await slowAttempt(two.storageOf('a', 'doubt'), 30);
    assert.equal(await insert(insertOf(true)), 'stored');
    assert.equal(await attempt.outcome, 'ended');
    assert.deepEqual(await counts(), [{ rows: '20', distinct: '20' }]);
  });

  test('is not sent again while a node is silent that may be at work on it', async (t) => {
    segment = segments.begin();
    const insert = createSegmentInsert(through(proxyOfA.url, two.doorOfB.url), silentLog);
    assert.equal(await insert(insertOf(false)), 'stored');
    proxyOfA.set('hang');
    // As in a process that has just started: in one that is older than an INSERT may be, none can be running.
    const now = performance.now.bind(performance);
    const begunMs = now();
    t.mock.method(performance, 'now', () => now() - begunMs);
    await assert.rejects(insert(insertOf(true)), /an earlier INSERT may be running/);
    t.mock.restoreAll();
    proxyOfA.set('none');
    await eventually('the node to answer', () => insert(insertOf(true)).catch(() => undefined));
    assert.deepEqual(await counts(), [{ rows: '20', distinct: '20' }]);
  });

  test('is not condemned as unreadable where a node is cut off in the middle of an answer', async () => {
    segment = segments.begin();
    const [shard] = await two
      .storageOf('a', 'doubt')
      .rows<{ port: number }>(
        'SELECT port FROM system.clusters WHERE cluster = {cluster:String} AND shard_num = 2',
        { cluster: two.cluster },
      );
    const proxy = await startFaultProxy(shard?.port ?? 0);
    const owner = two.storageOf('a', 'cut');
    await owner.command('CREATE DATABASE cut', {}, { settings: { database: 'default' } });
    const address = `127.0.0.1:${new URL(proxy.url).port}`;
    await owner.command(
      `CREATE TABLE events AS remote('${address}', 'doubt', 'events_local', '${two.a.user}', '${two.a.password}')`,
    );
    const insert = createSegmentInsert(owner, silentLog);
    try {
      // In the greeting, and in the answer to the INSERT.
      for (const cutAfterBytes of [100, 500]) {
        proxy.set({ cutAfterBytes });
        // The numbers of content that ends too early: ATTEMPT_TO_READ_AFTER_EOF, CANNOT_READ_ALL_DATA.
        await assert.rejects(insert(insertOf(true)), (error: { engineCode?: number }) =>
          [32, 33].includes(error.engineCode ?? 0),
        );
      }
      proxy.set('none');
      assert.equal(await insert(insertOf(true)), 'stored');
      assert.deepEqual(await counts(), [{ rows: '20', distinct: '20' }]);
    } finally {
      await proxy.stop();
    }
  });

  test('is completed where only one of the shards has its rows', async () => {
    segment = segments.begin();
    const insert = createSegmentInsert(through(two.a.url, two.doorOfB.url), silentLog);
    await insert(insertOf(false));
    await two
      .storageOf('b', 'doubt')
      .command('ALTER TABLE events_local DELETE WHERE 1 SETTINGS mutations_sync = 1');
    assert.notDeepEqual(await counts(), [{ rows: '20', distinct: '20' }]);
    assert.equal(await insert(insertOf(true)), 'stored');
    assert.equal(await insert(insertOf(true)), 'stored');
    assert.deepEqual(await counts(), [{ rows: '20', distinct: '20' }]);
  });
});

describe('leases on a cluster', () => {
  let nodes: readonly Storage[];
  before(async () => {
    await two.prepare('claims', envelope);
    const through = (url: string) => {
      const { user, password } = two.a;
      const { cluster } = two;
      return openStorage({ url, user, password, database: 'claims', headers: {}, cluster }, silentLog);
    };
    nodes = [through(two.a.url), through(two.doorOfB.url)];
  });
  after(() => Promise.all(nodes.map((node) => node.close())));

  test('on writer numbers differ wherever they are claimed, and are given out only where most nodes answer', async () => {
    const numberOf = async (node: Storage, instance: string, writersMax: number) =>
      (await takeWriter(node, instance, writersMax)).id;
    const claims = [0, 1, 0, 1].map((n) => numberOf(nodes[n] as Storage, randomUUID(), 63));
    const own = randomUUID();
    const number = await numberOf(nodes[0] as Storage, own, 63);
    assert.equal(new Set([number, ...(await Promise.all(claims))]).size, 5);
    await two.b.kill();
    try {
      await assert.rejects(
        numberOf(nodes[0] as Storage, randomUUID(), 63),
        /Only 1 of 2 cluster nodes answer/,
      );
      assert.equal(await numberOf(nodes[0] as Storage, own, 63), number, 'its own it keeps');
    } finally {
      await two.b.start();
    }
  });
});

test('the configuration in deploy/clickhouse-cluster is of two shards with two replicas each', async () => {
  const elementsOf = async (file: string) => {
    const text = await readFile(new URL(`deploy/clickhouse-cluster/${file}`, projectRoot), 'utf8');
    // An engine of this kind has no Keeper.
    return text.replaceAll(
      /<\/?clickhouse>|<zookeeper>.*?<\/zookeeper>|<distributed_ddl>.*?<\/distributed_ddl>/gs,
      '',
    );
  };
  const elements = (await elementsOf('remote_servers.xml')) + (await elementsOf('macros.xml'));
  const environment = { SHARD: '2', REPLICA: '1', CLICKHOUSE_PASSWORD: 'of-the-test' };
  const engine = await startPlainEngine(undefined, {
    tcpPort: await freePort(),
    password: 'of-the-test',
    elements: elements.replace(/<interserver_http_port>\d+<\/interserver_http_port>/, ''),
    environment,
  });
  const { url, user, password } = engine;
  const storage = openStorage({ url, user, password, database: 'default', headers: {} }, silentLog);
  try {
    const macros = await storage.rows('SELECT macro, substitution FROM system.macros ORDER BY macro');
    assert.deepEqual(macros, [
      { macro: 'replica', substitution: '1' },
      { macro: 'shard', substitution: '2' },
    ]);
    const nodes = await storage.rows<{ node: string }>(
      "SELECT concat('clickhouse-', toString(shard_num), '-', toString(replica_num)) AS node FROM system.clusters WHERE cluster = 'audit' AND host_name = node AND internal_replication ORDER BY node",
    );
    assert.deepEqual(
      nodes.map(({ node }) => node),
      ['clickhouse-1-1', 'clickhouse-1-2', 'clickhouse-2-1', 'clickhouse-2-2'],
    );
  } finally {
    await storage.close();
    await engine.stop();
  }
});
