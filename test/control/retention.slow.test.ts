import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { Problem } from '../../src/base/errors/problem.ts';
import { beginDeletion, previewDeletion, withRowsLeft } from '../../src/control/deletion.ts';
import type { Directory } from '../../src/control/directory.ts';
import {
  createOrganization,
  type Organization,
  type OrganizationSettings,
  updateOrganization,
} from '../../src/control/organizations.ts';
import { PlannedRemovals, waitingRemovals } from '../../src/control/planned-removals.ts';
import { RetentionPreview } from '../../src/control/retention-preview.ts';
import { RetentionReconciler } from '../../src/control/retention-reconciler.ts';
import {
  awaitHold,
  cutOffOf,
  placeHold,
  policyOf,
  previewRelease,
  releaseHold,
  wouldEnd,
} from '../../src/control/retention.ts';
import { EventRemoval, policyActivities } from '../../src/storage/removal.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { createRecorder, type Recorder } from '../read/support.ts';
import { openDirectory, operatorCall } from '../support/control.ts';
import { silentLog, startTestEngine, type TestEngine } from '../support/engine.ts';
import { eventually } from '../support/http.ts';
import { JournalEvents, type OwnEvent } from '../support/journal-events.ts';
import { readEachWay } from './retention-support.ts';

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
  /** Events of policies stay in the table, and are shown like others. */
  readonly stays: boolean;
}

/** The expected organization: its stored and its shown events. */
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

/** The same in the engine, through commands and a server with its own clock. */
class World {
  readonly model = new Model();
  readonly reconciler: RetentionReconciler;
  readonly organization: Organization;
  /** The control data of commands. */
  readonly directory: Directory;
  readonly #record: Recorder;
  readonly #events: JournalEvents;
  readonly #previews: RetentionPreview;
  #names = 0;

  /** A world with a new organization. */
  static async of(settings: OrganizationSettings & { readonly slug: string }): Promise<World> {
    let world: World | undefined;
    const clock = () => world?.clock() ?? begin;
    const [directory, server] = [await opened(clock), await opened(clock)];
    const input = { ...settings, name: settings.slug };
    const organization = await directory.change(operatorCall, createOrganization(input));
    world = new World(organization, directory, server);
    return world;
  }

  private constructor(organization: Organization, directory: Directory, server: Directory) {
    const { storage } = engine;
    const clock = () => this.clock();
    this.organization = organization;
    this.directory = directory;
    this.#record = createRecorder(storage, { now: () => clock() / 1000 });
    this.#events = new JournalEvents(storage, this.#record, organization.id, directory.place);
    this.#previews = new RetentionPreview({ storage, directory, clock, defaultDays: undefined });
    this.reconciler = reconcilerOf(server, clock, {
      record: async (id, event) => {
        if (id !== organization.id) return;
        await this.#record(id, [event], { own: true });
        this.#keep([event as OwnEvent]);
      },
    });
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

  #keep(events: readonly OwnEvent[]): void {
    const own = events.map(({ message: { action } }) => ({
      name: 'own',
      day: this.model.today,
      actor: '',
      stays: policyActivities.some((code) => code === action),
    }));
    this.model.stored.push(...own);
  }

  async change(days: number | undefined): Promise<void> {
    const { model } = this;
    const settings = { retention: days === undefined ? 'off' : `${days}d` };
    const isShorter = days !== undefined && (model.days === undefined || days < model.days);
    const removes = isShorter && !model.held ? model.wouldRemove(days) : 0;
    if (removes > 0) {
      const tell = (error: unknown) =>
        error instanceof Problem && error.options.members?.['would_remove'] === removes;
      await assert.rejects(this.set(settings), tell);
    }
    await this.set(settings, removes);
    model.days = days;
    this.#keep(await this.#events.hand());
  }

  async set(settings: OrganizationSettings, confirmed?: number): Promise<unknown> {
    const { id } = this.organization;
    const preview = await this.#previews.of(id, settings, confirmed);
    return this.directory.change(operatorCall, updateOrganization(id, settings, preview));
  }

  async hold(): Promise<void> {
    const { model, organization, directory } = this;
    if (model.held) {
      const confirmed = model.wouldRemove(model.days);
      const policy = policyOf(directory, organization.id);
      const preview = await previewRelease(engine.storage, policy, confirmed, this.clock());
      await directory.change(operatorCall, releaseHold(organization, 'over', preview));
    } else {
      await directory.change(operatorCall, placeHold(organization.id, 'a case'));
    }
    model.held = !model.held;
    this.#keep(await this.#events.hand());
  }

  /** One turn plans, the next may have to record the policy's event, and one removes. */
  async remove(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await this.reconciler.reconcile();
    this.model.remove();
  }

  /** All reads agree. */
  async check(): Promise<void> {
    const { storage } = engine;
    const policy = await this.policy();
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

  /** The organization's present policy. */
  async policy() {
    await this.directory.refresh();
    return policyOf(this.directory, this.organization.id);
  }
}

/** The control data of another process. */
const opened = (clock: () => number) => openDirectory(engine.storage, { clock, expiryMicros: clock });

function reconcilerOf(
  directory: Directory,
  clock: () => number,
  options: Partial<ConstructorParameters<typeof RetentionReconciler>[0]> = {},
): RetentionReconciler {
  const { storage } = engine;
  const reconciler = new RetentionReconciler({
    storage,
    directory,
    removal: new EventRemoval(storage),
    clock,
    graceMs: 0,
    log: silentLog,
    retentionDays: undefined,
    intervalMs: 3_600_000,
    instance: undefined,
    watermarks: async () => () => 2n ** 62n,
    record: async () => {},
    ...options,
  });
  reconcilers.push(reconciler);
  return reconciler;
}

// The simulator tests sequences of policies, holds and times, with kills.
test('a setting that would remove stored events waits for confirmation', async () => {
  const { storage } = engine;
  const world = await World.of({ slug: 'unconfirmed', retention: '10d' });
  await world.store([1, 20, 30]);
  await world.reconciler.reconcile();
  assert.equal((await world.policy()).days, undefined);
  assert.equal((await wouldEnd(storage, world.organization.id, 10, world.clock())).events, 2);
  await world.change(10);
  await world.remove();
  // One event, and those of the policy and the planned removal.
  assert.equal(world.model.stored.length, 3);
  await world.check();
});

test('an interrupted removal continues with the same events, unless a hold came between', async () => {
  const { storage } = engine;
  const removal = new EventRemoval(storage);
  const world = await World.of({ slug: 'cut-short' });
  const { organization } = world;
  await world.store([1, 20, 30]);
  await world.change(10);
  const expired = {
    organization: organization.id,
    beforeMicros: cutOffOf(await world.policy(), world.clock()) ?? 0,
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
  const world = await World.of({ slug: 'months' });
  const { organization } = world;
  for (let month = 0; month < 3; month++) {
    await world.store([0, 1]);
    world.model.today += 31;
  }
  await world.change(10);
  const removal = new EventRemoval(storage);
  await world.reconciler.reconcile();
  // Mutations wait for this, so the first one runs as long as the test likes.
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

test('of a hold and a deletion that begin together one is refused; a deletion that was begun is carried out', async () => {
  const { storage } = engine;
  for (const first of ['hold', 'deletion', 'either'] as const) {
    const world = await World.of({ slug: `both-${first}` });
    const { id, slug } = world.organization;
    await world.store([1, 20]);
    const another = await opened(() => world.clock());
    const preview = await previewDeletion({ storage, directory: another }, slug, 'op');
    assert.equal(preview.events, 2);
    const begins = [
      () => world.directory.change(operatorCall, placeHold(id, 'a case')),
      () => another.change(operatorCall, beginDeletion(preview, preview.events)),
    ];
    if (first === 'deletion') begins.reverse();
    const isRefused = (error: unknown) => error instanceof Problem && error.code === 'conflict';
    if (first === 'either') {
      const done = await Promise.allSettled(begins.map((start) => start()));
      assert.deepEqual(done.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
      assert.ok(done.every((one) => one.status === 'fulfilled' || isRefused(one.reason)));
    } else {
      await begins[0]?.();
      await assert.rejects(begins[1]?.() ?? Promise.resolve(), isRefused);
    }
    await world.reconciler.reconcile();
    const isHeld = (await world.policy()).heldMicros !== undefined;
    if (first !== 'either') assert.equal(isHeld, first === 'hold');
    assert.equal(world.directory.deletionOf(id)?.finishedMicros === undefined, isHeld);
    assert.equal(world.directory.organizationBySlug(slug)?.id, isHeld ? id : undefined);
    if (!isHeld) world.model.stored = [];
    await world.check();
  }
});

test('of thousands of organizations that were deleted those are known that have left something', async () => {
  const { storage } = engine;
  const ids = Array.from({ length: 4_000 }, () => randomUUID());
  const left = ids[3_999] ?? '';
  await storage.insertRows('erased_events', [{ org: left, erasure: randomUUID(), seq: '1' }]);
  assert.deepEqual([...(await withRowsLeft(storage, ids))], [left]);
});

test('of several processes one removes, and all at once do no harm', async () => {
  const { storage } = engine;
  const world = await World.of({ slug: 'several' });
  const { organization } = world;
  await world.store([1, 20, 30]);
  await world.change(10);
  const processes: RetentionReconciler[] = [];
  for (const instance of [randomUUID(), randomUUID(), randomUUID(), undefined, undefined])
    processes.push(reconcilerOf(await opened(() => world.clock()), () => world.clock(), { instance }));
  const claiming = processes.slice(0, 3);
  for (let turn = 0; turn < 2; turn++)
    await Promise.all(claiming.map((reconciler) => reconciler.reconcile()));
  // The holder of the claim may have been too late, and no other need have it.
  await claiming[0]?.reconcile();
  world.model.remove();
  await world.check();
  await world.store([9, 9]);
  world.model.today += 5;
  // Without claims, as after a long pause of a process.
  const unclaimed = processes.slice(3);
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

test('a change during a turn is not undone', async () => {
  const { storage } = engine;
  const world = await World.of({ slug: 'changed-meanwhile', retention: '10d' });
  let change: (() => Promise<unknown>) | undefined;
  /** The change comes after a turn has read settings and policies. */
  const busy: Storage = {
    ...storage,
    readRows: async <T>(...asked: Parameters<Storage['readRows']>) => {
      const rows = await storage.readRows<T>(...asked);
      const made = / journal\b/.test(asked[0]) ? change : undefined;
      change = made === undefined ? change : undefined;
      await made?.();
      return rows;
    },
  };
  const clock = () => world.clock();
  const reconciler = reconcilerOf(await openDirectory(busy, { clock, expiryMicros: clock }), clock);
  change = () => world.change(30);
  await reconciler.reconcile();
  assert.equal(change, undefined);
  assert.equal((await world.policy()).days, 30);
});

test('a stopped tree or failed work of one organization does not delay the retention of others', async () => {
  const { storage } = engine;
  const worlds: World[] = [];
  for (const slug of ['aside-still', 'aside-failing', 'aside-other']) {
    const world = await World.of({ slug });
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
  const clock = () => worlds[0]?.clock() ?? 0;
  const watermarks = async () => (id: string) => (id === still ? 0n : 2n ** 62n);
  const reconciler = reconcilerOf(await opened(clock), clock, { removal, watermarks });
  await reconciler.reconcile();
  await reconciler.reconcile();
  const rows = await storage.rows<{ id: string; n: string }>(
    'SELECT toString(org) AS id, count() AS n FROM events WHERE activity_id = 2000 AND org IN {orgs:Array(UUID)} GROUP BY org',
    { orgs: [still, failing, other] },
  );
  const left = new Map(rows.map(({ id, n }) => [id, n]));
  assert.deepEqual([left.get(still ?? ''), left.get(failing ?? ''), left.get(other ?? '')], ['3', '3', '1']);
});

test('what a clock that jumps has expired is planned, stays until servers have run for the grace period, and is cancelled', async () => {
  const { storage } = engine;
  const world = await World.of({ slug: 'jumped' });
  const { id } = world.organization;
  await world.store([1, 2]);
  await world.change(10);
  let [passedMs, aheadDays] = [0, 0];
  const clock = () => world.clock() + aheadDays * dayMicros;
  const times = { graceMs: 86_400_000, passedMs: () => passedMs };
  const reconciler = reconcilerOf(await opened(clock), clock, times);
  const stored = async () => {
    const [row] = await storage.rows<{ n: string }>(
      'SELECT count() AS n FROM events WHERE org = {id:UUID} AND activity_id = 2000',
      { id },
    );
    return Number(row?.n);
  };
  const planned = async () => (await waitingRemovals(storage, id)).get(id)?.events;
  /** A turn every half hour while servers run. */
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
  // With the event of the changed setting.
  assert.deepEqual([await planned(), await stored()], [3, 2]);
  // A server that was stopped for a month counts at most an hour.
  passedMs += 30 * 86_400_000;
  await run(20);
  assert.deepEqual([await planned(), await stored()], [3, 2]);
  aheadDays = 0;
  await run(0.5);
  assert.deepEqual([await planned(), await stored()], [undefined, 2], 'the clock went back');
  aheadDays = 100;
  await run(0.5);
  await run(24.5);
  assert.deepEqual([await planned(), await stored()], [undefined, 0]);
});

test('running time equals elapsed time, with any number of servers', async () => {
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
