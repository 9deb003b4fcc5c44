import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { askFeed, followFeed } from '../support/feed.ts';
import { type AuditEvent, eventually, pageOf } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import { again } from '../support/replicas/again.ts';
import { organizationOn, startFrontEnd } from '../support/replicas/front-ends.ts';
import { database, type Replicas, startReplicas, whyNoReplicas } from '../support/replicas/replicas.ts';
import { keyKnown, printed, sourceEvent, type Tenant, type TestServer } from '../support/server.ts';

/** What readers see while a replica lags behind the others; two minutes on two quiet cores. */
const skip = (await whyNoReplicas()) ?? false;

const feedOf = async (tenant: Tenant, cursor?: string) =>
  again('the feed to answer', () => followFeed(tenant, cursor));

describe('two shards with two replicas each', { skip, timeout: patience(300_000) }, () => {
  let replicas: Replicas;
  before(async () => {
    replicas = await startReplicas(2, 2);
  });
  after(() => replicas?.stop());

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

describe('one shard with three replicas', { skip, timeout: patience(300_000) }, () => {
  let replicas: Replicas;
  /** At the node that lags behind; it builds the trees. */
  let atLagging: TestServer;
  let other: TestServer;
  before(async () => {
    replicas = await startReplicas(1, 3);
    const start = (urls: readonly string[], evidenceMs: number) =>
      startFrontEnd({
        env: { ...replicas.env, CLICKHOUSE_URL: urls.join(',') },
        intervals: { evidenceMs },
      });
    const urls = replicas.nodes.map(({ door }) => door.url);
    atLagging = await start(urls.toReversed(), 500);
    other = await start(urls, 86_400_000);
  });
  after(async () => {
    await Promise.all([atLagging, other].map((server) => server?.stop()));
    await replicas?.stop();
  });

  test('a server at the one that lags passes over nothing that the others have', async () => {
    const tenant = await organizationOn(replicas, atLagging);
    await keyKnown(other, tenant.key);
    const recorded: string[] = [];
    const feedAfter = async (cursor: string) => {
      const [events, at] = await feedOf(tenant, cursor);
      const flows = events.flatMap(({ flow_id: flow }) => recorded.filter((one) => one === flow));
      return [flows, at] as const;
    };
    const [, begin] = await feedAfter('');
    const fed: string[] = [];
    let cursor = begin;
    const record = async () => {
      const flow = randomUUID();
      await tenant.with({ server: other }).record([sourceEvent({ flow_id: flow })]);
      recorded.push(flow);
      await eventually('the feed to have the event', async () => {
        const [flows, at] = await feedAfter(cursor);
        fed.push(...flows);
        cursor = at;
        return fed.includes(flow) || undefined;
      });
    };
    await replicas.at(1, 3).command('SYSTEM STOP FETCHES events_local');
    await record();
    await record();
    await replicas.nodeOf(1, 2).engine.kill();
    assert.deepEqual((await feedAfter(begin))[0], recorded);
    await replicas.nodeOf(1, 1).engine.kill();
    // The one that is left does not know what it lacks.
    assert.equal((await askFeed(tenant, { cursor: begin })).status, 500);
    await Promise.all([1, 2].map((n) => replicas.nodeOf(1, n).engine.start()));
    await again('fetches to go on', () => replicas.at(1, 3).command('SYSTEM START FETCHES events_local'));
    await again('a third event', record);
    assert.deepEqual(fed, recorded);
    const { findings } = await eventually('a tree of all events', async () => {
      const answer = await atLagging.cliHere(['verify', '--org', tenant.organization.slug, '--json']);
      const report = printed(answer) as { findings: unknown[]; notes: string[] };
      return report.notes.some((note) => note.includes('in no tree yet')) ? undefined : report;
    });
    assert.deepEqual(findings, []);
  });

  test('its feed has the erased text of an event that its node has not erased yet', async () => {
    const person = 'ana@acme.example';
    const tenant = await organizationOn(replicas, atLagging);
    await tenant.record([sourceEvent({ actor: person })]);
    const withPerson = async (n: number) => {
      const [found] = await again('the node', () =>
        replicas
          .at(1, n)
          .rows<{ events: string }>(
            'SELECT count() AS events FROM events_local WHERE org = {org:UUID} AND position(source, {person:String}) > 0',
            { org: tenant.organization.id, person },
          ),
      );
      return found?.events;
    };
    const isFed = async () => JSON.stringify((await feedOf(tenant))[0]).includes(person);
    await eventually(
      'the event',
      async () => ((await withPerson(3)) === '1' && (await isFed())) || undefined,
    );
    // Mutations are merges.
    await replicas.at(1, 3).command('SYSTEM STOP MERGES events_local');
    const slug = tenant.organization.slug;
    const erasing = other.cliHere(['erase', '--org', slug, '--email', person, '--confirm', '1', '--json']);
    await eventually('the others to erase it', async () => (await withPerson(1)) === '0' || undefined);
    assert.deepEqual([await withPerson(3), await isFed()], ['1', false]);
    await again('merges to go on', () => replicas.at(1, 3).command('SYSTEM START MERGES events_local'));
    const { code, stderr } = await erasing;
    assert.equal(code, 0, stderr);
  });
});
