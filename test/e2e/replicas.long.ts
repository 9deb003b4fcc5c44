import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../../src/config/config.ts';
import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';
import { patience } from '../support/patience.ts';
import { again } from '../support/replicas/again.ts';
import { Ledger } from '../support/replicas/ledger.ts';
import { type Replicas, startReplicas, whyNoReplicas } from '../support/replicas/replicas.ts';
import { createTenant, startServer, type TestServer } from '../support/server.ts';

/**
 * Replicas under load while parts of the cluster fail. After each failure every acknowledged event is in export, pages,
 * totals and feed, once. A shape takes two minutes on two quiet cores.
 */
const skip = (await whyNoReplicas()) ?? false;
const database = 'prod';
const shapes = [
  { shards: 1, replicas: 2 },
  { shards: 2, replicas: 2 },
  { shards: 1, replicas: 3 },
];

for (const shape of shapes)
  describe(`${shape.shards} × ${shape.replicas} nodes`, { skip, timeout: patience(600_000) }, () => {
    let replicas: Replicas;
    let server: TestServer;
    let ledger: Ledger;
    before(async () => {
      replicas = await startReplicas(shape.shards, shape.replicas);
      await replicas.prepare(database, { head: eventHead, tail: eventTail(loadConfig({})) });
      const env = { ...replicas.env(database), SEGMENT_BYTES: '65536' };
      server = await again('the server to start', () =>
        startServer({ env, intervals: { evidenceMs: 5_000 } }),
      );
      const tenants = [];
      for (let n = 0; n < 2 * shape.shards; n++) {
        const slug = () => `t-${randomUUID().slice(0, 8)}`;
        tenants.push(await again('an organization', () => createTenant(server, slug())));
      }
      ledger = new Ledger(tenants);
    });
    after(async () => {
      await ledger?.stop();
      assert.equal(await server?.stop(), 0);
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
      const storage = replicas.nodes.at(-1)?.storage(database) ?? assert.fail();
      await storage.command('SYSTEM STOP FETCHES');
      await sleep(10_000);
      await again('fetches to go on', () => storage.command('SYSTEM START FETCHES'));
      await storage.close();
      await ledger.check('stopped fetches');
    });

    test('ZooKeeper is away for 12 seconds', async () => {
      const { zooKeeper } = replicas;
      await zooKeeper.kill();
      await sleep(12_000);
      await zooKeeper.start();
      await ledger.check('ZooKeeper away');
    });
  });
