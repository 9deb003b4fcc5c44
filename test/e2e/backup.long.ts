import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { segmentAtTime } from '../../src/base/sequence.ts';
import { openStorage } from '../../src/storage/client.ts';
import { readLedger } from '../../src/storage/ledger-file.ts';
import { publishWatermark, withdrawWatermark } from '../../src/storage/watermarks.ts';
import { cliCommand } from '../support/cli-command.ts';
import { silentLog } from '../support/engine.ts';
import { call, eventually } from '../support/http.ts';
import { KeptService } from '../support/kept-service.ts';
import { startPlainEngine } from '../support/plain-engine.ts';
import { projectRoot } from '../support/project-root.ts';
import { rounds } from '../support/rounds.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import {
  createTenant,
  printed,
  runCliHere,
  startServer,
  type Tenant,
  type TestServer,
} from '../support/server.ts';
import {
  type Backup,
  backUp,
  copy,
  follow,
  holdFirst,
  ofProducer,
  perBatch,
  Producer,
  restoreTo,
} from './backup-support.ts';

const env = { EVIDENCE_INTERVAL: '200ms' };
let root: string;
before(async () => {
  root = await temporaryDirectory();
});
after(() => removeDirectory(root));

/** Runs `work` with the organization as a server on a directory has it. */
async function withServer(
  tenant: Tenant,
  dataDir: string,
  work: (there: Tenant, server: TestServer) => Promise<void>,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const server = await startServer({ dataDir, env: { ...env, ...more } });
  try {
    await work(tenant.with({ server }), server);
  } finally {
    await server.stop();
  }
}

for (const processes of ['1', '3'])
  test(`every backup under load, of ${processes} processes that are killed, has all that was acknowledged before`, async () => {
    const service = new KeptService({ ...env, PROCESSES: processes });
    try {
      await service.start();
      const tenant = await createTenant(service.server, 'acme');
      const producer = new Producer(tenant);
      const place = join(root, `under-load-${processes}`);
      await producer.begin(400);
      const taken: { backup: Backup; before: number; after: number }[] = [];
      for (let round = 0; round < rounds(4, 30); round += 1) {
        const { acknowledged } = producer;
        const backup = await backUp(service.dataDir, place);
        // The batch that is under way is acknowledged later.
        taken.push({ backup, before: acknowledged, after: producer.acknowledged + perBatch });
        await sleep(Math.random() * 1_000);
      }
      await service.server.kill('SIGKILL');
      await producer.stop();
      const backup = await backUp(service.dataDir, place);
      const { acknowledged } = producer;
      taken.push({ backup, before: acknowledged, after: acknowledged + perBatch });
      for (const { backup: one, before: least, after: most } of taken) {
        const directory = join(root, `${processes}-${one.id}`);
        await restoreTo(directory, place, '--backup', one.id);
        const total = ofProducer(one);
        assert.ok(total >= least && total <= most, `${total}, at least ${least}, at most ${most}`);
        await withServer(tenant, directory, (there) => holdFirst(there, total));
      }
    } finally {
      await service.end();
    }
  });

test('what servers on a ClickHouse server have is restored into a data directory, and into a database', async () => {
  const engine = await startPlainEngine();
  const service = new KeptService({ ...env, ...engine.env });
  try {
    await service.start();
    const tenant = await createTenant(service.server, 'acme');
    const producer = new Producer(tenant);
    await producer.begin(400);
    const place = join(root, 'of-server');
    const before = producer.acknowledged;
    await backUp(service.dataDir, place, engine.env);
    await producer.until(before + 400);
    const atSecond = producer.acknowledged;
    const backup = await backUp(service.dataDir, place, engine.env);
    await producer.stop();
    assert.ok(ofProducer(backup) >= atSecond && ofProducer(backup) <= producer.acknowledged);
    await restoreTo(join(root, 'own'), place);
    await withServer(tenant, join(root, 'own'), (there) => holdFirst(there, ofProducer(backup)));
    const other = { ...engine.env, CLICKHOUSE_DATABASE: 'restored' };
    const line = ['restore', '--from', place, '--json'];
    printed(await runCliHere(line, { dataDir: join(root, 'shared'), env: other }));
    const held = (there: Tenant) => holdFirst(there, ofProducer(backup));
    await withServer(tenant, join(root, 'shared'), held, other);
    const again = await runCliHere(line, { dataDir: join(root, 'shared-2'), env: other });
    assert.match(again.stderr, /the database "restored" is not empty/);
  } finally {
    await service.end();
    await engine.stop();
  }
});

test('a server that died with events in its log is told, and what came since is in the next backup', async () => {
  const engine = await startPlainEngine();
  const service = new KeptService({ ...env, ...engine.env });
  const { url, user, password } = engine;
  const storage = openStorage({ url, user, password, database: 'audit', headers: {} }, silentLog);
  try {
    await service.start();
    const tenant = await createTenant(service.server, 'acme');
    const producer = new Producer(tenant);
    await producer.begin(200);
    const dead = randomUUID();
    await publishWatermark(storage, dead, segmentAtTime(Date.now()));
    await producer.until(producer.acknowledged + 200);
    const place = join(root, 'of-dead');
    const first = await backUp(service.dataDir, place, engine.env);
    assert.match(
      first.notes.join(),
      /a server has events in its log .*what was recorded since .* is not in it/,
    );
    assert.ok(ofProducer(first) < producer.acknowledged);
    await withdrawWatermark(storage, dead);
    const before = producer.acknowledged;
    const second = await backUp(service.dataDir, place, engine.env);
    await producer.stop();
    assert.deepEqual([second.base, second.notes], [first.id, []]);
    assert.ok(ofProducer(second) >= before);
    await restoreTo(join(root, 'of-dead-restored'), place);
    const directory = join(root, 'of-dead-restored');
    await withServer(tenant, directory, (there) => holdFirst(there, ofProducer(second)));
  } finally {
    await storage.close();
    await service.end();
    await engine.stop();
  }
});

test('a restore that is killed again and again ends with everything, and nobody uses the directory before', async () => {
  const service = new KeptService(env);
  try {
    await service.start();
    const tenant = await createTenant(service.server, 'acme');
    const producer = new Producer(tenant);
    await producer.begin(4_000);
    await producer.stop();
    const place = join(root, 'killed');
    const backup = await backUp(service.dataDir, place);
    const directory = join(root, 'killed-restore');
    const wholeMs = await killedRestore(place, directory, Number.POSITIVE_INFINITY);
    await removeDirectory(directory);
    for (let round = 0; round < rounds(5, 40); round += 1) {
      await killedRestore(place, directory, Math.random() * wholeMs);
      if (existsSync(join(directory, 'restoring'))) {
        const { code, stderr } = await runCliHere(['org', 'list'], { dataDir: directory });
        assert.deepEqual([code, /not restored into it to the end/.test(stderr)], [2, true], stderr);
      } else await removeDirectory(directory);
    }
    if (!existsSync(directory) || existsSync(join(directory, 'restoring'))) await restoreTo(directory, place);
    await withServer(tenant, directory, (there) => holdFirst(there, ofProducer(backup)));
  } finally {
    await service.end();
  }
});

/**
 * Starts a restore, and kills it so long after it has begun; one that was quicker has ended well. Returns how long it was
 * at work, in milliseconds.
 */
async function killedRestore(place: string, dataDir: string, afterMs: number): Promise<number> {
  const environment = { PATH: process.env['PATH'], HOME: process.env['HOME'], DATA_DIR: dataDir };
  const child = spawn(process.execPath, [...cliCommand, 'restore', '--from', place], {
    cwd: projectRoot,
    env: environment,
    stdio: 'ignore',
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  await eventually('the restore to begin', async () =>
    child.exitCode !== null || existsSync(join(dataDir, 'restoring')) ? true : undefined,
  );
  const begunMs = performance.now();
  const killing = Number.isFinite(afterMs) ? setTimeout(() => child.kill('SIGKILL'), afterMs) : undefined;
  const code = await ended;
  clearTimeout(killing);
  assert.ok([0, null].includes(code));
  return performance.now() - begunMs;
}

describe('a copy of a data directory', () => {
  let service: KeptService;
  let tenant: Tenant;
  let producer: Producer;
  before(async () => {
    service = new KeptService(env);
    await service.start();
    tenant = await createTenant(service.server, 'acme');
    producer = new Producer(tenant);
    await producer.begin(400);
  });
  after(async () => {
    await producer?.stop();
    await service?.end();
  });

  test('that was made while a server works there can lack events, which the copy tells once they were counted', async () => {
    const hot = join(root, 'hot');
    // What a copy does in the order of names, only slower: first what is stored, much later the log.
    await copy(join(service.dataDir, 'engine'), join(root, 'engine-of-hot'));
    const { acknowledged } = producer;
    await producer.until(acknowledged + 200);
    const settled = (await readLedger(service.dataDir, () => undefined))?.through ?? 0n;
    await eventually('the ledger to count more', async () =>
      ((await readLedger(service.dataDir, () => undefined))?.through ?? 0n) > settled ? true : undefined,
    );
    await copy(service.dataDir, hot);
    await removeDirectory(join(hot, 'engine'));
    await copy(join(root, 'engine-of-hot'), join(hot, 'engine'));
    assert.ok((await readdir(hot)).includes('wal'));
    await withServer(tenant, hot, async (there, server) => {
      await eventually('the copy to say what it lacks', async () => {
        const { text } = await call(`${server.url}/readyz`);
        return /"nothing_damaged":false/.test(text) ? true : undefined;
      });
      assert.ok((await follow(there)).numbers.length < producer.acknowledged);
    });
  });

  test('that was made of a server that has stopped, or was killed, has everything', async () => {
    await service.server.kill('SIGKILL');
    await producer.stop();
    const cold = join(root, 'cold');
    await copy(service.dataDir, cold);
    const { acknowledged } = producer;
    await withServer(tenant, cold, async (there) => {
      await eventually('all that was acknowledged', async () =>
        (await follow(there)).numbers.length >= acknowledged ? true : undefined,
      );
      const { length } = (await follow(there)).numbers;
      assert.ok([acknowledged, acknowledged + perBatch].includes(length));
      await holdFirst(there, length);
    });
  });
});
