import { strict as assert } from 'node:assert';
import { after, before, describe, test, type TestContext } from 'node:test';
import { type ClusterImage, startClusterImage } from '../support/cluster-image.ts';
import { patience } from '../support/patience.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';
import { walk } from './walk.ts';

/**
 * What two shards without replicas cannot show (see `two-shards.ts`): a real cluster, with two replicas a shard and
 * Keepers, while parts of it are away. Skipped, and said so, where no image is to be had.
 */
describe('a cluster of server images', { timeout: patience(900_000) }, () => {
  let cluster: ClusterImage | string;
  let server: TestServer;
  let tenants: readonly Tenant[];
  let recorded = 0;
  before(async () => {
    cluster = await startClusterImage();
    if (typeof cluster === 'string') return;
    await walk({ ...cluster.env, CLICKHOUSE_DATABASE: 'walked' });
    server = await startServer({ env: cluster.env });
    tenants = await Promise.all([...Array(6).keys()].map((n) => createTenant(server, `image-${n}`)));
  });
  after(async () => {
    if (typeof cluster === 'string') return;
    await server.stop();
    await cluster.stop();
  });

  const withImages = async (context: TestContext, work: (images: ClusterImage) => Promise<void>) => {
    if (typeof cluster !== 'string') return work(cluster);
    context.diagnostic(`NOT TESTED: ${cluster}, so no cluster of ClickHouse images was tried`);
    context.skip(cluster);
  };
  const year = { startTime: '2024-01-01T00:00:00Z', endTime: '2024-12-31T00:00:00Z' };
  const record = async () => {
    for (const tenant of tenants) await tenant.record(Array.from({ length: 50 }, () => sourceEvent()));
    recorded += 50;
  };
  const allThere = async () => {
    for (const tenant of tenants) await tenant.settled(recorded, year);
  };
  /** Records before, while and after some of it is away; everything is there once in the end. */
  const without = async (images: ClusterImage, names: readonly string[], meanwhile: () => Promise<void>) => {
    await record();
    await allThere();
    await Promise.all(names.map((name) => images.stopNode(name)));
    await record();
    await meanwhile();
    await Promise.all(names.map((name) => images.startNode(name)));
    await record();
    await allThere();
  };
  const readsGoOn = async () => {
    for (const tenant of tenants) assert.ok((await tenant.page(year)).meta.total >= recorded - 50);
  };

  test('without a replica: events are acknowledged and what was stored is read', (context) =>
    withImages(context, (images) => without(images, ['clickhouse-1-1'], readsGoOn)));

  test('without a Keeper: as ever; without most of them: acknowledged and read', (context) =>
    withImages(context, async (images) => {
      await without(images, ['keeper-1'], async () => allThere());
      await without(images, ['keeper-2', 'keeper-3'], readsGoOn);
    }));

  test('without a shard: events are acknowledged, and are there once it is back', (context) =>
    withImages(context, (images) =>
      without(images, ['clickhouse-2-1', 'clickhouse-2-2'], async () => undefined),
    ));

  test('one server after the other is started again under load', (context) =>
    withImages(context, async (images) => {
      for (const name of ['clickhouse-1-1', 'clickhouse-1-2', 'clickhouse-2-1', 'clickhouse-2-2'])
        await without(images, [name], readsGoOn);
    }));

  test('a front end starts while a server is away', (context) =>
    withImages(context, async (images) => {
      await images.stopNode('clickhouse-1-2');
      try {
        assert.equal(await (await startServer({ env: images.env })).stop(), 0);
      } finally {
        await images.startNode('clickhouse-1-2');
      }
    }));
});
