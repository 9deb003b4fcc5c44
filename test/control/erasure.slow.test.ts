import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { eventsOf, Planner, scopeOf } from '../../src/erasure/events-of.ts';
import { ErasureReconciler } from '../../src/control/erasure-reconciler.ts';
import {
  beginErasure,
  forgetLeftPlans,
  forgetPlan,
  listErasures,
  overtakenEvents,
  planEvents,
  type StoredErasure,
} from '../../src/control/erasure.ts';
import { createOrganization, type Organization } from '../../src/control/organizations.ts';
import { createUser, listUsers } from '../../src/control/users.ts';
import { placeHold, releaseHold } from '../../src/control/retention.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { createRecorder } from '../read/support.ts';
import { silentLog } from '../support/engine.ts';
import { type SharedEngine, sharedEngine } from '../support/shared.ts';

const email = 'ana@acme.example';
const pseudonym = 'erased-1';
/** What a statement could stumble over. */
const strange = { text: "it's \\ \" \n \u0001 é 日本 🎉 {x:String} '); --", long: 'x'.repeat(300_000) };
const nobody = '00000000-0000-0000-0000-000000000000';
let engine: SharedEngine;
const reconcilers: ErasureReconciler[] = [];
before(async () => {
  engine = await sharedEngine();
});
after(() => Promise.all(reconcilers.map((reconciler) => reconciler.stop())));

type Recorder = ReturnType<typeof createRecorder>;

/** An organization with events of one person and of another, and an erasure of the one that has begun. */
async function begun(slug: string, events: number) {
  const { storage } = engine;
  const organization = await createOrganization(storage, { slug, name: slug });
  const record = createRecorder(storage);
  const one = (n: number, actor: string) => ({
    time: Date.now() * 1000,
    message: { action: 1001, actor, extra: { n, ...strange } },
  });
  await record(
    organization.id,
    Array.from({ length: events }, (_, n) => one(n, n % 2 === 0 ? email : 'bo@acme.example')),
  );
  const erasure = await planned(storage, organization);
  await beginErasure(storage, erasure);
  return { organization, record, erasure };
}

const ana = { email, pseudonym };
const bo = { email: 'bo@acme.example', pseudonym: 'erased-2' };

async function planned(
  storage: Storage,
  { id: organizationId }: Organization,
  who = ana,
): Promise<StoredErasure> {
  const id = randomUUID();
  const person = { emails: [who.email], names: [], ids: [], ips: [], pseudonym: who.pseudonym };
  const scope = await scopeOf(storage, organizationId);
  const planner = new Planner(organizationId, 'Test');
  const rows = [];
  for await (const found of eventsOf(storage, scope, person)) rows.push(planner.plan(found));
  await planEvents(storage, { id, organizationId }, rows);
  const counts = { events: rows.length, digest: 'd', account: nobody };
  return {
    id,
    organizationId,
    pseudonym: who.pseudonym,
    operator: 'op',
    ...counts,
    startedMicros: 1,
    finishedMicros: undefined,
    version: 1,
  };
}

function reconcilerOf(
  record: Recorder,
  options: { readonly watermark?: () => bigint; readonly instance?: string } = {},
) {
  const recorded: object[] = [];
  const reconciler = new ErasureReconciler({
    storage: engine.storage,
    clock: () => Date.now() * 1000,
    log: silentLog,
    intervalMs: 3_600_000,
    instance: options.instance,
    watermarks: async () => options.watermark ?? (() => 2n ** 62n),
    record: async (id, event) => {
      recorded.push(event);
      await record(id, [event], { own: true });
    },
  });
  reconcilers.push(reconciler);
  return { reconciler, recorded };
}

/** How many events have the person, and how many the pseudonym: in what is found by, shown and stored. */
async function counts({ id }: Organization): Promise<number[]> {
  const has = (text: string) =>
    `countIf(actor_email LIKE '${text}@%' AND position(ocsf, '"${text}@') > 0 AND position(source, '"${text}@') > 0)`;
  const [row] = await engine.storage.rows<{ person: string; erased: string }>(
    `SELECT ${has('ana')} AS person, ${has(pseudonym)} AS erased FROM events WHERE org = {id:UUID}`,
    { id },
  );
  return [Number(row?.person), Number(row?.erased)];
}

const isFinished = async ({ id, organizationId }: StoredErasure) =>
  (await listErasures(engine.storage, organizationId)).some(
    (one) => one.id === id && one.finishedMicros !== undefined,
  );

test('events whose plan was lost with a damaged part are told to be left as they are', async () => {
  const { storage } = engine;
  for (const [slug, table, left] of [
    ['erase-no-texts', 'erasure_rows', [3, 3]],
    ['erase-no-list', 'erased_events', [3, 3]],
  ] as const) {
    const { organization, record, erasure } = await begun(slug, 6);
    await storage.removeRows(table, { column: 'erasure', id: erasure.id });
    const { reconciler } = reconcilerOf(record);
    await reconciler.reconcile();
    await reconciler.reconcile();
    const [person] = await counts(organization);
    assert.deepEqual([person, await overtakenEvents(storage, erasure)], left, table);
  }
});

test('nothing changes before the event that says so is in the tree; that is recorded where a crash came before it', async () => {
  const { organization, record, erasure } = await begun('erase-order', 6);
  let watermark = 0n;
  const { reconciler, recorded } = reconcilerOf(record, { watermark: () => watermark });
  await reconciler.reconcile();
  await reconciler.reconcile();
  assert.deepEqual([recorded.length, await counts(organization)], [1, [3, 0]]);
  assert.ok(JSON.stringify(recorded).includes(erasure.id));
  assert.ok(!JSON.stringify(recorded).includes(email), 'nobody can read who it was');
  watermark = 2n ** 62n;
  await reconciler.reconcile();
  assert.deepEqual([await counts(organization), await isFinished(erasure)], [[0, 3], true]);
  const rows = await engine.storage.rows<{ source: string }>(
    "SELECT source FROM events WHERE org = {org:UUID} AND actor_email LIKE 'erased-1@%'",
    { org: organization.id },
  );
  for (const { source } of rows) {
    const { n: _, ...rest } = (JSON.parse(source) as { message: { extra: { n: number } } }).message.extra;
    assert.deepEqual(rest, strange);
  }
  await reconciler.reconcile();
  assert.equal(recorded.length, 1);
});

test('the account of a person is erased where the command came no further', async () => {
  const { storage } = engine;
  const { organization, record, erasure } = await begun('erase-account', 2);
  const input = { organization: organization.slug, email, name: 'Ana', role: 'admin' };
  const user = await createUser(storage, { ...input, password: 'a long enough password' });
  await beginErasure(storage, { ...erasure, account: user.id, version: 2 });
  const { reconciler, recorded } = reconcilerOf(record);
  await reconciler.reconcile();
  await reconciler.reconcile();
  const rows = await storage.rows<object>('SELECT email, email_lower, name FROM users WHERE id = {id:UUID}', {
    id: user.id,
  });
  const address = `${pseudonym}@erased.invalid`;
  assert.deepEqual(rows, [{ email: address, email_lower: address, name: pseudonym }]);
  assert.ok((await listUsers(storage, organization.id))[0]?.disabledMicros);
  assert.equal(recorded.length, 2, 'that it was disabled, and that a person was erased');
  assert.ok(!JSON.stringify(recorded).includes(email));
});

test('a hold that comes between stops it, and a plan that was not begun can be forgotten', async () => {
  const { storage } = engine;
  const { organization, record, erasure } = await begun('erase-held', 4);
  const { reconciler } = reconcilerOf(record);
  await reconciler.reconcile();
  await placeHold(storage, organization.id, 'a case');
  await reconciler.reconcile();
  assert.deepEqual([await counts(organization), await isFinished(erasure)], [[2, 0], false]);
  const forgotten = await planned(storage, organization);
  await forgetPlan(storage, forgotten.id);
  await releaseHold(storage, organization.id, { reason: 'over' });
  await reconciler.reconcile();
  assert.deepEqual([await counts(organization), await isFinished(erasure)], [[0, 2], true]);
  const [left] = await storage.rows<{ rows: string; list: string }>(
    `SELECT (SELECT count() FROM erasure_rows WHERE org = {org:UUID}) AS rows,
       (SELECT count() FROM erased_events WHERE erasure = {id:UUID}) AS list`,
    { org: organization.id, id: forgotten.id },
  );
  assert.deepEqual(left, { rows: '0', list: '0' });
});

test('what a command that was killed had planned is forgotten a day later, and nothing else', async () => {
  const { storage } = engine;
  const { organization, erasure } = await begun('erase-left', 4);
  const young = await planned(storage, organization, bo);
  const recorded = '2024-01-01 00:00:00';
  const row = { org: organization.id, seq: '1', recorded };
  const [left, unlisted] = [randomUUID(), randomUUID()];
  await storage.insertRows('erasure_rows', [
    { ...row, erasure: left, source: '{}' },
    { ...row, erasure: unlisted, source: '{}' },
    { ...row, erasure: erasure.id, source: '{}' },
  ]);
  await storage.insertRows('erased_events', [{ ...row, erasure: left }]);
  assert.equal(await forgetLeftPlans(storage, Date.now() * 1000), 2);
  const rows = await storage.rows<{ erasure: string; rows: string; list: string }>(
    `SELECT toString(erasure) AS erasure, countIf(kind = 'row') AS rows, countIf(kind = 'list') AS list FROM (
       SELECT erasure, 'row' AS kind FROM erasure_rows WHERE org = {org:UUID}
       UNION ALL SELECT erasure, 'list' AS kind FROM erased_events WHERE org = {org:UUID}) GROUP BY erasure`,
    { org: organization.id },
  );
  const found = new Map(rows.map(({ erasure: id, rows: n, list }) => [id, [n, list]]));
  assert.deepEqual(
    [found.size, found.get(erasure.id), found.get(young.id)],
    [2, ['3', '2'], ['2', '2']],
    JSON.stringify(rows),
  );
  await forgetPlan(storage, young.id);
});

test('processes that share an engine do it once, or all of them without harm', async () => {
  const { organization, record, erasure } = await begun('erase-shared', 8);
  const claiming = [1, 2, 3].map(() => reconcilerOf(record, { instance: randomUUID() }).reconciler);
  for (let turn = 0; turn < 10 && !(await isFinished(erasure)); turn++)
    await Promise.all(claiming.map((reconciler) => reconciler.reconcile()));
  assert.deepEqual([await counts(organization), await isFinished(erasure)], [[0, 4], true]);
  const [row] = await engine.storage.rows<{ n: string }>(
    'SELECT count() AS n FROM events WHERE org = {org:UUID} AND activity_id = 5016',
    { org: organization.id },
  );
  assert.equal(row?.n, '1');
  // Without claims, as after one of them stood still for too long.
  const second = await begun('erase-unclaimed', 8);
  const unclaimed = [1, 2].map(() => reconcilerOf(second.record).reconciler);
  await unclaimed[0]?.reconcile();
  await Promise.all(unclaimed.map((reconciler) => reconciler.reconcile()));
  assert.deepEqual([await counts(second.organization), await isFinished(second.erasure)], [[0, 4], true]);
});

/** An organization whose events all have two persons. */
async function ofTwo(slug: string, events: number) {
  const { storage } = engine;
  const organization = await createOrganization(storage, { slug, name: slug });
  const record = createRecorder(storage);
  const one = { time: Date.now() * 1000, message: { action: 1001, actor: email, extra: { with: bo.email } } };
  await record(
    organization.id,
    Array.from({ length: events }, () => one),
  );
  return { organization, record };
}

/** How many events have a text in what is stored. */
async function withText({ id }: Organization, text: string): Promise<number> {
  const [row] = await engine.storage.rows<{ n: string }>(
    'SELECT countIf(position(source, {text:String}) > 0) AS n FROM events WHERE org = {id:UUID} AND activity_id = 1001',
    { id, text },
  );
  return Number(row?.n);
}

const both = ({ id }: Organization) => listErasures(engine.storage, id);

test('of two erasures that were planned on the same events the second brings nobody back, and says what it has left', async () => {
  const { storage } = engine;
  for (const [order, people] of Object.entries({ 'ana-bo': [ana, bo], 'bo-ana': [bo, ana] })) {
    const { organization, record } = await ofTwo(`erase-stale-${order}`, 3);
    const [first, second] = [
      await planned(storage, organization, people[0]),
      await planned(storage, organization, people[1]),
    ];
    await beginErasure(storage, first);
    await beginErasure(storage, { ...second, startedMicros: 2 });
    const { reconciler } = reconcilerOf(record);
    for (let turn = 0; turn < 3; turn++) await reconciler.reconcile();
    assert.deepEqual([await isFinished(first), await isFinished(second)], [true, true]);
    assert.equal(await withText(organization, people[0]?.email ?? ''), 0, order);
    assert.equal(await withText(organization, people[1]?.email ?? ''), 3, order);
    assert.deepEqual([await overtakenEvents(storage, first), await overtakenEvents(storage, second)], [0, 3]);
    const again = await planned(storage, organization, people[1]);
    assert.equal(again.events, 3);
    await beginErasure(storage, again);
    for (let turn = 0; turn < 2; turn++) await reconciler.reconcile();
    assert.deepEqual([await withText(organization, email), await withText(organization, bo.email)], [0, 0]);
  }
});

test('one that is planned while another is under way is made of what that will leave', async () => {
  const { storage } = engine;
  const { organization, record } = await ofTwo('erase-chain', 4);
  const first = await planned(storage, organization, ana);
  await beginErasure(storage, first);
  const second = await planned(storage, organization, bo);
  await beginErasure(storage, { ...second, startedMicros: 2 });
  assert.equal(
    (await planned(storage, organization, ana)).events,
    0,
    'the same person is not in them any more',
  );
  const keeping = [1, 2, 3].map(() => reconcilerOf(record, { instance: randomUUID() }).reconciler);
  for (let turn = 0; turn < 10 && !(await isFinished(second)); turn++)
    await Promise.all(keeping.map((reconciler) => reconciler.reconcile()));
  assert.deepEqual([await withText(organization, email), await withText(organization, bo.email)], [0, 0]);
  assert.deepEqual([await overtakenEvents(storage, first), await overtakenEvents(storage, second)], [0, 0]);
  assert.equal((await both(organization)).length, 2);
});

test('an erasure that cannot be carried out keeps no other organization from theirs', async () => {
  const broken = await begun('erase-broken', 2);
  const { organization, record, erasure } = await begun('erase-beside', 4);
  const { reconciler } = reconcilerOf(async (id, events, options) => {
    if (id === broken.organization.id) throw new Error('the log takes none of it');
    return record(id, events, options);
  });
  for (let turn = 0; turn < 2; turn++) await reconciler.reconcile();
  assert.deepEqual([await counts(organization), await isFinished(erasure)], [[0, 2], true]);
  assert.deepEqual([await counts(broken.organization), await isFinished(broken.erasure)], [[1, 0], false]);
});
