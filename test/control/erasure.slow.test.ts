import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { readPersonEvents, Planner, readScope } from '../../src/erasure/events-of.ts';
import { ErasureReconciler } from '../../src/control/erasure-reconciler.ts';
import type { Directory } from '../../src/control/directory.ts';
import {
  beginErasure,
  forgetLeftPlans,
  forgetPlan,
  overtakenEvents,
  planEvents,
  type StoredErasure,
} from '../../src/control/erasure.ts';
import { Journal } from '../../src/control/journal.ts';
import { createWithAdministrator } from '../../src/control/new-organization.ts';
import { createOrganization, type Organization } from '../../src/control/organizations.ts';
import { noPassword } from '../../src/control/passwords.ts';
import { changeProvisioned } from '../../src/control/provisioning.ts';
import { placeHold, policyOf, previewRelease, releaseHold } from '../../src/control/retention.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { createRecorder } from '../read/support.ts';
import { openDirectory, operatorCall } from '../support/control.ts';
import { silentLog } from '../support/engine.ts';
import { JournalEvents } from '../support/journal-events.ts';
import { type SharedEngine, sharedEngine } from '../support/shared.ts';

const email = 'ana@acme.example';
const pseudonym = 'erased-1';
/** Difficult content for a statement. */
const strange = { text: "it's \\ \" \n \u0001 é 日本 🎉 {x:String} '); --", long: 'x'.repeat(300_000) };
const nobody = '00000000-0000-0000-0000-000000000000';
let engine: SharedEngine;
/** The control data of commands. */
let directory: Directory;
const reconcilers: ErasureReconciler[] = [];
before(async () => {
  engine = await sharedEngine();
  directory = await openDirectory(engine.storage);
});
after(() => Promise.all(reconcilers.map((reconciler) => reconciler.stop())));

const created = (slug: string) => directory.change(operatorCall, createOrganization({ slug, name: slug }));

/** An organization with events of two persons, and a begun erasure of one. */
async function begun(slug: string, events: number) {
  const organization = await created(slug);
  await recordBoth(organization, events);
  const erasure = await begin(await planned(organization));
  const journal = journalOf(organization);
  await journal.hand();
  return { organization, erasure };
}

async function recordBoth({ id }: Organization, events: number): Promise<void> {
  const one = (n: number, actor: string) => ({
    time: Date.now() * 1000,
    message: { action: 1001, actor, extra: { n, ...strange } },
  });
  const both = Array.from({ length: events }, (_, n) => one(n, n % 2 === 0 ? email : 'bo@acme.example'));
  await createRecorder(engine.storage)(id, both);
}

const journalOf = ({ id }: Organization) =>
  new JournalEvents(engine.storage, createRecorder(engine.storage), id);

const ana = { email, pseudonym };
const bo = { email: 'bo@acme.example', pseudonym: 'erased-2' };

type PlannedErasure = Parameters<typeof beginErasure>[0];

async function planned({ id: organizationId }: Organization, who = ana): Promise<PlannedErasure> {
  const { storage } = engine;
  const id = randomUUID();
  const person = { emails: [who.email], names: [], ids: [], ips: [], pseudonym: who.pseudonym };
  await directory.refresh();
  const scope = await readScope({ storage, directory }, organizationId);
  const planner = new Planner(organizationId, 'Test');
  const rows = [];
  for await (const found of readPersonEvents(storage, scope, person)) rows.push(planner.plan(found));
  await planEvents(storage, { id, organizationId }, rows);
  const counts = { events: rows.length, digest: 'd', account: nobody };
  return { id, organizationId, pseudonym: who.pseudonym, operator: 'op', ...counts };
}

const begin = (erasure: PlannedErasure, by = directory): Promise<StoredErasure> =>
  by.change(operatorCall, beginErasure(erasure, []));

/** A server's reconciler with its control data. */
async function reconcilerOf(
  options: { readonly storage?: Storage; readonly watermark?: () => bigint; readonly instance?: string } = {},
): Promise<ErasureReconciler> {
  const { storage = engine.storage, watermark = () => 2n ** 62n, instance } = options;
  const reconciler = new ErasureReconciler({
    storage,
    directory: await openDirectory(engine.storage),
    clock: () => Date.now() * 1000,
    log: silentLog,
    intervalMs: 3_600_000,
    instance,
    watermarks: async () => watermark,
    record: () => Promise.reject(new Error('an erasure has its event in the journal')),
  });
  reconcilers.push(reconciler);
  return reconciler;
}

/** Numbers of events with the person and the pseudonym: in filters, as shown and as stored. */
async function counts({ id }: Organization): Promise<number[]> {
  const has = (text: string) =>
    `countIf(actor_email LIKE '${text}@%' AND position(ocsf, '"${text}@') > 0 AND position(source, '"${text}@') > 0)`;
  const [row] = await engine.storage.rows<{ person: string; erased: string }>(
    `SELECT ${has('ana')} AS person, ${has(pseudonym)} AS erased FROM events WHERE org = {id:UUID}`,
    { id },
  );
  return [Number(row?.person), Number(row?.erased)];
}

async function isFinished({ id }: StoredErasure): Promise<boolean> {
  await directory.refresh();
  return directory.erasure(id)?.finishedMicros !== undefined;
}

test('events whose plan was lost with a damaged part are reported as unchanged', async () => {
  const { storage } = engine;
  for (const [slug, table, left] of [
    ['erase-no-texts', 'erasure_rows', [3, 3]],
    ['erase-no-list', 'erased_events', [3, 3]],
  ] as const) {
    const { organization, erasure } = await begun(slug, 6);
    await storage.removeRows(table, { column: 'erasure', id: erasure.id });
    await (await reconcilerOf()).reconcile();
    const [person] = await counts(organization);
    assert.deepEqual([person, await overtakenEvents(storage, erasure)], left, table);
  }
});

test('nothing changes before the event of the erasure is in the tree', async () => {
  const organization = await created('erase-order');
  await recordBoth(organization, 6);
  const erasure = await begin(await planned(organization));
  let watermark = 2n ** 62n;
  const reconciler = await reconcilerOf({ watermark: () => watermark });
  await reconciler.reconcile();
  assert.deepEqual(await counts(organization), [3, 0], 'it is not recorded');
  const told = JSON.stringify(await journalOf(organization).hand());
  assert.ok(told.includes(erasure.id));
  assert.ok(!told.includes(email), 'nobody can read who it was');
  watermark = 0n;
  await reconciler.reconcile();
  assert.deepEqual(await counts(organization), [3, 0], 'it is not in the tree');
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
});

test('the account of a person is erased from the journal, and other texts stay', async () => {
  const { storage } = engine;
  const person = { email, name: 'Ana', role: 'admin', passwordHash: noPassword };
  const input = { slug: 'erase-account', name: 'Account' };
  const make = createWithAdministrator(input, person, { scopes: 'write', name: 'first' });
  const { organization } = await directory.change(operatorCall, make);
  const { id } = organization;
  const user = directory.users(id)[0] ?? assert.fail('a user was made');
  await directory.change(operatorCall, changeProvisioned(id, user.id, { externalId: 'hr-ana' }));
  await recordBoth(organization, 2);
  const events = journalOf(organization);
  await events.hand();
  const plan = { ...(await planned(organization)), account: user.id };
  const besides = await new Journal(storage).besides(id, user.id);
  const erasure = await directory.change(operatorCall, beginErasure(plan, besides));
  const told = await events.hand();
  assert.deepEqual(
    told.map(({ message }) => message.action),
    [1006, 5016],
    'that it was disabled, and that a person was erased',
  );
  await (await reconcilerOf()).reconcile();
  assert.ok(await isFinished(erasure));
  const rows = JSON.stringify([
    told,
    await storage.rows('SELECT parts, events FROM journal WHERE org = {id:UUID}', { id }),
  ]);
  for (const text of [email, 'hr-ana', '"Ana"']) assert.ok(!rows.includes(text), text);
  const now = await openDirectory(storage);
  assert.deepEqual(now.damage(), directory.damage());
  const address = `${pseudonym}@erased.invalid`;
  const erased = now.userById(user.id);
  assert.deepEqual([erased?.email, erased?.emailLower, erased?.name], [address, address, pseudonym]);
  assert.notEqual(erased?.disabledMicros, undefined);
  assert.equal(now.identityOf(user).externalId, '');
  const facts = (of: Directory) => JSON.stringify([of.organizationById(id), of.apiKeys(id)]);
  assert.equal(now.apiKeys(id).length, 1);
  assert.equal(facts(now), facts(directory));
});

test('a hold that comes between stops it, and a plan that was not begun can be forgotten', async () => {
  const { storage } = engine;
  const { organization, erasure } = await begun('erase-held', 4);
  const reconciler = await reconcilerOf();
  await directory.change(operatorCall, placeHold(organization.id, 'a case'));
  await reconciler.reconcile();
  assert.deepEqual([await counts(organization), await isFinished(erasure)], [[2, 0], false]);
  const forgotten = await planned(organization);
  await forgetPlan(storage, forgotten.id);
  const policy = policyOf(directory, organization.id);
  const preview = await previewRelease(storage, policy, undefined, Date.now() * 1000);
  await directory.change(operatorCall, releaseHold(organization, 'over', preview));
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
  const young = await planned(organization, bo);
  const recorded = '2024-01-01 00:00:00';
  const row = { org: organization.id, seq: '1', recorded };
  const [left, unlisted] = [randomUUID(), randomUUID()];
  await storage.insertRows('erasure_rows', [
    { ...row, erasure: left, source: '{}' },
    { ...row, erasure: unlisted, source: '{}' },
    { ...row, erasure: erasure.id, source: '{}' },
  ]);
  await storage.insertRows('erased_events', [{ ...row, erasure: left }]);
  assert.equal(await forgetLeftPlans({ storage, directory }, Date.now() * 1000), 2);
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

const three = () => Promise.all([1, 2, 3].map(() => reconcilerOf({ instance: randomUUID() })));

test('processes that share an engine do it once, or all of them without harm', async () => {
  const { organization, erasure } = await begun('erase-shared', 8);
  const claiming = await three();
  for (let turn = 0; turn < 10 && !(await isFinished(erasure)); turn++)
    await Promise.all(claiming.map((reconciler) => reconciler.reconcile()));
  assert.deepEqual([await counts(organization), await isFinished(erasure)], [[0, 4], true]);
  const [row] = await engine.storage.rows<{ n: string }>(
    'SELECT count() AS n FROM events WHERE org = {org:UUID} AND activity_id = 5016',
    { org: organization.id },
  );
  assert.equal(row?.n, '1');
  // Without claims, as after a long pause of a process.
  const second = await begun('erase-unclaimed', 8);
  const unclaimed = await Promise.all([reconcilerOf(), reconcilerOf()]);
  await Promise.all(unclaimed.map((reconciler) => reconciler.reconcile()));
  assert.deepEqual([await counts(second.organization), await isFinished(second.erasure)], [[0, 4], true]);
});

/** An organization whose events all have two persons. */
async function ofTwo(slug: string, events: number): Promise<Organization> {
  const organization = await created(slug);
  const one = { time: Date.now() * 1000, message: { action: 1001, actor: email, extra: { with: bo.email } } };
  await createRecorder(engine.storage)(
    organization.id,
    Array.from({ length: events }, () => one),
  );
  return organization;
}

/** Number of stored events with a text. */
async function withText({ id }: Organization, text: string): Promise<number> {
  const [row] = await engine.storage.rows<{ n: string }>(
    'SELECT countIf(position(source, {text:String}) > 0) AS n FROM events WHERE org = {id:UUID} AND activity_id = 1001',
    { id, text },
  );
  return Number(row?.n);
}

test('of two erasures planned on the same events the second restores no person, and reports skipped events', async () => {
  const { storage } = engine;
  for (const [order, people] of Object.entries({ 'ana-bo': [ana, bo], 'bo-ana': [bo, ana] })) {
    const organization = await ofTwo(`erase-stale-${order}`, 3);
    const stale = await planned(organization, people[1]);
    const first = await begin(await planned(organization, people[0]));
    const second = await begin(stale);
    const journal = journalOf(organization);
    await journal.hand();
    await (await reconcilerOf()).reconcile();
    assert.deepEqual([await isFinished(first), await isFinished(second)], [true, true]);
    assert.equal(await withText(organization, people[0]?.email ?? ''), 0, order);
    assert.equal(await withText(organization, people[1]?.email ?? ''), 3, order);
    assert.deepEqual([await overtakenEvents(storage, first), await overtakenEvents(storage, second)], [0, 3]);
    const again = await planned(organization, people[1]);
    assert.equal(again.events, 3);
    await begin(again);
    await journal.hand();
    await (await reconcilerOf()).reconcile();
    assert.deepEqual([await withText(organization, email), await withText(organization, bo.email)], [0, 0]);
  }
});

test('a plan made during another erasure builds on its result, with any clock', async () => {
  const { storage } = engine;
  const organization = await ofTwo('erase-chain', 4);
  const first = await begin(await planned(organization, ana));
  const late = await openDirectory(storage, { clock: () => Date.now() * 1000 - 3_600_000_000 });
  const second = await begin(await planned(organization, bo), late);
  for (const who of [ana, bo])
    assert.equal((await planned(organization, who)).events, 0, `${who.email} is not in them any more`);
  await journalOf(organization).hand();
  const keeping = await three();
  for (let turn = 0; turn < 10 && !(await isFinished(second)); turn++)
    await Promise.all(keeping.map((reconciler) => reconciler.reconcile()));
  assert.deepEqual([await withText(organization, email), await withText(organization, bo.email)], [0, 0]);
  assert.deepEqual([await overtakenEvents(storage, first), await overtakenEvents(storage, second)], [0, 0]);
  assert.equal(directory.erasures(organization.id).length, 2);
});

test('an erasure that cannot be carried out keeps no other organization from theirs', async () => {
  const broken = await begun('erase-broken', 2);
  const { organization, erasure } = await begun('erase-beside', 4);
  const { storage } = engine;
  const rows: Storage['rows'] = (query, parameters, options) =>
    query.includes('FROM erasure_rows') && parameters?.['org'] === broken.organization.id
      ? Promise.reject(new Error('its plan cannot be read'))
      : storage.rows(query, parameters, options);
  await (await reconcilerOf({ storage: { ...storage, rows } })).reconcile();
  assert.deepEqual([await counts(organization), await isFinished(erasure)], [[0, 2], true]);
  assert.deepEqual([await counts(broken.organization), await isFinished(broken.erasure)], [[1, 0], false]);
});
