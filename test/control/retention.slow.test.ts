import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/base/time/clock.ts';
import { Problem } from '../../src/base/errors/problem.ts';
import { changeOfPolicy, changesOfSettings, sourceEventOfChange } from '../../src/control/change-events.ts';
import {
  createOrganization,
  findOrganization,
  type Organization,
  updateOrganization,
} from '../../src/control/organizations.ts';
import {
  beginDeletion,
  listDeletions,
  outlivesDeletion,
  previewDeletion,
  withRowsLeft,
} from '../../src/control/deletion.ts';
import {
  cutOffOf,
  placeHold,
  readPolicy,
  releaseHold,
  awaitHold,
  wouldEnd,
} from '../../src/control/retention.ts';
import { PlannedRemovals, waitingRemovals } from '../../src/control/planned-removals.ts';
import { RetentionReconciler } from '../../src/control/retention-reconciler.ts';
import { readEachWay } from './retention-support.ts';
import { EventRemoval } from '../../src/storage/removal.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { eventually } from '../support/http.ts';
import { startTestEngine, silentLog, type TestEngine } from '../support/engine.ts';
import { createRecorder } from '../read/support.ts';

const dayMicros = 86_400_000_000;
const begin = Date.UTC(2025, 0, 1) * 1000;

let engine: TestEngine;
const reconcilers: RetentionReconciler[] = [];
before(async () => {
  engine = await startTestEngine();
});
after(async () => {
  for (const reconciler of reconcilers) await reconciler.stop();
  await engine.stop();
});

interface Kept {
  readonly name: string;
  readonly day: number;
  readonly actor: string;
  /** Events of policies stay in the table, and are shown as all others. */
  readonly stays: boolean;
}

/** An organization as it should be: what is stored of it, and what of that anybody is shown. */
class Model {
  today = 60;
  days: number | undefined;
  held = false;
  stored: Kept[] = [];

  isOver({ day }: Kept, days = this.held ? undefined : this.days): boolean {
    return days !== undefined && day < this.today - days;
  }

  shown(): string[] {
    return this.stored.flatMap((one) => (this.isOver(one) ? [] : [one.name])).toSorted();
  }

  wouldRemove(days: number | undefined): number {
    return days === undefined ? 0 : this.stored.filter((one) => !one.stays && this.isOver(one, days)).length;
  }

  remove(): void {
    this.stored = this.stored.filter((one) => one.stays || !this.isOver(one));
  }
}

/** The same in the engine: what commands and a server would do, on a clock of its own. */
class World {
  readonly model = new Model();
  readonly reconciler: RetentionReconciler;
  readonly organization: Organization;
  readonly #record: ReturnType<typeof createRecorder>;
  #names = 0;

  constructor(organization: Organization) {
    const { storage } = engine;
    this.organization = organization;
    this.#record = createRecorder(storage, { now: () => this.clock() / 1000 });
    this.reconciler = new RetentionReconciler({
      storage,
      removal: new EventRemoval(storage),
      clock: () => this.clock(),
      graceMs: 0,
      log: silentLog,
      retentionDays: undefined,
      intervalMs: 3_600_000,
      instance: undefined,
      watermarks: async () => () => 2n ** 62n,
      record: async (id, event) => {
        if (id === organization.id) await this.#storePolicy([event]);
      },
    });
    reconcilers.push(this.reconciler);
  }

  clock(): number {
    return begin + this.model.today * dayMicros + dayMicros / 2;
  }

  async store(ages: readonly number[]): Promise<void> {
    const events = ages.map((age, n) => ({
      name: `e${this.#names++}`,
      day: this.model.today - age,
      actor: `u${n % 3}@x.test`,
      stays: false,
    }));
    const texts = events.map(({ name, day, actor }, n) => ({
      time: begin + day * dayMicros + n * 1000,
      msg: name,
      message: { action: 2000, actor },
    }));
    await this.#record(this.organization.id, texts);
    this.model.stored.push(...events);
  }

  async #storePolicy(events: readonly object[]): Promise<void> {
    if (events.length === 0) return;
    await this.#record(this.organization.id, events, { own: true });
    this.model.stored.push(
      ...events.map(() => ({ name: 'policy', day: this.model.today, actor: '', stays: true })),
    );
  }

  async change(days: number | undefined): Promise<void> {
    const { model, organization } = this;
    const { storage } = engine;
    const clock = () => this.clock();
    const retention = days === undefined ? 'off' : `${days}d`;
    const how = { defaultDays: undefined, clock };
    const isShorter = days !== undefined && (model.days === undefined || days < model.days);
    const removes = isShorter && !model.held ? model.wouldRemove(days) : 0;
    if (removes > 0) {
      const tell = (error: unknown) =>
        error instanceof Problem && error.options.members?.['would_remove'] === removes;
      await assert.rejects(updateOrganization(storage, organization.id, { retention }, how), tell);
    }
    const settings = { retention, confirmed: removes };
    const changed = await updateOrganization(storage, organization.id, settings, how);
    model.days = days;
    const changes = changesOfSettings(changed).filter(({ code }) => code === 5013);
    await this.#storePolicy(changes.map((one) => sourceEventOfChange(one, 'op', this.clock())));
  }

  async hold(): Promise<void> {
    const { model, organization } = this;
    const { storage } = engine;
    const clock = () => this.clock();
    if (model.held) {
      const confirmed = model.wouldRemove(model.days);
      const { now } = await releaseHold(storage, organization.id, { reason: 'over', confirmed }, clock);
      model.held = false;
      const change = changeOfPolicy(organization, 'legalHoldReleased', now, { reason: 'over' });
      return this.#storePolicy([sourceEventOfChange(change, 'op', this.clock())]);
    }
    const { now } = await placeHold(storage, organization.id, 'a case', clock);
    model.held = true;
    const change = changeOfPolicy(organization, 'legalHoldPlaced', now, { reason: 'a case' });
    return this.#storePolicy([sourceEventOfChange(change, 'op', this.clock())]);
  }

  /** A turn plans, the next one may have to record the event of a policy, and then one removes. */
  async remove(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await this.reconciler.reconcile();
    this.model.remove();
  }

  /** Every way of reading shows the same. */
  async check(): Promise<void> {
    const { storage } = engine;
    const policy = await readPolicy(storage, this.organization.id);
    const retentionCutOff = () => cutOffOf(policy, this.clock());
    const shown = this.model.shown();
    const found = await readEachWay(storage, this.organization.id, retentionCutOff);
    assert.deepEqual(found.pages, shown);
    assert.deepEqual(found.feed, shown);
    assert.deepEqual(found.exported, shown);
    const totals = [found.total, found.histogram, found.topValues, found.exportTotal];
    assert.deepEqual(
      totals,
      totals.map(() => shown.length),
    );
    const ofActor = this.model.stored.filter((one) => one.actor === 'u1@x.test' && !this.model.isOver(one));
    assert.equal(found.filtered, ofActor.length);
    const [row] = await storage.rows<{ n: string }>(
      'SELECT count() AS n FROM events WHERE org = {org:UUID}',
      {
        org: this.organization.id,
      },
    );
    assert.equal(Number(row?.n), this.model.stored.length, 'what is stored');
  }
}

// Policies, holds and times one after the other, killed ones too, are the simulator's.
test('a setting that would remove what is stored is not followed before somebody confirms it', async () => {
  const { storage } = engine;
  const organization = await createOrganization(storage, {
    slug: 'unconfirmed',
    name: 'U',
    retention: '10d',
  });
  const world = new World(organization);
  await world.store([1, 20, 30]);
  await world.reconciler.reconcile();
  assert.equal((await readPolicy(storage, organization.id)).days, undefined);
  assert.equal((await wouldEnd(storage, organization.id, 10, world.clock())).events, 2);
  await world.change(10);
  await world.remove();
  // One event, and those of the policy and of the planned removal.
  assert.equal(world.model.stored.length, 3);
  await world.check();
});

test('a removal that was cut short is taken up with what it was to remove, unless a hold came between', async () => {
  const { storage } = engine;
  const removal = new EventRemoval(storage);
  const organization = await createOrganization(storage, { slug: 'cut-short', name: 'C' });
  const world = new World(organization);
  await world.store([1, 20, 30]);
  await world.change(10);
  const expired = {
    organization: organization.id,
    beforeMicros: cutOffOf(await readPolicy(storage, organization.id), world.clock()) ?? 0,
  };
  const plan = await removal.plan(expired, 2n ** 62n);
  assert.equal(
    plan?.counts.reduce((sum, { rows }) => sum + rows, 0),
    2,
  );
  await world.hold();
  await world.reconciler.reconcile();
  await world.check();
  assert.deepEqual(await removal.unfinished(), []);
  const [counted] = await storage.rows<{ n: string }>(
    'SELECT sum(rows) AS n FROM removals FINAL WHERE org = {org:UUID} AND done',
    { org: organization.id },
  );
  assert.equal(counted?.n, '0', 'a plan that was ended has removed nothing');
  await world.hold();
  await removal.plan(expired, 2n ** 62n);
  await world.reconciler.reconcile();
  world.model.remove();
  await world.check();
});

test('a hold that is placed while months are being removed keeps those that the engine has not begun with', async () => {
  const { storage } = engine;
  const organization = await createOrganization(storage, { slug: 'months', name: 'M' });
  const world = new World(organization);
  for (let month = 0; month < 3; month++) {
    await world.store([0, 1]);
    world.model.today += 31;
  }
  await world.change(10);
  const removal = new EventRemoval(storage);
  await world.reconciler.reconcile();
  // Mutations wait for that, so the first one is under way for as long as this test likes.
  await storage.command('SYSTEM STOP MERGES events');
  const turn = world.reconciler.reconcile();
  try {
    await eventually('the first mutation', async () =>
      (await removal.underWay(organization.id)) > 0 ? true : undefined,
    );
    await world.hold();
  } finally {
    await storage.command('SYSTEM START MERGES events');
  }
  await turn;
  world.model.stored = world.model.stored.slice(2);
  await world.check();
  assert.equal(await awaitHold(removal, organization.id), true);
  const [counted] = await storage.rows<{ n: string }>(
    'SELECT sum(rows) AS n FROM removals FINAL WHERE org = {org:UUID} AND done',
    { org: organization.id },
  );
  assert.equal(counted?.n, '2', 'a plan says what it has removed');
});

test('of a hold and a deletion that begin together the hold counts, also where the deletion was killed', async () => {
  const { storage } = engine;
  const organization = await createOrganization(storage, { slug: 'both', name: 'B' });
  const { id } = organization;
  const world = new World(organization);
  await world.store([1, 20]);
  const begin = async (slug: string) => previewDeletion(storage, slug, 'op');
  const { deletion } = await begin('both');
  // As a command leaves it that is killed before the organization has ended.
  const put = (of: { id: string }) =>
    storage.insertRows('deletions', [{ id: of.id, slug: 'both', name: 'B', events: 2, version: '1' }]);
  await put(organization);
  await world.hold();
  assert.equal(await outlivesDeletion(storage, id), true);
  await world.reconciler.reconcile();
  await world.check();
  assert.deepEqual(
    (await listDeletions(storage)).filter((one) => one.id === id),
    [],
  );
  assert.equal((await findOrganization(storage, 'both')).id, id);

  const ended = await createOrganization(storage, { slug: 'ended', name: 'E' });
  await beginDeletion(storage, await begin('ended'), 0);
  await placeHold(storage, ended.id, 'too late');
  assert.equal(await outlivesDeletion(storage, ended.id), false);
  await world.reconciler.reconcile();
  assert.equal((await readPolicy(storage, ended.id)).heldMicros, undefined, 'what came late is gone, too');
  assert.equal(deletion.events, 2);
});

test('of thousands of organizations that were deleted those are known that have left something', async () => {
  const { storage } = engine;
  const ids = Array.from({ length: 4_000 }, () => randomUUID());
  const left = ids[3_999] ?? '';
  await storage.insertRows('user_identities', [{ id: randomUUID(), org: left, version: '1' }]);
  assert.deepEqual([...(await withRowsLeft(storage, ids))], [left]);
});

test('a hold waits for a deletion that is slow, and is not said to be there', async () => {
  const { storage } = engine;
  const { id } = await createOrganization(storage, { slug: 'slow', name: 'S' });
  let hold: Promise<unknown> = Promise.resolve();
  const insertRows: Storage['insertRows'] = async (table, ...given) => {
    if (table === 'organizations') {
      hold = placeHold(storage, id, 'too late');
      await sleep(5_000);
    }
    await storage.insertRows(table, ...given);
  };
  const slow = { ...storage, insertRows };
  const deleting = previewDeletion(slow, 'slow', 'op').then((found) => beginDeletion(slow, found, 0));
  await eventually('the hold', async () => (await readPolicy(storage, id)).heldMicros);
  assert.equal(await outlivesDeletion(storage, id), false);
  await Promise.all([deleting, hold]);
});

test('of several processes one removes, and all at once do no harm', async () => {
  const { storage } = engine;
  const organization = await createOrganization(storage, { slug: 'several', name: 'S' });
  const world = new World(organization);
  await world.store([1, 20, 30]);
  await world.change(10);
  const reconcilerOf = (instance: string | undefined) => {
    const reconciler = new RetentionReconciler({
      storage,
      removal: new EventRemoval(storage),
      clock: () => world.clock(),
      graceMs: 0,
      log: silentLog,
      retentionDays: undefined,
      intervalMs: 3_600_000,
      instance,
      watermarks: async () => () => 2n ** 62n,
      record: async () => {},
    });
    reconcilers.push(reconciler);
    return reconciler;
  };
  const claiming = [randomUUID(), randomUUID(), randomUUID()].map(reconcilerOf);
  for (let turn = 0; turn < 2; turn++)
    await Promise.all(claiming.map((reconciler) => reconciler.reconcile()));
  // Whoever had the claim may have been too late for it, and none need have had it.
  await claiming[0]?.reconcile();
  world.model.remove();
  await world.check();
  await world.store([9, 9]);
  world.model.today += 5;
  // Without claims, as after one of them stood still for too long.
  const unclaimed = [undefined, undefined].map(reconcilerOf);
  for (let turn = 0; turn < 2; turn++)
    await Promise.all(unclaimed.map((reconciler) => reconciler.reconcile()));
  world.model.remove();
  await world.check();
  const [counted] = await storage.rows<{ n: string }>(
    'SELECT sum(rows) AS n FROM removals FINAL WHERE org = {org:UUID}',
    { org: organization.id },
  );
  assert.ok(Number(counted?.n) >= 4, 'the plan names all');
});

test('a change that is made while a turn reads is not taken back', async () => {
  const { storage } = engine;
  const organization = await createOrganization(storage, { slug: 'changed-meanwhile', name: 'Changed' });
  let change: (() => Promise<unknown>) | undefined = () =>
    updateOrganization(storage, organization.slug, { retention: '30d' }, { defaultDays: undefined });
  /** The change comes behind the first thing that a turn reads of settings and policies. */
  const busy: Storage = {
    ...storage,
    rows: async <T>(...asked: Parameters<Storage['rows']>) => {
      const rows = await storage.rows<T>(...asked);
      const made = /FROM (organizations|retention_policies)/.test(asked[0]) ? change : undefined;
      if (made !== undefined) {
        change = undefined;
        await made();
      }
      return rows;
    },
  };
  const reconciler = new RetentionReconciler({
    storage: busy,
    removal: new EventRemoval(storage),
    clock: systemClock,
    graceMs: 0,
    log: silentLog,
    retentionDays: undefined,
    intervalMs: 3_600_000,
    instance: undefined,
    watermarks: async () => () => 2n ** 62n,
    record: async () => {},
  });
  reconcilers.push(reconciler);
  await reconciler.reconcile();
  assert.equal(change, undefined);
  assert.equal((await readPolicy(storage, organization.id)).days, 30);
});

test('an organization whose tree stands still, or whose work fails, keeps no other from its retention', async () => {
  const { storage } = engine;
  const worlds: World[] = [];
  for (const slug of ['aside-still', 'aside-failing', 'aside-other']) {
    const world = new World(await createOrganization(storage, { slug, name: slug }));
    await world.store([1, 20, 30]);
    await world.change(10);
    worlds.push(world);
  }
  const [still, failing, other] = worlds.map(({ organization }) => organization.id);
  const removal = new EventRemoval(storage);
  const plan = removal.plan.bind(removal);
  removal.plan = async (expired, below) => {
    if (expired.organization === failing) throw new Error('its counts cannot be read');
    return plan(expired, below);
  };
  const reconciler = new RetentionReconciler({
    storage,
    removal,
    clock: () => worlds[0]?.clock() ?? 0,
    graceMs: 0,
    log: silentLog,
    retentionDays: undefined,
    intervalMs: 3_600_000,
    instance: undefined,
    watermarks: async () => (id) => (id === still ? 0n : 2n ** 62n),
    record: async () => {},
  });
  reconcilers.push(reconciler);
  await reconciler.reconcile();
  await reconciler.reconcile();
  const rows = await storage.rows<{ id: string; n: string }>(
    'SELECT toString(org) AS id, count() AS n FROM events WHERE activity_id != 5013 AND org IN {orgs:Array(UUID)} GROUP BY org',
    { orgs: [still, failing, other] },
  );
  const left = new Map(rows.map(({ id, n }) => [id, n]));
  assert.deepEqual([left.get(still ?? ''), left.get(failing ?? ''), left.get(other ?? '')], ['3', '3', '1']);
});

test('what a clock that jumps has expired is planned, stays until servers have run for the grace period, and is cancelled', async () => {
  const { storage } = engine;
  const world = new World(await createOrganization(storage, { slug: 'jumped', name: 'J' }));
  const { id } = world.organization;
  await world.store([1, 2]);
  await world.change(10);
  let [passedMs, aheadDays] = [0, 0];
  const reconciler = new RetentionReconciler({
    storage,
    removal: new EventRemoval(storage),
    clock: () => world.clock() + aheadDays * dayMicros,
    graceMs: 86_400_000,
    passedMs: () => passedMs,
    log: silentLog,
    retentionDays: undefined,
    intervalMs: 3_600_000,
    instance: undefined,
    watermarks: async () => () => 2n ** 62n,
    record: async () => {},
  });
  reconcilers.push(reconciler);
  const stored = async () => {
    const [row] = await storage.rows<{ n: string }>(
      'SELECT count() AS n FROM events WHERE org = {id:UUID} AND activity_id = 2000',
      { id },
    );
    return Number(row?.n);
  };
  const planned = async () => (await waitingRemovals(storage, id)).get(id)?.events;
  /** Turns every half hour, as long as servers run. */
  const run = async (hours: number) => {
    for (let turn = 0; turn < hours * 2; turn++) {
      passedMs += 1_800_000;
      await reconciler.reconcile();
    }
  };
  await reconciler.reconcile();
  assert.equal(await planned(), undefined);
  aheadDays = 100;
  await run(0.5);
  assert.deepEqual([await planned(), await stored()], [2, 2]);
  // A server that is stopped for a month counts an hour at most.
  passedMs += 30 * 86_400_000;
  await run(20);
  assert.deepEqual([await planned(), await stored()], [2, 2]);
  aheadDays = 0;
  await run(0.5);
  assert.deepEqual([await planned(), await stored()], [undefined, 2], 'the clock went back');
  aheadDays = 100;
  await run(0.5);
  await run(24.5);
  assert.deepEqual([await planned(), await stored()], [undefined, 0]);
});

test('the running time is that of the clock on the wall, however many servers count it', async () => {
  const { storage } = engine;
  const hourMs = 3_600_000;
  let passedMs = 0;
  const servers = Array.from({ length: 3 }, () => new PlannedRemovals(storage, 24 * hourMs, () => passedMs));
  for (const one of servers) await one.turn();
  const id = randomUUID();
  await servers[0]?.plan({ organization: id, beforeMicros: 1 }, 5);
  const isDue = async () => {
    const due: boolean[] = [];
    for (const one of servers) {
      await one.turn();
      const plan = one.of(id);
      due.push(plan !== undefined && one.isDue(plan));
    }
    return due;
  };
  for (let hours = 0; hours < 23; hours++) {
    passedMs += hourMs;
    assert.deepEqual(await isDue(), [false, false, false], `after ${hours + 1} hours`);
  }
  passedMs += hourMs;
  assert.deepEqual(await isDue(), [true, true, true]);
});
