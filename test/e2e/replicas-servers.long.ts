import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { limits } from '../../src/storage/limits.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { patience } from '../support/patience.ts';
import { organizationOn, startFrontEnd } from '../support/replicas/front-ends.ts';
import { Ledger } from '../support/replicas/ledger.ts';
import { rebuild } from '../support/replicas/operator.ts';
import { database, type Replicas, startReplicas, whyNoReplicas } from '../support/replicas/replicas.ts';
import { runCli, runCliHere, type TestServer } from '../support/server.ts';

/** Two front ends on replicas, of which one is copied and one never comes back, then a new cluster; six minutes. */
const skip = (await whyNoReplicas()) ?? false;
const shape = process.env['REPLICAS_SHAPE'] ?? '2x2';
const [shards = 0, copies = 0] = shape.split('x').map(Number);
/** Nothing of a server that is gone is under way any more, and the others close its row. */
const goneMsMax = 200_000 + limits.insertMsMax;

const evidence = [
  'evidence_progress',
  'evidence_stopped',
  'evidence_checkpoints',
  'evidence_tiles',
  'erased_events',
  'erasure_rows',
];
const ofProcesses = ['leases', 'watermarks', 'planned_removals', 'running_time'];

describe(`two front ends on ${shape} nodes`, { skip, timeout: patience(1_200_000) }, () => {
  let replicas: Replicas;
  let directory: string;
  const servers: TestServer[] = [];
  let ledger: Ledger;
  const secrets = { SESSION_SECRET: randomBytes(32).toString('hex') };
  const start = (name: string, of = replicas): Promise<TestServer> =>
    startFrontEnd({
      env: { ...of.env, ...secrets, SEGMENT_BYTES: '65536' },
      dataDir: join(directory, name),
      intervals: { evidenceMs: 5_000 },
    });
  before(async () => {
    directory = await temporaryDirectory();
    replicas = await startReplicas(shards, copies);
    const tenants = [];
    for (const name of ['first', 'second']) {
      const server = await start(name);
      servers.push(server);
      for (let shard = 1; shard <= shards; shard++)
        tenants.push(await organizationOn(replicas, server, shard));
    }
    ledger = new Ledger(tenants);
  });
  after(async () => {
    await ledger?.stop();
    await Promise.all(servers.map((server) => server.stop()));
    await replicas?.stop();
    await removeDirectory(directory);
  });
  const serverOf = (n: number): TestServer => servers[n] ?? assert.fail(`there is no server ${n}`);

  test('a server on a copy of a data directory is refused', async () => {
    const copy = join(directory, 'copy');
    const isOwn = (path: string) => !/lock\.|\.sock$/.test(path);
    await cp(serverOf(1).dataDir, copy, { recursive: true, filter: isOwn });
    const env = { ...replicas.env, ...secrets, PORT: '0' };
    const { code, stderr } = await runCli(['serve'], { dataDir: copy, env, timeoutMs: 120_000 });
    assert.equal(code, 1);
    assert.match(stderr, /is a copy of the one of a running server/);
    await ledger.check('a copy');
  });

  test('a server is killed for good', async () => {
    await ledger.check('the beginning');
    ledger.moveTo(serverOf(0), serverOf(1));
    await serverOf(0).kill('SIGKILL');
    await ledger.check('a server that is gone', goneMsMax + 120_000);
  });

  test('a new cluster has what statements of the engine have copied', async () => {
    await ledger.settle('what the backup has');
    assert.equal(await serverOf(1).stop(), 0);
    const moment = new Date().toISOString();
    const to = (name: string) => `File('${join(directory, 'backup', name)}')`;
    const engine = replicas.at(1, 1);
    const tables = evidence.map((name) => `${database}.${name}`);
    await engine.command(`BACKUP ${tables.map((name) => `TABLE ${name}`).join(', ')} TO ${to('evidence')}`);
    await engine.command(`BACKUP DATABASE ${database} EXCEPT TABLES ${tables.join(', ')} TO ${to('events')}`);
    const otherShards = Array.from({ length: shards - 1 }, (_, n) => n + 2);
    for (const shard of otherShards)
      await replicas.at(shard, 1).command(`BACKUP TABLE ${database}.events_local TO ${to(`shard-${shard}`)}`);
    await replicas.stop();
    replicas = await startReplicas(shards, copies);
    const there = replicas.at(1, 1);
    const outside = { settings: { database: 'default' } };
    for (const { storage } of replicas.nodes)
      await storage.command(`DROP DATABASE ${database} SYNC`, {}, outside);
    await there.command(`RESTORE DATABASE ${database} FROM ${to('events')}`, {}, outside);
    await there.command(`RESTORE ${tables.map((name) => `TABLE ${name}`).join(', ')} FROM ${to('evidence')}`);
    for (const name of ofProcesses) await there.command(`TRUNCATE TABLE ${name}`);
    const first = replicas.nodeOf(1, 1);
    for (const node of replicas.nodes) if (node !== first) await rebuild(replicas, node, first);
    for (const shard of otherShards)
      await replicas
        .at(shard, 1)
        .command(`RESTORE TABLE ${database}.events_local FROM ${to(`shard-${shard}`)}`);
    const env = { ...replicas.env, ...secrets };
    const told = await runCliHere(['restore', '--record', moment], {
      dataDir: join(directory, 'third'),
      env,
    });
    assert.equal(told.code, 0, told.stderr);
    const server = await start('third');
    servers.push(server);
    ledger.moveTo(serverOf(1), server);
    await ledger.check('a restore');
  });
});
