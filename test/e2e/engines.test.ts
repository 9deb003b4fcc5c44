import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { neededGrants } from '../../src/storage/rights.ts';
import { call, eventually, problemOf } from '../support/http.ts';
import { type PlainEngine, startPlainEngine } from '../support/plain-engine.ts';
import {
  createTenant,
  removeDirectory,
  runCli,
  sourceEvent,
  startServer,
  temporaryDirectory,
  type Tenant,
  type TestServer,
} from '../support/server.ts';
import { patience } from '../support/patience.ts';
import { projectRoot } from '../support/project-root.ts';
import { startServerImage } from '../support/server-image.ts';

/**
 * One walk through writing, reading, filtering and keys, against every kind of engine there can be here: the embedded
 * one, a separate process behind CLICKHOUSE_URL, and a server image where Docker runs.
 */
async function walk(env: Readonly<Record<string, string>>): Promise<void> {
  const server = await startServer({
    env: { EVIDENCE_INTERVAL: '300ms', RETENTION_INTERVAL: '300ms', ...env },
  });
  try {
    assert.equal(
      server.enginePid() === undefined,
      'CLICKHOUSE_URL' in env,
      'the embedded engine runs only without a URL',
    );
    const [tenant, other] = await Promise.all([createTenant(server, 'walk'), createTenant(server, 'walk-2')]);
    const base = Date.UTC(2024, 0, 1) * 1000;
    const flow = randomUUID();
    const count = 1200;
    await tenant.record(
      Array.from({ length: count }, (_, n) =>
        sourceEvent({
          timestamp: base + n,
          actor: n % 3 === 0 ? 'Ana@Acme.example' : `user-${n}@acme.example`,
          sender: { file: `File ${n % 10} «é».pdf`, hash: `HASH-${n % 7}` },
          result: { code: n % 2 === 0 ? 200 : 404 },
          extra: { n, text: 'quote " tab \t 日本 🎉' },
          ...(n >= count - 5 ? { flow_id: flow } : {}),
        }),
      ),
    );
    await other.record([
      sourceEvent({ flow_id: flow, timestamp: 0 }),
      sourceEvent({ timestamp: 7_258_118_400_000_000 }),
    ]);
    const own = { endTime: '2024-12-31T00:00:00Z' };
    const page = await tenant.settled(count, own);
    await other.settled(2);
    assert.equal(page.data.length, 1000);
    assert.deepEqual(
      page.data.map((event) => event.time),
      Array.from({ length: 1000 }, (_, n) => base + count - 1 - n),
    );
    assert.equal(page.data[0]?.extra_map?.['text'], 'quote " tab \t 日本 🎉');
    const total = async (query: Record<string, string>) => (await tenant.page(query)).meta.total;
    assert.equal(await total({ flowId: flow }), 5);
    assert.equal(await total({ actor: 'ANA@ACME.EXAMPLE' }), 400);
    assert.equal(await total({ fileName: 'FILE 3 «É».PDF' }), 120);
    assert.equal(await total({ fileHash: 'hash-0' }), 172);
    const startTime = '2024-01-01T00:00:00.000100Z';
    assert.equal(await total({ startTime, endTime: '2024-01-01T00:00:00.000199999Z' }), 100);
    assert.equal(await total({ startTime, actor: 'ana@acme.example', fileName: 'file 2 «é».pdf' }), 37);
    const last = await tenant.page({ ...own, limit: '7', offset: '1195' });
    assert.deepEqual(
      last.data.map((event) => event.extra_map?.['n']),
      [4, 3, 2, 1, 0],
    );
    assert.deepEqual(
      (await other.page()).data.map((event) => event.time).filter((time) => time === 0 || time > base * 3),
      [7_258_118_400_000_000, 0],
    );
    problemOf(await tenant.with({ key: 'wrong' }).get(), 401);
    await keepsLess(server, tenant, other);
    assert.equal(await server.stop(), 0);
  } finally {
    await server.stop();
  }
}

/** A shorter retention, a hold, and a deletion, with what the engine's user may do. */
async function keepsLess(server: TestServer, tenant: Tenant, other: Tenant): Promise<void> {
  const org = (...args: string[]) => server.cliHere(['org', ...args, '--json']);
  const { slug } = tenant.organization;
  const told = await org('set', slug, '--retention', '30d', '--dry-run');
  assert.equal((JSON.parse(told.stdout) as { would_remove: number }).would_remove, 1200, told.stderr);
  assert.equal((await org('set', slug, '--retention', '30d', '--confirm', '1200')).code, 0);
  await eventually('nobody to be shown the events', async () => {
    const { meta } = await tenant.page({ endTime: '2024-12-31T00:00:00Z' });
    return meta.total === 0 ? true : undefined;
  });
  await eventually('the events to be removed', async () => {
    const metrics = (await call(`${server.url}/metrics`)).text;
    return /^auditlog_retention_removed_events_total 1200$/m.test(metrics) ? true : undefined;
  });
  const held = await org('hold', slug, '--reason', 'a case');
  assert.equal(held.code, 0, held.stderr);
  const verified = await server.cliHere(['verify', '--org', slug, '--skip-rendering']);
  assert.deepEqual(
    [verified.code, /1200 events are gone by the retention of 30 days/.test(verified.stdout)],
    [0, true],
  );
  const dry = await org('delete', other.organization.slug, '--dry-run');
  const { events } = JSON.parse(dry.stdout) as { events: number };
  const deleted = await org('delete', other.organization.slug, '--confirm', String(events));
  assert.equal(deleted.code, 0, deleted.stderr);
  await eventually('the key to be refused', async () =>
    (await other.get()).status === 401 ? true : undefined,
  );
}

/** A segment that may be stored already: the engine is killed while it takes one, and asked for it afterwards. */
async function recoverySurvives(engine: PlainEngine): Promise<void> {
  const server = await startServer({ env: engine.env });
  try {
    const tenant = await createTenant(server, 'recovered');
    await engine.kill();
    await tenant.record([sourceEvent(), sourceEvent()]);
    await eventually('an attempt to fail', async () =>
      server.stderrLines().some((line) => line.includes('waits for the engine')) ? true : undefined,
    );
    await engine.start();
    await tenant.settled(2);
    await tenant.caughtUp();
    assert.equal(await server.stop(), 0);
  } finally {
    await server.stop();
  }
}

describe('the same service on every engine', () => {
  test('the embedded engine', () => walk({}));

  test('a separate engine at CLICKHOUSE_URL, with a user, a password and a database of its own', async () => {
    const engine = await startPlainEngine();
    try {
      await walk({ ...engine.env, CLICKHOUSE_DATABASE: 'other_name' });
    } finally {
      await engine.stop();
    }
  });

  test('a separate engine, as a user with the rights that docs/operating.md names and no others', async () => {
    const guide = await readFile(new URL('docs/operating.md', projectRoot), 'utf8');
    const grants = neededGrants('audit', 'audit');
    for (const grant of grants) assert.ok(guide.includes(`${grant};`), grant);
    const engine = await startPlainEngine({ databases: ['audit'], grants });
    try {
      await walk(engine.env);
      await recoverySurvives(engine);
    } finally {
      await engine.stop();
    }
  });

  test('rights that are missing are listed at the start, as statements', async () => {
    const grants = neededGrants('audit', 'limited').filter((grant) => !grant.includes('Replacing'));
    const fewer = grants.map((grant) => grant.replace('INSERT, ', ''));
    const engine = await startPlainEngine({ databases: ['audit'], grants: fewer });
    const dataDir = await temporaryDirectory();
    try {
      const { code, stderr } = await runCli(['serve'], { dataDir, env: engine.env });
      assert.equal(code, 1, stderr);
      assert.match(
        stderr,
        /user "limited".* lacks rights: GRANT INSERT ON `audit`\.\* TO `limited`; GRANT TABLE ENGINE ON ReplacingMergeTree TO `limited`$/,
      );
    } finally {
      await engine.stop();
      await removeDirectory(dataDir);
    }
  });

  test('a server that comes up later is waited for; one that refuses the user is not', async () => {
    const engine = await startPlainEngine();
    const proxy = await startFaultProxy(Number(new URL(String(engine.env['CLICKHOUSE_URL'])).port));
    const elsewhere = await temporaryDirectory();
    try {
      proxy.set('refuse');
      const starting = startServer({ env: { ...engine.env, CLICKHOUSE_URL: proxy.url } });
      await sleep(1500);
      proxy.set('none');
      await (await starting).stop();
      const env = { ...engine.env, CLICKHOUSE_PASSWORD: 'not the password' };
      const refused = await runCli(['serve'], { dataDir: elsewhere, env });
      assert.equal(refused.code, 1, refused.stderr);
      assert.match(refused.stderr, /refuses the user/);
      assert.ok(!refused.stderr.includes('not the password'));
    } finally {
      await proxy.stop();
      await engine.stop();
      await removeDirectory(elsewhere);
    }
  });

  test('a ClickHouse server image', { timeout: patience(110_000) }, async (context) => {
    const started = await startServerImage();
    if (typeof started === 'string') {
      context.diagnostic(`NOT TESTED: ${started}, so no ClickHouse server image was tried`);
      context.skip(started);
      return;
    }
    try {
      await walk(started.env);
    } finally {
      await started.stop();
    }
  });
});
