import { counter } from '../base/observability/metrics.ts';
import {
  allTimeMicros,
  countExpired,
  type EventRemoval,
  type Expired,
  policyActivities,
  type RemovalPlan,
} from '../storage/removal.ts';
import { type Change, changeOfRemoval, sourceEventOfChange } from './change-events.ts';
import { carryOutDeletion, ourselves, withRowsLeft } from './deletion.ts';
import { forgetLeftPlans } from './erasure.ts';
import { PlannedRemovals } from './planned-removals.ts';
import { type ReconcilerOptions, ReconcilerLoop } from './reconciler.ts';
import { effectiveRetentionDays, type Organization } from './organizations.ts';
import type { ControlState } from './state.ts';
import { cutOffOf, followSetting, policyOf, type RetentionPolicy, wouldEnd } from './retention.ts';

interface Options extends ReconcilerOptions {
  readonly removal: EventRemoval;
  /** The service's default; undefined: for ever. */
  readonly retentionDays: number | undefined;
  /** Milliseconds that servers run before expired events are removed. */
  readonly graceMs: number;
  /** Monotonic, milliseconds. */
  readonly passedMs?: () => number;
}

const allOrder = 2n ** 64n - 1n;

/**
 * Turns settings into policies if that removes no event, and removes expired events.
 *
 *     expired ─▶ planned: an event, a metric, `org show` ─▶ the grace period, while servers run ─▶ removal
 *                  └─▶ cancelled where the policy or the clock goes back
 *
 *     removal: plan written ─▶ policy read again: held, or kept for longer? ─yes─▶ plan ended, no more removed
 *                     ▲ └no─▶ mutation of the engine, of one month ─▶ all months done: plan ended
 *                     └───────────────────────┘
 *
 * The next turn continues a plan that a crash left.
 */
export class RetentionReconciler {
  readonly #options: Options;
  readonly #loop: ReconcilerLoop;
  readonly #planned: PlannedRemovals;
  /** Organizations whose retention is logged as differing from their setting. */
  readonly #reported = new Map<string, number>();
  /** Events of policies found when nothing else had expired. */
  readonly #clean = new Map<string, string>();
  readonly #removed = counter(
    'auditlog_retention_removed_events_total',
    'Events removed as they had expired.',
    [],
  );

  constructor(options: Options) {
    this.#options = options;
    this.#planned = new PlannedRemovals(options.storage, options.graceMs, options.passedMs);
    const failed = 'Expired events could not be removed yet';
    this.#loop = new ReconcilerLoop(options, 'retention', (signal) => this.reconcile(signal), failed);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Rejects with EngineError; the next turn does the rest. */
  reconcile(signal?: AbortSignal): Promise<void> {
    return this.#loop.alone(async () => {
      const { directory, removal } = this.#options;
      await directory.refresh();
      await forgetLeftPlans(this.#options, this.#options.clock());
      await this.#adopt(signal);
      await this.#delete(signal);
      await this.#carryOut(await removal.unfinished(), signal);
      signal?.throwIfAborted();
      await this.#planned.turn();
      await this.#cancel(signal);
      await this.#remove(signal);
    });
  }

  /** Continues deletions, and removes late events of deleted organizations. */
  async #delete(signal: AbortSignal | undefined): Promise<void> {
    const { storage, directory, removal, log } = this.#options;
    const deletions = directory.deletions();
    const allExpired = deletions.map(({ id }) => ({ organization: id, beforeMicros: allTimeMicros }));
    const found = await removal.find(allExpired);
    const left = await withRowsLeft(
      storage,
      deletions.map(({ id }) => id),
    );
    for (const deletion of deletions) {
      const { id, slug, events, finishedMicros } = deletion;
      if (finishedMicros !== undefined && !found.has(id) && !left.has(id)) continue;
      await this.#loop.job({ organization: id }, signal, async () => {
        if ((await removal.underWay(id)) > 0) return;
        await carryOutDeletion(this.#options, removal, deletion, { signal });
        log.info({ organization: id, slug, events }, 'An organization is deleted');
      });
    }
  }

  /** Without confirmation, so only if it removes no event. */
  async #adopt(signal: AbortSignal | undefined): Promise<void> {
    const { directory, retentionDays } = this.#options;
    for (const organization of directory.organizations()) {
      const { id } = organization;
      const days = effectiveRetentionDays(organization, retentionDays);
      const policy = policyOf(directory, id);
      if (policy.days === days || policy.heldMicros !== undefined) continue;
      await this.#loop.job({ organization: id }, signal, () => this.#follow(organization, policy, days));
    }
  }

  /** Unless it needs confirmation. */
  async #follow(
    organization: Organization,
    policy: RetentionPolicy,
    days: number | undefined,
  ): Promise<void> {
    const { directory, log } = this.#options;
    const { id, slug } = organization;
    const ended = await this.#wouldEnd(policy, days);
    if (ended > 0) {
      if (this.#reported.get(id) === days) return;
      this.#reported.set(id, days ?? 0);
      log.warn(
        {
          organization: slug,
          days,
          kept_days: policy.days ?? null,
          would_remove: ended,
          command: `auditlog org set --org ${slug} --retention default --confirm ${ended}`,
        },
        'RETENTION is not applied to an organization, as it would remove stored events: `command` applies it',
      );
      return;
    }
    const preview = { version: policy.version, days, removes: 0 };
    await directory.change({ actor: ourselves }, followSetting(organization, preview));
    log.info(
      { organization: slug, days: days ?? null },
      'The retention of an organization follows its setting',
    );
  }

  /** Without an earlier policy, events that have expired by their recorded day do not count. */
  async #wouldEnd(policy: RetentionPolicy, days: number | undefined): Promise<number> {
    const { storage, clock } = this.#options;
    const isShorter = days !== undefined && (policy.days === undefined || days < policy.days);
    if (!isShorter) return 0;
    const { events, expired } = await wouldEnd(storage, policy.id, days, clock());
    if (events === 0 || expired === undefined || policy.version > 0) return events;
    const [row] = await storage.rows<{ events: string }>(
      `SELECT count() AS events FROM events WHERE org = {org:UUID} AND expires > today()
         AND time < fromUnixTimestamp64Micro({before:Int64}, 'UTC')`,
      { org: policy.id, before: expired.beforeMicros },
    );
    return Number(row?.events ?? 0);
  }

  #record(organization: Organization, change: Change): Promise<void> {
    return this.#options.record(
      organization.id,
      sourceEventOfChange(change, ourselves.name, this.#options.clock()),
    );
  }

  /** The policy now keeps them longer, or the clock went back. */
  async #cancel(signal: AbortSignal | undefined): Promise<void> {
    const { clock, directory, log } = this.#options;
    for (const id of this.#planned.organizations()) {
      const plan = this.#planned.of(id);
      const cutOff = cutOffOf(directory.policyOf(id), clock());
      if (plan === undefined || (cutOff !== undefined && plan.beforeMicros <= cutOff)) continue;
      await this.#loop.job({ organization: id }, signal, async () => {
        const organization = directory.organizationById(id);
        if (organization !== undefined)
          await this.#record(organization, changeOfRemoval(organization, 'removalCancelled', plan));
        await this.#planned.end(plan);
        log.info({ organization: id, events: plan.events }, 'A planned removal is cancelled');
      });
    }
  }

  async #remove(signal: AbortSignal | undefined): Promise<void> {
    const { directory, removal, clock, watermarks } = this.#options;
    const allExpired = expiredAt(directory, clock());
    const found = await removal.find(allExpired);
    const watermarkOf = await watermarks();
    const plans: RemovalPlan[] = [];
    for (const expired of allExpired) {
      const { organization: id, beforeMicros } = expired;
      const events = found.get(id);
      const state = `${beforeMicros} ${events}`;
      const planned = this.#planned.of(id);
      if (events === undefined || this.#clean.get(id) === state) {
        if (planned !== undefined && this.#planned.isDue(planned)) await this.#planned.end(planned);
        continue;
      }
      const organization = directory.organizationById(id);
      const policy = directory.policyOf(id);
      if (organization === undefined || policy === undefined) continue;
      await this.#loop.job({ organization: id }, signal, async () => {
        if (planned === undefined) {
          if (!(await this.#plan(organization, expired))) this.#clean.set(id, state);
          return;
        }
        if (!this.#planned.isDue(planned) || !(await this.#isInTree(policy, watermarkOf(id)))) return;
        const plan = await removal.plan(planned, watermarkOf(id));
        if (plan !== undefined) plans.push(plan);
        // A later turn removes what is above the watermark.
        else if ((await removal.left({ ...planned, below: allOrder })) === 0)
          await this.#planned.end(planned);
      });
    }
    await this.#carryOut(plans, signal);
  }

  /** False if only events of policies have expired, which stay. */
  async #plan(organization: Organization, expired: Expired): Promise<boolean> {
    const { storage, log } = this.#options;
    const events = await countExpired(storage, expired);
    if (events === 0) return false;
    // First, so that no plan lacks its event.
    await this.#record(organization, changeOfRemoval(organization, 'removalPlanned', { ...expired, events }));
    await this.#planned.plan(expired, events);
    const before = new Date(expired.beforeMicros / 1000).toISOString();
    log.info({ organization: organization.id, before, events }, 'Expired events will be removed');
    return true;
  }

  /** The policy's event must be in the tree before a removal. */
  async #isInTree(policy: RetentionPolicy, below: bigint): Promise<boolean> {
    const recorded = await this.#recordedAt(policy);
    return recorded !== undefined && recorded < below;
  }

  /** Without this event removals would look like losses. */
  async #recordedAt({ id, version }: RetentionPolicy): Promise<bigint | undefined> {
    const [row] = await this.#options.storage.rows<{ n: string; first: string }>(
      `SELECT count() AS n, min(seq) AS first FROM events WHERE org = {org:UUID} AND own AND activity_id IN {codes:Array(Int64)}
         AND JSONExtractString(source, 'message', 'extra', 'policy', 'version') = {version:String}`,
      { org: id, codes: [...policyActivities], version: String(version) },
    );
    return row === undefined || row.n === '0' ? undefined : BigInt(row.first);
  }

  /** Reads the policies again before each step. */
  async #carryOut(plans: readonly RemovalPlan[], signal: AbortSignal | undefined): Promise<void> {
    const { directory, removal, clock, log } = this.#options;
    const still = async (some: readonly RemovalPlan[]): Promise<RemovalPlan[]> => {
      await directory.refresh();
      return some.filter(({ organization, beforeMicros }) => {
        const before = cutOffOf(directory.policyOf(organization), clock());
        return before !== undefined && beforeMicros <= before;
      });
    };
    // The engine completes it; a later turn looks.
    const idle: RemovalPlan[] = [];
    for (const plan of plans) if ((await removal.underWay(plan.organization)) === 0) idle.push(plan);
    const failed = (error: unknown): void => this.#loop.report(error);
    const done = await removal.carryOut(idle, { signal, still, failed });
    for (const { organization, beforeMicros, counts } of done) {
      const events = counts.reduce((sum, { rows }) => sum + rows, 0);
      if (events === 0) continue;
      this.#removed.inc(events);
      const before = new Date(beforeMicros / 1000).toISOString();
      log.info({ organization, before, events }, 'Expired events are removed');
    }
  }
}

/** At a moment in Unix microseconds. */
function expiredAt(state: ControlState, nowMicros: number): Expired[] {
  return state.organizations().flatMap(({ id }): Expired[] => {
    const beforeMicros = cutOffOf(state.policyOf(id), nowMicros);
    return beforeMicros === undefined ? [] : [{ organization: id, beforeMicros }];
  });
}
