import { strict as assert } from 'node:assert';
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { encodeErased } from '../../src/tlog/erasure.ts';
import { alteringEvents } from '../support/chosen-engine.ts';
import { call, eventually } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import { createTenant, printed, sourceEvent, type Tenant } from '../support/server.ts';
import { healthyOn, type Verification, verifyOn } from '../support/verification.ts';
import { withEngine } from './export-support.ts';

const service = keptService({}, { evidenceMs: 200, retentionGraceMs: 1000 });
const dayMs = 86_400_000;

/** Five events of each age in days. */
async function store(tenant: Tenant, ages: readonly number[]): Promise<void> {
  const events = ages.flatMap((age) =>
    Array.from({ length: 5 }, (_, n) =>
      sourceEvent({ timestamp: (Date.now() - age * dayMs) * 1000 + n, extra: { age } }),
    ),
  );
  // A server may take two seconds to learn that older events may come; until then it refuses all of them.
  await eventually('the events to be taken', async () =>
    (await tenant.post(events)).status === 202 ? true : undefined,
  );
}

/** Number of shown events of each age. */
async function shown({ server, key }: Tenant): Promise<Record<string, number>> {
  const answer = await call(`${server.url}/api/v1/audit?limit=1000`, { headers: { 'x-api-key': key } });
  const { data, meta } = JSON.parse(answer.text) as {
    data: { unmapped?: unknown; extra_map?: { age?: number } }[];
    meta: { total: number };
  };
  assert.equal(meta.total, data.length);
  const counts: Record<string, number> = {};
  for (const event of data) {
    const age = /"age":(\d+)/.exec(JSON.stringify(event))?.[1];
    if (age !== undefined) counts[age] = (counts[age] ?? 0) + 1;
  }
  return counts;
}

const isEqual = (a: object, b: object) => JSON.stringify(a) === JSON.stringify(b);
const untilShown = (tenant: Tenant, expected: Record<string, number>) =>
  eventually(`to be shown ${JSON.stringify(expected)}`, async () =>
    isEqual(await shown(tenant), expected) ? true : undefined,
  );

/** Stored events of the test, shown or not. */
const stored = ({ organization }: Tenant) =>
  withEngine(service.server, async (storage) => {
    const [row] = await storage.rows<{ n: string }>(
      `SELECT count() AS n FROM events WHERE org = {org:UUID} AND JSONHas(source, 'message', 'extra', 'age')`,
      { org: organization.id },
    );
    return Number(row?.n);
  });
const untilStored = (tenant: Tenant, events: number) =>
  eventually(`${events} events in the table`, async () =>
    (await stored(tenant)) === events ? true : undefined,
  );

async function org(args: readonly string[]) {
  const answer = await service.server.cliHere(['org', ...args, '--json']);
  return { ...answer, value: answer.code === 0 ? (printed(answer) as Record<string, unknown>) : {} };
}

const verify = (args: readonly string[]) => verifyOn(service.server, args);
const healthy = (slug: string) => healthyOn(service.server, slug);

test('a retention applies to stored events; a hold stops all removals; verify distinguishes removals from losses', async () => {
  const tenant = await createTenant(service.server, 'keeping');
  const { slug } = tenant.organization;
  await store(tenant, [0, 10, 100]);
  await untilShown(tenant, { 0: 5, 10: 5, 100: 5 });

  // Shorter: previewed, refused, confirmed.
  const dry = await org(['set', '--org', slug, '--retention', '30d', '--dry-run']);
  assert.deepEqual([dry.value['would_remove'], dry.value['kept_days']], [5, null]);
  for (const confirm of [[], ['--confirm', '4']]) {
    const refused = await org(['set', '--org', slug, '--retention', '30d', ...confirm]);
    assert.deepEqual([refused.code, /permanently delete 5 stored events/.test(refused.stderr)], [1, true]);
  }
  const set = await org(['set', '--org', slug, '--retention', '30d', '--confirm', '5']);
  assert.deepEqual([set.code, set.value['kept_days']], [0, 30], set.stderr);
  await untilShown(tenant, { 0: 5, 10: 5 });
  await untilStored(tenant, 10);
  const { confirm, code } = await healthy(slug);
  assert.deepEqual(
    [code, confirm.map(({ kind, events }) => [kind, events])],
    [3, [['retention', 5]]],
    'nothing is wrong, and a script does not take it for good',
  );
  assert.match(
    confirm[0]?.detail ?? '',
    /^5 events were removed by the retention of 30 days, in effect from \d{4}-.*\(event at position \d+\)$/,
  );

  // A file gives the same result without the engine, and trusts only policies in its tree.
  const file = join(service.dataDir, 'evidence.ndjson');
  const key = join(service.dataDir, 'log.key');
  const answer = await call(`${tenant.server.url}/api/v1/audit/evidence/key`, {
    headers: { 'x-api-key': tenant.key },
  });
  writeFileSync(key, `${(JSON.parse(answer.text) as { keys: { key: string }[] }).keys[0]?.key}\n`);
  assert.equal((await service.server.cliHere(['export', '--org', slug, '--evidence', '-o', file])).code, 0);
  const args = ['verify', file, '--key', key, '--json'];
  const told = await service.server.cliHere(args.slice(0, -1));
  assert.equal(told.code, 3, told.stderr);
  assert.match(told.stdout, /^AS SIGNED, AND NEEDS YOUR CONFIRMATION: [^]*\n  needs confirmation: 5 events/);
  const good = JSON.parse((await service.server.cliHere(args)).stdout) as Verification;
  assert.deepEqual(
    [good.findings, good.confirm.map(({ kind, events }) => [kind, events])],
    [[], [['retention', 5]]],
  );
  // One confirmation of the decision counts for engine and files.
  const digest = good.confirm[0]?.digest ?? '';
  assert.equal(confirm[0]?.digest, digest);
  const list = join(service.dataDir, 'confirmed');
  writeFileSync(list, `${digest} ours\n`);
  for (const given of [digest, list]) {
    const known = await service.server.cliHere([...args.slice(0, -1), '--confirmed', given]);
    assert.deepEqual(
      [known.code, /^ok: [^]*\n  confirmed: 5 events/.test(known.stdout)],
      [0, true],
      known.stdout,
    );
  }
  const other = await service.server.cliHere([
    ...args,
    '--confirmed',
    digest.replace(/^./, (c) => (c === '0' ? '1' : '0')),
  ]);
  assert.equal(other.code, 3);

  writeFileSync(file, readFileSync(file, 'utf8').replace(/\\"days\\":30/, '\\"days\\":3'));
  const forged = JSON.parse((await service.server.cliHere(args)).stdout) as Verification;
  assert.match(
    forged.findings.map(({ detail }) => detail).join('\n'),
    /names a policy at position \d+ that is not in the tree/,
  );

  // Held: a shorter retention removes nothing.
  assert.equal((await org(['hold', '--org', slug])).code, 2, 'a reason is wanted');
  const held = await org(['hold', '--org', slug, '--reason', 'Doe v. Keeping']);
  assert.equal((held.value['hold'] as { reason: string }).reason, 'Doe v. Keeping', held.stderr);
  assert.equal((await org(['set', '--org', slug, '--retention', '5d'])).code, 0);
  await store(tenant, [50]);
  await untilShown(tenant, { 0: 5, 10: 5, 50: 5 });
  const [listed] = (
    printed(await service.server.cliHere(['org', 'list', '--json'])) as { slug: string; hold: unknown }[]
  ).filter((one) => one.slug === slug);
  assert.notEqual(listed?.hold, null);

  // Released, and killed during the removal.
  const release = ['release', '--org', slug, '--reason', 'settled'];
  assert.equal((await org(release)).code, 1, 'a number is wanted');
  assert.equal((await org([...release, '--dry-run'])).value['would_remove'], 10);
  const released = await org([...release, '--confirm', '10']);
  assert.equal(released.code, 0, released.stderr);
  await service.server.kill('SIGKILL');
  const server = await service.start();
  const again = { ...tenant, server };
  await untilShown(again, { 0: 5 });
  await untilStored(again, 5);
  const events = await healthy(slug);
  assert.match(events.confirm.at(-1)?.detail ?? '', /^10 events were removed by the retention of 5 days/);
  const later = await service.server.cliHere(['verify', '--org', slug, '--confirmed', list]);
  assert.deepEqual(
    [later.code, later.stdout.startsWith('AS SIGNED, AND NEEDS')],
    [3, true],
    'a later decision is another one',
  );
  const ready = JSON.parse((await call(`${server.url}/readyz`)).text) as {
    checks: { nothing_damaged: boolean };
  };
  assert.equal(ready.checks.nothing_damaged, true, 'nothing that was removed counts as missing');

  // Events deleted behind the service are missing, despite earlier removals.
  await withEngine(server, (storage) =>
    storage.command(
      alteringEvents(
        storage,
        `ALTER TABLE events DELETE WHERE org = {org:UUID} AND JSONExtractInt(source, 'message', 'extra', 'age') = 0
           AND JSONHas(source, 'message', 'extra', 'age') SETTINGS mutations_sync = 1`,
      ),
      { org: tenant.organization.id },
    ),
  );
  const found = await verify(['--org', slug]);
  assert.match(
    found.findings.map(({ detail }) => detail).join('\n'),
    /is missing, and retention has not removed it; in all 5 missing/,
  );
});

/** Forged policies, holds and erasures from a producer. */
function forgeries(ageDays: number): object[] {
  const list = encodeErased(7n, Buffer.alloc(32, 1), Buffer.alloc(32, 2));
  const digest = createHash('sha256').update(list).digest('hex');
  const said = (code: number, extra: object) =>
    sourceEvent({ action: code, timestamp: (Date.now() - ageDays * dayMs) * 1000, extra });
  return [
    said(5013, { policy: { version: '1', days: 1, held: false }, own: true }),
    said(5014, { policy: { version: '2', days: 1, held: true } }),
    said(5015, { policy: { version: '3', days: 1, held: false } }),
    said(5016, { erasure: { id: randomUUID(), pseudonym: 'erased-1', events: 1, digest } }),
  ];
}

test('forged policies and erasures of a producer hide nothing, break nothing, and expire as usual', async () => {
  const tenant = await createTenant(service.server, 'forging');
  const { slug, id } = tenant.organization;
  await store(tenant, [10, 20]);
  await tenant.record(forgeries(0));
  const recorded = 2 + 10 + 4;
  const before = await eventually('all of it to be covered', async () => {
    const found = await verify(['--org', slug]);
    return found.covered === recorded ? found : undefined;
  });
  assert.deepEqual(before.findings, []);
  assert.deepEqual([before.confirm, before.code], [[], 0]);

  // A file whose first line presents such an event as a policy.
  const file = join(service.dataDir, 'forged.ndjson');
  const key = join(service.dataDir, 'forging.key');
  const answer = await call(`${tenant.server.url}/api/v1/audit/evidence/key`, {
    headers: { 'x-api-key': tenant.key },
  });
  writeFileSync(key, `${(JSON.parse(answer.text) as { keys: { key: string }[] }).keys[0]?.key}\n`);
  assert.equal((await service.server.cliHere(['export', '--org', slug, '--evidence', '-o', file])).code, 0);
  const [head = '', ...lines] = readFileSync(file, 'utf8').split('\n');
  const line = lines.find((one) => one.includes('"days":1,"held":false')) ?? '';
  const { n, entry } = JSON.parse(line) as { n: number; entry: string };
  const seq = String(Buffer.from(entry, 'base64').readBigUInt64BE(0));
  const source = line.slice(line.indexOf('"source":') + 9, -1);
  const claimed = { ...(JSON.parse(head) as object), policies: [{ n, seq, source }] };
  writeFileSync(file, [JSON.stringify(claimed), ...lines].join('\n'));
  const forged = await service.server.cliHere(['verify', file, '--key', key]);
  assert.match(forged.stdout, /names a policy at position \d+ that is not in the tree/);

  // Events deleted behind the service are missing.
  await withEngine(service.server, (storage) =>
    storage.command(
      alteringEvents(
        storage,
        `ALTER TABLE events DELETE WHERE org = {org:UUID} AND JSONExtractInt(source, 'message', 'extra', 'age') = 20
           SETTINGS mutations_sync = 1`,
      ),
      { org: id },
    ),
  );
  const found = await verify(['--org', slug]);
  assert.match(
    found.findings.map(({ detail }) => detail).join('\n'),
    /is missing, and retention has not removed it; in all 5 missing/,
  );

  // Only the service's own events stay.
  await tenant.record(forgeries(10));
  await eventually('the forged events to count', async () => {
    const set = await org(['set', '--org', slug, '--retention', '5d', '--dry-run']);
    return set.value['would_remove'] === 9 ? true : undefined;
  });
  assert.equal((await org(['set', '--org', slug, '--retention', '5d', '--confirm', '9'])).code, 0);
  await untilStored(tenant, 0);
  await eventually('what was forged to go', async () => {
    const rest = await withEngine(service.server, (storage) =>
      storage.rows<{ code: string; own: boolean }>(
        `SELECT toString(activity_id) AS code, own FROM events WHERE org = {org:UUID} AND activity_id > 5012
           AND time < now() - INTERVAL 5 DAY`,
        { org: id },
      ),
    );
    return rest.length === 0 ? true : undefined;
  });
});
