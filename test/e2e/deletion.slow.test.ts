import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { beginDeletion, previewDeletion } from '../../src/control/deletion.ts';
import { EventRemoval } from '../../src/storage/removal.ts';
import { openDirectory, operatorCall } from '../support/control.ts';
import { call, eventually } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import { createTenant, printed, sourceEvent, type Tenant } from '../support/server.ts';
import { withEngine } from './export-support.ts';

const service = keptService({}, { evidenceMs: 200, retentionGraceMs: 1000 });

interface Deleted {
  readonly id: string;
  readonly events: number;
  readonly users: number;
  readonly api_keys: number;
  readonly checkpoint: string | null;
  readonly finished_at: string | null;
}

async function org(args: readonly string[]) {
  const answer = await service.server.cliHere(['org', ...args, '--json']);
  return { ...answer, value: answer.code === 0 ? (printed(answer) as Deleted) : undefined };
}

/** An organization with ten events, and the number of its stored events, covered by a checkpoint. */
async function filled(slug: string): Promise<{ tenant: Tenant; events: number }> {
  const tenant = await createTenant(service.server, slug);
  const provider = ['--issuer', 'https://idp.example', '--client-id', 'audit'];
  const signOn = await service.server.cliHere(['sign-on', 'set', '--org', slug, ...provider]);
  assert.equal(signOn.code, 0, signOn.stderr);
  assert.equal((await tenant.post(Array.from({ length: 10 }, () => sourceEvent()))).status, 202);
  const events = await eventually('a checkpoint of all', async () => {
    const { meta } = await tenant.page();
    const headers = { 'x-api-key': tenant.key };
    const { text } = await call(`${tenant.server.url}/api/v1/audit/evidence/checkpoint`, { headers });
    return meta.total > 10 && Number(text.split('\n')[1]) === meta.total ? meta.total : undefined;
  });
  return { tenant, events };
}

/** Rows of an organization by table; only its deletion in the journal may be left. On a cluster all nodes are read. */
const left = (id: string) =>
  withEngine(service.server, async (storage) => {
    const found = await storage.rows<{ table: string; column: string }>(
      `SELECT table, name AS column FROM system.columns
         WHERE database = {database:String} AND type = 'UUID' AND name IN ('org', 'id')
         AND table IN (SELECT name FROM system.tables WHERE database = {database:String} AND engine LIKE '%MergeTree')
         AND table NOT IN ('journal', 'removals')`,
      { database: storage.database },
    );
    assert.ok(found.length >= 6, JSON.stringify(found));
    const counts = found.map(
      ({ table, column }) =>
        `(SELECT count() FROM ${table.replace(/_local$/, '')} WHERE ${column} = {id:UUID}) AS ${table}_${column}`,
    );
    const texts = `(SELECT count() FROM journal WHERE org = {id:UUID}
      AND (events NOT IN ('', '[]') OR parts != '' AND NOT startsWith(parts, '[["deletion"'))) AS journal`;
    const [row] = await storage.rows<Record<string, string>>(`SELECT ${[...counts, texts].join(', ')}`, {
      id,
    });
    return Object.entries(row ?? {}).filter(([, n]) => n !== '0');
  });
const untilGone = (id: string) =>
  eventually('nothing of it is left', async () => ((await left(id)).length === 0 ? true : undefined));

test('a deletion removes everything of an organization unless it is held; a record stays', async () => {
  const { tenant, events } = await filled('leaving');
  const { id } = tenant.organization;
  assert.equal((await org(['delete', '--org', 'leaving'])).code, 2);
  const dry = await org(['delete', '--org', 'leaving', '--dry-run']);
  assert.deepEqual([dry.value?.events, dry.value?.api_keys, dry.value?.finished_at], [events, 1, null]);
  assert.equal((await org(['delete', '--org', 'leaving', '--confirm', String(events + 1)])).code, 1);

  assert.equal((await org(['hold', '--org', 'leaving', '--reason', 'a case'])).code, 0);
  const held = await org(['delete', '--org', 'leaving', '--confirm', String(events)]);
  assert.deepEqual([held.code, /the organization is held/.test(held.stderr)], [1, true]);
  assert.equal((await org(['release', '--org', 'leaving', '--reason', 'over'])).code, 0);

  const now = (await org(['delete', '--org', 'leaving', '--dry-run'])).value?.events ?? 0;
  const cursor = async () =>
    call(`${tenant.server.url}/api/v1/audit/feed?wait=1`, { headers: { 'x-api-key': tenant.key } });
  assert.equal((await cursor()).status, 200);
  const done = await org(['delete', '--org', 'leaving', '--confirm', String(now)]);
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.value?.checkpoint ?? '', new RegExp(`^service/${id}\n`));
  await eventually('the key to be refused', async () => ((await cursor()).status === 401 ? true : undefined));
  assert.equal((await tenant.post([sourceEvent()])).status, 401);
  await untilGone(id);

  const listed = printed(await service.server.cliHere(['org', 'deletions', '--json'])) as Deleted[];
  assert.deepEqual(
    listed.map((one) => [one.id, one.events, one.finished_at !== null]),
    [[id, now, true]],
  );
  const ready = JSON.parse((await call(`${service.server.url}/readyz`)).text) as {
    checks: { nothing_damaged: boolean };
  };
  assert.equal(ready.checks.nothing_damaged, true);
  // The slug is free again. The simulator checks other organizations.
  assert.equal(
    (await service.server.cliHere(['org', 'create', '--org', 'leaving', '--name', 'New'])).code,
    0,
  );
});

test('the next server continues a killed deletion, and finds late events', async () => {
  const { tenant } = await filled('killed');
  const { id } = tenant.organization;
  await withEngine(service.server, async (storage) => {
    const directory = await openDirectory(storage);
    const preview = await previewDeletion({ storage, directory }, 'killed', 'op');
    await directory.change(operatorCall, beginDeletion(preview, preview.events));
  });
  await service.server.kill('SIGKILL');
  await service.start();
  await untilGone(id);
  await withEngine(service.server, async (storage) => {
    const row = {
      org: id,
      time: '2025-01-01 00:00:00',
      seq: String(2n ** 60n),
      expires: '2149-06-06',
      source: '{}',
    };
    await storage.insertRows('events', [row]);
  });
  await untilGone(id);
  // Of a command that had found the organization before its deletion.
  await withEngine(service.server, async (storage) => {
    await storage.insertRows('erasure_rows', [{ org: id, erasure: randomUUID(), seq: '1', source: '{}' }]);
  });
  await untilGone(id);
  await eventually('no removal is begun and not ended', () =>
    withEngine(service.server, async (storage) => {
      const plans = await new EventRemoval(storage).unfinished();
      return plans.length === 0 ? true : undefined;
    }),
  );
});
