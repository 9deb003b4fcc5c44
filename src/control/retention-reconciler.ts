import type { ClockTrust } from '../base/time/clock-trust.ts';
import { counter } from '../base/observability/metrics.ts';
import {
  allTimeMicros,
  countExpired,
  type EventRemoval,
  type Expired,
  policyActivities,
  type RemovalPlan,
} from '../storage/removal.ts';
import { changeOfPolicy, sourceEventOfChange } from './change-events.ts';
import { carryOutDeletion, listDeletions, withRowsLeft } from './deletion.ts';
import { forgetLeftPlans } from './erasure.ts';
import { type ReconcilerOptions, ReconcilerLoop } from './reconciler.ts';
import { effectiveRetentionDays, listOrganizations, type Organization } from './organizations.ts';
import {
  keepsAll,
  cutOffOf,
  readPolicies,
  type RetentionPolicy,
  retentionTable,
  wouldEnd,
} from './retention.ts';

interface Options extends ReconcilerOptions {
  readonly trust: Pick<ClockTrust, 'expiryMicros' | 'latestMicros' | 'aheadMs' | 'holdBack'>;
  readonly removal: EventRemoval;
  /** The service's default; undefined: for ever. */
  readonly retentionDays: number | undefined;
}

/** Behind every place of the order of ingest. */
const allOrder = 2n ** 64n - 1n;

/** Words for who did what the service does by itself. */
const ourselves = 'auditlog';

/**
 * Makes policies of settings, where nothing goes by that, and removes what has expired by them. Readers are not
 * shown what has expired (read/readers.ts), so nobody sees how far a removal has come.
 *
 *     plan written ─▶ policy read again: held, or kept for longer? ─yes─▶ plan ended, no more removed
 *                     ▲ └no─▶ mutation of the engine, of one month ─▶ all months done: plan ended
 *                     └───────────────────────┘
 *
 * Whoever places a hold writes it first and looks for plans afterwards: so of a hold and a removal that begin together at
 * least one sees the other. A plan that a crash left behind goes the same way at the next turn.
 */
export class RetentionReconciler {
  readonly #options: Options;
  readonly #loop: ReconcilerLoop;
  /** Organizations whose retention is not what their setting says, and of which that was told. */
  readonly #told = new Map<string, number>();
  /** What was found the last time that there was nothing to remove: events of policies, which stay. */
  readonly #clean = new Map<string, string>();
  readonly #removed = counter(
    'auditlog_retention_removed_events_total',
    'Events removed as they had expired.',
    [],
  );

  constructor(options: Options) {
    this.#options = options;
    const failed = 'what has expired could not be removed yet';
    this.#loop = new ReconcilerLoop(options, 'retention', (signal) => this.reconcile(signal), failed);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Rejects with EngineError; whatever is left then is for the next turn. */
  reconcile(signal?: AbortSignal): Promise<void> {
    return this.#loop.alone(async () => {
      const { storage, removal } = this.#options;
      await forgetLeftPlans(storage, this.#options.trust.expiryMicros());
      // Policies first: a change writes the setting and then the policy, and a new policy beside an old setting would be undone.
      const before = await readPolicies(storage);
      const organizations = await listOrganizations(storage);
      const policies = await this.#adopt(organizations, before, signal);
      await this.#delete(signal);
      await this.#carryOut(await removal.unfinished(), signal);
      signal?.throwIfAborted();
      await this.#remove(organizations, policies, signal);
    });
  }

  /** Goes on with deletions that were cut short, and removes what came late of organizations that were deleted. */
  async #delete(signal: AbortSignal | undefined): Promise<void> {
    const { storage, removal, clock, log } = this.#options;
    const deletions = await listDeletions(storage);
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
        const done = await carryOutDeletion(storage, removal, deletion, clock(), signal);
        log.info(
          { organization: id, slug, events },
          done === undefined
            ? 'a deletion is taken back, as a hold came between'
            : 'an organization is deleted',
        );
      });
    }
  }

  /** Policies that follow the settings of their organizations, as far as they may without anybody's confirmation. */
  async #adopt(
    organizations: readonly Organization[],
    policies: ReadonlyMap<string, RetentionPolicy>,
    signal: AbortSignal | undefined,
  ): Promise<ReadonlyMap<string, RetentionPolicy>> {
    const followed = new Map(policies);
    for (const organization of organizations) {
      const { id } = organization;
      const days = effectiveRetentionDays(organization, this.#options.retentionDays);
      const policy = policies.get(id) ?? keepsAll(id);
      if (policy.days === days || policy.heldMicros !== undefined) continue;
      await this.#loop.job({ organization: id }, signal, async () => {
        const now = await this.#follow(organization, policy, days);
        if (now !== undefined) followed.set(id, now);
      });
    }
    return followed;
  }

  /** The policy that follows the setting; undefined where somebody has to confirm what would go by it. */
  async #follow(
    organization: Organization,
    policy: RetentionPolicy,
    days: number | undefined,
  ): Promise<RetentionPolicy | undefined> {
    const { storage, clock, log } = this.#options;
    const { id, slug } = organization;
    const ended = await this.#wouldEnd(policy, days);
    if (ended > 0) {
      if (this.#told.get(id) === days) return undefined;
      this.#told.set(id, days ?? 0);
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
      return undefined;
    }
    const now = await retentionTable.update(storage, policy, { days }, clock());
    log.info(
      { organization: slug, days: days ?? null },
      'the retention of an organization follows its setting',
    );
    await this.#record(organization, now);
    return now;
  }

  /** Where there was no policy, events that were to go by the day that they were recorded with do not count. */
  async #wouldEnd(policy: RetentionPolicy, days: number | undefined): Promise<number> {
    const { storage, trust } = this.#options;
    const isShorter = days !== undefined && (policy.days === undefined || days < policy.days);
    if (!isShorter) return 0;
    // By a clock that was set back nothing would seem to go.
    const { events, expired } = await wouldEnd(storage, policy.id, days, trust.latestMicros());
    if (events === 0 || expired === undefined || policy.version > 0) return events;
    const [row] = await storage.rows<{ events: string }>(
      `SELECT count() AS events FROM events WHERE org = {org:UUID} AND expires > today()
         AND time < fromUnixTimestamp64Micro({before:Int64}, 'UTC')`,
      { org: policy.id, before: expired.beforeMicros },
    );
    return Number(row?.events ?? 0);
  }

  #record(organization: Organization, policy: RetentionPolicy): Promise<void> {
    const change = changeOfPolicy(organization, 'retentionChanged', policy);
    return this.#options.record(
      organization.id,
      sourceEventOfChange(change, ourselves, this.#options.clock()),
    );
  }

  async #remove(
    organizations: readonly Organization[],
    policies: ReadonlyMap<string, RetentionPolicy>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { removal, trust, watermarks } = this.#options;
    await this.#lookAhead(organizations, policies);
    const allExpired = expiredAt(organizations, policies, trust.expiryMicros());
    const found = await removal.find(allExpired);
    const watermarkOf = await watermarks();
    const plans: RemovalPlan[] = [];
    for (const expired of allExpired) {
      const { organization: id, beforeMicros } = expired;
      const events = found.get(id);
      const state = `${beforeMicros} ${events}`;
      if (events === undefined || this.#clean.get(id) === state) continue;
      const organization = organizations.find((one) => one.id === id);
      const policy = policies.get(id);
      if (organization === undefined || policy === undefined) continue;
      await this.#loop.job({ organization: id }, signal, async () => {
        if (!(await this.#isTold(organization, policy, watermarkOf(id)))) return;
        const plan = await removal.plan(expired, watermarkOf(id));
        if (plan !== undefined) plans.push(plan);
        // What is not below the watermark yet is for a later turn.
        else if ((await removal.left({ ...expired, below: allOrder })) === 0) this.#clean.set(id, state);
      });
    }
    await this.#carryOut(plans, signal);
  }

  /** Says whether anything would go by a clock that is ahead of what has passed for certain. */
  async #lookAhead(
    organizations: readonly Organization[],
    policies: ReadonlyMap<string, RetentionPolicy>,
  ): Promise<void> {
    const { storage, removal, trust } = this.#options;
    if (trust.aheadMs() === 0) return;
    const allExpired = expiredAt(organizations, policies, trust.latestMicros());
    const found = await removal.find(allExpired);
    let waiting = 0;
    for (const expired of allExpired)
      if (found.has(expired.organization)) waiting += await countExpired(storage, expired);
    trust.holdBack(waiting > 0);
  }

  /** Nothing goes by a policy before its event is where that of what goes is. */
  async #isTold(organization: Organization, policy: RetentionPolicy, below: bigint): Promise<boolean> {
    const recorded = await this.#recordedAt(policy);
    if (recorded === undefined) await this.#record(organization, policy);
    return recorded !== undefined && recorded < below;
  }

  /** The place of a policy's event: without it nobody could tell what the policy has ended from what vanished. */
  async #recordedAt({ id, version }: RetentionPolicy): Promise<bigint | undefined> {
    const [row] = await this.#options.storage.rows<{ n: string; first: string }>(
      `SELECT count() AS n, min(seq) AS first FROM events WHERE org = {org:UUID} AND own AND activity_id IN {codes:Array(Int64)}
         AND JSONExtractString(source, 'message', 'extra', 'policy', 'version') = {version:String}`,
      { org: id, codes: [...policyActivities], version: String(version) },
    );
    return row === undefined || row.n === '0' ? undefined : BigInt(row.first);
  }

  /** Removes what plans name, as far as the policies of the moment before each step still end it. */
  async #carryOut(plans: readonly RemovalPlan[], signal: AbortSignal | undefined): Promise<void> {
    const { storage, removal, trust, log } = this.#options;
    const still = async (some: readonly RemovalPlan[]): Promise<RemovalPlan[]> => {
      const policies = await readPolicies(storage);
      return some.filter(({ organization, beforeMicros }) => {
        const before = cutOffOf(policies.get(organization), trust.expiryMicros());
        return before !== undefined && beforeMicros <= before;
      });
    };
    // What the engine is at goes on by itself, and is looked at in a later turn.
    const idle: RemovalPlan[] = [];
    for (const plan of plans) if ((await removal.underWay(plan.organization)) === 0) idle.push(plan);
    const failed = (error: unknown): void => this.#loop.tell(error);
    const done = await removal.carryOut(idle, { signal, still, failed });
    for (const { organization, beforeMicros, counts } of done) {
      const events = counts.reduce((sum, { rows }) => sum + rows, 0);
      if (events === 0) continue;
      this.#removed.inc(events);
      const before = new Date(beforeMicros / 1000).toISOString();
      log.info({ organization, before, events }, 'expired events are removed');
    }
  }
}

/** What has expired of each organization at a moment, Unix microseconds. */
function expiredAt(
  organizations: readonly Organization[],
  policies: ReadonlyMap<string, RetentionPolicy>,
  nowMicros: number,
): Expired[] {
  return organizations.flatMap(({ id }): Expired[] => {
    const beforeMicros = cutOffOf(policies.get(id), nowMicros);
    return beforeMicros === undefined ? [] : [{ organization: id, beforeMicros }];
  });
}
