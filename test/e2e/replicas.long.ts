import { strict as assert } from 'node:assert';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { patience } from '../support/patience.ts';
import { again } from '../support/replicas/again.ts';
import { organizationOn, startFrontEnd } from '../support/replicas/front-ends.ts';
import { Ledger } from '../support/replicas/ledger.ts';
import { rebuild, restoreAll, untilFetched } from '../support/replicas/operator.ts';
import { type Replicas, startReplicas, whyNoReplicas } from '../support/replicas/replicas.ts';
import { type TestServer } from '../support/server.ts';

/**
 * Replicas under load while parts of the cluster fail. After each failure every acknowledged event is in export, pages,
 * totals and feed, once. A shape takes five minutes on two quiet cores.
 */
const skip = (await whyNoReplicas()) ?? false;
const shapes = [
  { shards: 1, replicas: 2 },
  { shards: 2, replicas: 2 },
  { shards: 1, replicas: 3 },
].map((shape) => ({ ...shape, name: `${shape.shards}x${shape.replicas}` }));
const wanted = process.env['REPLICAS_SHAPE'];

for (const shape of shapes.filter(({ name }) => wanted === undefined || name === wanted))
  describe(`${shape.name} nodes`, { skip, timeout: patience(1_200_000) }, () => {
    let replicas: Replicas;
    /** Each has another node first. */
    const servers: TestServer[] = [];
    const directories: string[] = [];
    let ledger: Ledger;
    const start = async (n: number): Promise<TestServer> => {
      const urls = replicas.nodes.map(({ door }) => door.url);
      const env = {
        ...replicas.env,
        CLICKHOUSE_URL: (n === 0 ? urls : urls.toReversed()).join(','),
        SEGMENT_BYTES: '65536',
      };
      const dataDir = directories[n] ?? assert.fail();
      const server = await startFrontEnd({ env, dataDir, intervals: { evidenceMs: 5_000 } });
      servers[n] = server;
      return server;
    };
    before(async () => {
      replicas = await startReplicas(shape.shards, shape.replicas);
      const tenants = [];
      for (const n of [0, 1]) {
        directories[n] = await temporaryDirectory();
        const server = await start(n);
        for (let shard = 1; shard <= shape.shards; shard++)
          tenants.push(await organizationOn(replicas, server, shard));
      }
      ledger = new Ledger(tenants);
    });
    after(async () => {
      await ledger?.stop();
      for (const server of servers) assert.equal(await server.stop(), 0);
      await Promise.all(directories.map((directory) => removeDirectory(directory)));
      await replicas?.stop();
    });

    test('each node is killed, the first address among them', async () => {
      for (const { shard, replica, engine } of replicas.nodes) {
        await engine.kill();
        await sleep(5_000);
        await engine.start();
        await ledger.check(`kill -9 of node ${shard}-${replica}`);
      }
    });

    test('a node fetches nothing for a while, of any table', async () => {
      const storage = replicas.at(shape.shards, shape.replicas);
      await storage.command('SYSTEM STOP FETCHES');
      await sleep(10_000);
      await again('fetches to go on', () => storage.command('SYSTEM START FETCHES'));
      await ledger.check('stopped fetches');
    });

    test('ZooKeeper is away for 12 seconds', async () => {
      const { zooKeeper } = replicas;
      await zooKeeper.kill();
      await sleep(12_000);
      await zooKeeper.start();
      await ledger.check('ZooKeeper away');
    });

    test('all nodes and servers are started again, one after the other', async () => {
      for (const node of replicas.nodes) {
        await node.engine.kill();
        await node.engine.start();
        await untilFetched(node);
      }
      for (const [n, server] of servers.entries()) {
        assert.equal(await server.stop(), 0);
        ledger.moveTo(server, await start(n));
      }
      await ledger.check('a rolling restart');
    });

    test('a node that has lost its disk is made anew, and what it alone had is stored again', async () => {
      const lost = replicas.nodeOf(1, 1);
      const others = replicas.nodes.filter((node) => node !== lost);
      for (const { storage } of others) await storage.command('SYSTEM STOP FETCHES');
      await sleep(3_000);
      await lost.engine.kill();
      await lost.engine.forget();
      for (const { storage } of others)
        await again('fetches to go on', () => storage.command('SYSTEM START FETCHES'));
      await lost.engine.start();
      await sleep(3_000);
      await rebuild(replicas, lost);
      await ledger.check('a lost disk');
    });

    test('ZooKeeper comes back empty', async () => {
      const { zooKeeper } = replicas;
      await zooKeeper.kill();
      await zooKeeper.forget();
      await zooKeeper.start();
      await restoreAll(replicas);
      await ledger.check('an empty ZooKeeper');
    });
  });
