import { strict as assert } from 'node:assert';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { neededGrants } from '../../src/storage/rights.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { call, eventually, pageOf } from '../support/http.ts';
import { KeptService } from '../support/kept-service.ts';
import { projectRoot } from '../support/project-root.ts';
import { type PlainEngine, startPlainEngine } from '../support/plain-engine.ts';
import {
  createTenant,
  printed,
  runCliHere,
  startServer,
  type Tenant,
  type TestServer,
} from '../support/server.ts';
import { backUp, follow, Producer } from './backup-support.ts';

/**
 * From the embedded engine to a ClickHouse server whose user has the rights of docs/configure.md, by
 * docs/back-up.md.
 */
const intervals = { evidenceMs: 200 };
const service = new KeptService({ CLICKHOUSE_URL: undefined }, intervals);
let root: string;
let engine: PlainEngine;
let moved: TestServer | undefined;
before(async () => {
  root = await temporaryDirectory();
  const grants = neededGrants('audit', 'audit');
  [engine] = await Promise.all([startPlainEngine({ databases: ['audit'], grants }), service.start()]);
});
after(async () => {
  await moved?.stop();
  await service.end();
  await engine?.stop();
  if (root !== undefined) await removeDirectory(root);
});

interface Restored {
  readonly notes: readonly string[];
}

/** The producer's events as readers see them on all pages, without the time of reading. */
async function seen({ server, key }: Tenant): Promise<{ total: number; texts: string[] }> {
  const texts: string[] = [];
  for (;;) {
    const query = new URLSearchParams({
      limit: '150',
      offset: String(texts.length),
      endTime: '2024-12-31T00:00:00Z',
    });
    const answer = await call(`${server.url}/api/v1/audit?${query.toString()}`, {
      headers: { 'x-api-key': key },
    });
    const { data, meta } = pageOf(answer);
    texts.push(...data.map((event) => JSON.stringify(event).replace(/"logged_time":\d+/, '')));
    if (texts.length >= meta.total || data.length === 0) return { total: meta.total, texts };
  }
}

async function checkpointOf({ server, key }: Tenant, size: number): Promise<string> {
  return eventually('a checkpoint of all events', async () => {
    const headers = { 'x-api-key': key };
    const { text } = await call(`${server.url}/api/v1/audit/evidence/checkpoint`, { headers });
    return Number(text.split('\n')[1]) >= size ? text : undefined;
  });
}

test('a service is moved to a ClickHouse server, with order, cursors, evidence and counts', async () => {
  const place = join(root, 'move');
  const tenant = await createTenant(service.server, 'acme');
  const producer = new Producer(tenant);
  await producer.begin(200);
  await backUp(service.dataDir, place);
  const { cursor, numbers: first } = await follow(tenant);
  await producer.until(producer.acknowledged + 200);
  await producer.stop();
  await eventually('all events', async () =>
    (await seen(tenant)).total === producer.acknowledged ? true : undefined,
  );
  const [before, order] = [await seen(tenant), await follow(tenant)];
  const checkpoint = join(root, 'checkpoint');
  await writeFile(checkpoint, await checkpointOf(tenant, order.events.length));
  assert.equal(await service.server.stop(), 0);
  await backUp(service.dataDir, place);

  const target = { dataDir: join(root, 'moved'), env: engine.env, intervals };
  // A restore needs a user with all rights.
  const owner = { ...target, env: { ...target.env, CLICKHOUSE_USER: engine.owner } };
  const restored = printed(await runCliHere(['restore', '--from', place, '--json'], owner)) as Restored;
  assert.deepEqual(restored.notes, []);
  moved = await startServer(target);
  const there = tenant.with({ server: moved });

  assert.deepEqual(await seen(there), before);
  const later = await follow(there, cursor);
  assert.deepEqual([...first, ...later.numbers], order.numbers);
  // Repeats get the same answers and store nothing twice; new events follow.
  await producer.send(0, there);
  assert.deepEqual(await seen(there), before);
  const verified = await runCliHere(
    ['verify', '--org', 'acme', '--checkpoint', checkpoint, '--json'],
    target,
  );
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  assert.ok((printed(verified) as { covered: number }).covered >= order.events.length);
});

/** The statements of docs/back-up.md, with directories instead of a bucket. */
async function runStatements(block: string): Promise<void> {
  for (const statement of block.split(';').filter((text) => text.trim() !== '')) {
    const text = statement.replace(/S3\('https:[^']*\/(\w+)', 'key', 'secret'\)/, (_, name: string) => {
      return `File('${join(root, 'of-server', name)}')`;
    });
    const answer = await call(`${engine.url}/`, {
      method: 'POST',
      body: text,
      headers: { 'x-clickhouse-user': engine.owner, 'x-clickhouse-key': engine.password },
    });
    assert.equal(answer.status, 200, answer.text);
  }
}

test('a ClickHouse server restores its own backup by the statements of the documents', async () => {
  const tenant = await createTenant(moved ?? assert.fail(), 'globex');
  const producer = new Producer(tenant);
  await producer.begin(80);
  await producer.stop();
  await eventually('all events', async () =>
    (await seen(tenant)).total === producer.acknowledged ? true : undefined,
  );
  const [before, { cursor }] = [await seen(tenant), await follow(tenant)];
  assert.equal(await moved?.stop(), 0);
  const page = await readFile(new URL('docs/back-up.md', projectRoot), 'utf8');
  const [backup = '', restore = ''] = [...page.matchAll(/```sql\n([^`]+)```/g)].map(([, block]) => block);
  const moment = new Date().toISOString();
  await runStatements(backup);
  await runStatements('DROP DATABASE audit SYNC');
  await runStatements(restore);
  const target = { dataDir: join(root, 'moved'), env: engine.env, intervals };
  const recorded = await runCliHere(['restore', '--record', moment], target);
  assert.equal(recorded.code, 0, recorded.stderr);
  moved = await startServer(target);
  const there = tenant.with({ server: moved });
  assert.deepEqual(await seen(there), before);
  await eventually('the event of the restore', async () => {
    const { events } = await follow(there, cursor);
    return events.some(({ activity_id: code }) => code === 2113) ? true : undefined;
  });
  const verified = await runCliHere(['verify', '--org', 'globex'], target);
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
});
