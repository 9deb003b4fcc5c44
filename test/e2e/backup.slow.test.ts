import { strict as assert } from 'node:assert';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { acceptedOf } from '../support/http.ts';
import { KeptService } from '../support/kept-service.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createTenant, runCliHere, startServer, type TestServer } from '../support/server.ts';
import { backUp, holdFirst, ofProducer, perBatch, Producer, restoreTo } from './backup-support.ts';

// A ClickHouse server backs itself up.
const env = { CLICKHOUSE_URL: undefined };
const intervals = { evidenceMs: 200 };
const service = new KeptService(env, intervals);
let root: string;
let restored: TestServer | undefined;
before(async () => {
  root = await temporaryDirectory();
  await service.start();
});
after(async () => {
  await restored?.stop();
  await service.end();
  if (root !== undefined) await removeDirectory(root);
});

// moving.slow.test.ts tests cursors after a restore.
test('a service is backed up under load and after it was killed, and is restored elsewhere to the event', async () => {
  const place = join(root, 'backups');
  const tenant = await createTenant(service.server, 'acme');
  const producer = new Producer(tenant);
  await producer.begin(200);
  const first = await backUp(service.dataDir, place);
  await producer.until(producer.acknowledged + 200);
  await service.server.kill('SIGKILL');
  await producer.stop();
  const { acknowledged } = producer;
  // The command sends the dead server's log.
  const second = await backUp(service.dataDir, place);
  assert.equal(second.base, first.id);

  const directory = join(root, 'restored');
  const report = await restoreTo(directory, place);
  assert.deepEqual([report.id, report.events, report.notes], [second.id, second.events, []]);
  const total = ofProducer(second);
  // The batch in progress is there as a whole or not at all.
  assert.ok([acknowledged, acknowledged + perBatch].includes(total), `${total} of ${acknowledged}`);
  restored = await startServer({ dataDir: directory, env, intervals });
  const there = tenant.with({ server: restored });
  await holdFirst(there, total);

  // Repeats get the same answers, and nothing is stored twice.
  for (const number of [0, acknowledged - perBatch, acknowledged])
    assert.equal(acceptedOf(await producer.send(number, there)).accepted, perBatch);
  await holdFirst(there, acknowledged + perBatch);
  const checked = await runCliHere(['verify', '--org', 'acme'], { dataDir: directory });
  assert.equal(checked.code, 0, checked.stdout + checked.stderr);
});
