import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { call, eventually, problemOf } from '../support/http.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';

/**
 * Writes, reads, filters and keys on every available kind of engine: embedded, a separate process behind
 * CLICKHOUSE_URL, two shards, and server images with Docker.
 */
export async function walk(env: Readonly<Record<string, string>>): Promise<void> {
  const server = await startServer({
    env,
    intervals: { evidenceMs: 300, retentionGraceMs: 1000 },
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

/** An erasure, a shorter retention, a hold and a deletion, with the rights of the engine's user. */
async function keepsLess(server: TestServer, tenant: Tenant, other: Tenant): Promise<void> {
  const org = (...args: string[]) => server.cliHere(['org', ...args, '--json']);
  const { slug } = tenant.organization;
  const erase = (...args: string[]) =>
    server.cliHere(['erase', '--org', slug, '--email', 'ana@acme.example', ...args, '--json']);
  const counted = JSON.parse((await erase()).stdout) as { events: number; pseudonym: string };
  assert.equal(counted.events, 400);
  const erased = await erase('--confirm', '400');
  assert.match(erased.stdout, /"state": ?"finished"/, erased.stderr);
  const { meta } = await tenant.page({ actor: `${counted.pseudonym}@erased.invalid` });
  assert.equal(meta.total, 400);
  const told = await org('set', '--org', slug, '--retention', '30d', '--dry-run');
  assert.equal((JSON.parse(told.stdout) as { would_remove: number }).would_remove, 1200, told.stderr);
  assert.equal((await org('set', '--org', slug, '--retention', '30d', '--confirm', '1200')).code, 0);
  await eventually('nobody to be shown the events', async () => {
    const { meta } = await tenant.page({ endTime: '2024-12-31T00:00:00Z' });
    return meta.total === 0 ? true : undefined;
  });
  await eventually('the events to be removed', async () => {
    const metrics = (await call(`${server.url}/metrics`)).text;
    return /^auditlog_retention_removed_events_total 1200$/m.test(metrics) ? true : undefined;
  });
  const held = await org('hold', '--org', slug, '--reason', 'a case');
  assert.equal(held.code, 0, held.stderr);
  const verified = await server.cliHere(['verify', '--org', slug]);
  assert.deepEqual(
    [verified.code, /1200 events were removed by the retention of 30 days/.test(verified.stdout)],
    [3, true],
  );
  const dry = await org('delete', '--org', other.organization.slug, '--dry-run');
  const { events } = JSON.parse(dry.stdout) as { events: number };
  const deleted = await org('delete', '--org', other.organization.slug, '--confirm', String(events));
  assert.equal(deleted.code, 0, deleted.stderr);
  await eventually('the key to be refused', async () =>
    (await other.get()).status === 401 ? true : undefined,
  );
}
