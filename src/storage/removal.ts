import { randomUUID } from 'node:crypto';
import { limits as baseLimits } from '../base/limits.ts';
import { seqTimeMs } from '../base/events/sequence.ts';
import { everyReplicaOf } from './cluster.ts';
import { limits } from './limits.ts';
import { quoteString } from './quote.ts';
import { renderPlaceholders } from './migration-files.ts';
import type { Parameters, Settings, Storage } from './storage.ts';

const removalOrganizationsMax = 200;
const removalCountMsMax = 120_000;

/** Events before a time (Unix microseconds). */
export interface Expired {
  readonly organization: string;
  readonly beforeMicros: number;
}

/** After every possible time: all events of an organization, those of its policies included. */
export const allTimeMicros = baseLimits.eventTimeMicrosMax + 1;

/**
 * The service's own events about policies and erased persons (contract: Events) stay as long as the organization, so that its
 * verifier can tell removals from losses; readers do not see them longer than others.
 */
export const policyActivities = [5013, 5014, 5015, 5016] as const;

/** Waits for all replicas; ON CLUSTER statements would otherwise give up after three minutes. */
export const mutationSettings: Settings = {
  mutations_sync: 2,
  distributed_ddl_task_timeout: limits.removalMsMax / 1000,
};

interface PlannedCount {
  readonly partition: string;
  readonly rows: number;
}

export interface RemovalBounds extends Expired {
  readonly below: bigint;
}

/** Fixed when written, so that it can be resumed. */
export interface RemovalPlan extends RemovalBounds {
  readonly id: string;
  readonly counts: readonly PlannedCount[];
}

export interface CarryOutOptions {
  readonly signal?: AbortSignal | undefined;
  still?(plans: readonly RemovalPlan[]): Promise<readonly RemovalPlan[]>;
  failed?(error: unknown): void;
}

/** A producer's event with such a code is an ordinary one. Never `NOT (… AND …)` (README.md, Conditions). */
const isNoPolicy = `NOT own OR activity_id NOT IN (${policyActivities.join(', ')})`;
const expiredOne = `org = {org:UUID} AND time < fromUnixTimestamp64Micro({before:Int64}, 'UTC')
  AND (${isNoPolicy} OR {before:Int64} >= ${allTimeMicros})`;
const recordingMonth = `toYYYYMM(fromUnixTimestamp64Milli(toInt64(bitShiftRight(seq, 26)) * 10 + ${seqTimeMs(0n)}, 'UTC'))`;
const partition = `toString(${recordingMonth})`;
const bucketMicros = 600_000_000;

export async function countExpired(
  storage: Storage,
  { organization, beforeMicros }: Expired,
): Promise<number> {
  const [row] = await storage.rows<{ events: string }>(
    `SELECT count() AS events FROM events WHERE ${expiredOne}`,
    { org: organization, before: beforeMicros },
    { timeoutMs: removalCountMsMax },
  );
  return Number(row?.events ?? 0);
}

/** One partition at a time, for many organizations together. */
export class EventRemoval {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /**
   * The number of expired events by organization, those of policies included. It comes from the table's counts, so it is cheap; bounds
   * are rounded down to ten minutes.
   */
  async find(allExpired: readonly Expired[]): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    for (let at = 0; at < allExpired.length; at += removalOrganizationsMax) {
      const some = allExpired.slice(at, at + removalOrganizationsMax);
      const rows = await this.#storage.rows<{ org: string; events: string }>(
        `SELECT org, count() AS events FROM events WHERE intDiv(toUnixTimestamp64Micro(time), ${bucketMicros}) <
           transform(org, {organizations:Array(UUID)}, {buckets:Array(Int64)}, toInt64(0)) GROUP BY org`,
        {
          organizations: some.map(({ organization }) => organization),
          buckets: some.map(({ beforeMicros }) => Math.floor(beforeMicros / bucketMicros)),
        },
        { timeoutMs: removalCountMsMax },
      );
      for (const { org, events } of rows) found.set(org, Number(events));
    }
    return found;
  }

  /** Records the removal; undefined if there is nothing to remove. Removes nothing yet. */
  async plan(expired: Expired, below: bigint): Promise<RemovalPlan | undefined> {
    const plan = { ...expired, id: randomUUID(), below };
    const counts = await this.#count(plan);
    if (counts.length === 0) return undefined;
    await this.#write({ ...plan, counts }, false);
    return { ...plan, counts };
  }

  /** Plans that are not done. Rejects if a replica does not answer. */
  async unfinished(): Promise<RemovalPlan[]> {
    interface RemovalRow extends Omit<PlannedCount, 'rows'> {
      readonly id: string;
      readonly org: string;
      readonly n: string;
      readonly before: string;
      readonly below: string;
    }
    const rows = await this.#storage.rows<RemovalRow>(
      `SELECT toString(id) AS id, toString(any(org)) AS org, partition, argMax(rows, recorded) AS n,
         any(before) AS before, any(below) AS below
       FROM ${everyReplicaOf(this.#storage, 'removals')} GROUP BY id, partition
       HAVING NOT max(done) ORDER BY id`,
    );
    const plans = new Map<string, RemovalPlan>();
    for (const { id, org, partition: month, n, before, below } of rows) {
      const counts = plans.get(id)?.counts ?? [];
      const count = { partition: month, rows: Number(n) };
      const expired = { organization: org, beforeMicros: Number(before), below: BigInt(below) };
      plans.set(id, { id, ...expired, counts: [...counts, count] });
    }
    return [...plans.values()];
  }

  /**
   * Resolves with the plans and the removed numbers. Asks `still` before each mutation, as one takes minutes. Rejects with
   * EngineError; some events may be gone then. With `failed`, other partitions continue, and only plans in the failed one stay
   * unfinished.
   */
  async carryOut(
    plans: readonly RemovalPlan[],
    { signal, still = async (all) => all, failed }: CarryOutOptions = {},
  ): Promise<RemovalPlan[]> {
    const partitions = new Set(plans.flatMap(({ counts }) => counts.map((count) => count.partition)));
    const undone = new Set<RemovalPlan>();
    for (const one of [...partitions].sort()) {
      const here = plans.filter(({ counts }) => counts.some((count) => count.partition === one));
      for (let at = 0; at < here.length; at += removalOrganizationsMax) {
        const some = here.slice(at, at + removalOrganizationsMax);
        try {
          const good = await still(some);
          if (good.length > 0) await this.#removeIn(one, good, signal);
        } catch (error) {
          if (failed === undefined || signal?.aborted === true) throw error;
          for (const plan of some) undone.add(plan);
          failed(error);
        }
      }
    }
    const done: RemovalPlan[] = [];
    for (const plan of plans) if (!undone.has(plan)) done.push(await this.finish(plan));
    return done;
  }

  async left(bounds: RemovalBounds): Promise<number> {
    return (await this.#count(bounds)).reduce((sum, { rows }) => sum + rows, 0);
  }

  /**
   * The widest bounds of plans, and of `others`, without remaining events: any such event of a copy was
   * removed since.
   */
  async gone(organization: string, others: readonly RemovalBounds[] = []): Promise<RemovalBounds[]> {
    const rows = await this.#storage.rows<{ before: string; below: string }>(
      `SELECT DISTINCT toString(before) AS before, toString(below) AS below FROM removals FINAL
       WHERE org = {org:UUID}`,
      { org: organization },
    );
    const planned = rows.map(({ before, below }) => ({
      organization,
      beforeMicros: Number(before),
      below: BigInt(below),
    }));
    const farthestFirst = [...others, ...planned].toSorted(
      (a, b) => b.beforeMicros - a.beforeMicros || (a.below < b.below ? 1 : -1),
    );
    const found: RemovalBounds[] = [];
    for (const bounds of farthestFirst) {
      const { beforeMicros, below } = bounds;
      const isCovered = found.some((one) => beforeMicros <= one.beforeMicros && below <= one.below);
      if (!isCovered && (await this.left(bounds)) === 0) found.push(bounds);
    }
    return found;
  }

  async organizations(): Promise<string[]> {
    const rows = await this.#storage.rows<{ org: string }>(
      'SELECT DISTINCT toString(org) AS org FROM removals ORDER BY org',
    );
    return rows.map(({ org }) => org);
  }

  async finish(plan: RemovalPlan): Promise<RemovalPlan> {
    const left = new Map((await this.#count(plan)).map(({ partition: month, rows }) => [month, rows]));
    const counts = plan.counts.map((one) => ({
      ...one,
      rows: Math.max(0, one.rows - (left.get(one.partition) ?? 0)),
    }));
    const done = { ...plan, counts };
    await this.#write(done, true);
    return done;
  }

  /**
   * Number of unfinished mutations, of one organization or of all; the engine resumes them after a restart. Rejects if a node of
   * the cluster does not answer.
   */
  async underWay(organization = ''): Promise<number> {
    const { cluster } = this.#storage;
    const mutations =
      cluster === undefined
        ? 'system.mutations'
        : `clusterAllReplicas(${quoteString(cluster)}, system.mutations)`;
    const [row] = await this.#storage.rows<{ n: string }>(
      `SELECT count() AS n FROM ${mutations} WHERE database = {database:String} AND table = {table:String}
         AND NOT is_done AND multiSearchAny(substring(command, 1, 30), ['(DELETE IN PARTITION', '(UPDATE activity_name'])
         AND position(command, {organization:String}) > 0`,
      { database: this.#storage.database, table: this.#table, organization },
    );
    return Number(row?.n ?? 0);
  }

  get #table(): string {
    return this.#storage.cluster === undefined ? 'events' : 'events_local';
  }

  /**
   * Parameters become text of the mutation, so there are at most `removalOrganizationsMax` plans. The engine
   * cannot evaluate `transform` on parts; `org IN` lets it skip parts without these organizations.
   */
  async #removeIn(
    month: string,
    plans: readonly RemovalPlan[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { database, cluster } = this.#storage;
    const target = { database, cluster };
    const statement = renderPlaceholders(
      `ALTER TABLE {{sharded events}} {{on_cluster}} DELETE IN PARTITION ID ${quoteString(month)}
       WHERE org IN {organizations:Array(UUID)}
         AND toUnixTimestamp64Micro(time) < transform(org, {organizations:Array(UUID)}, {befores:Array(Int64)}, toInt64(0))
         AND seq < transform(org, {organizations:Array(UUID)}, {belows:Array(UInt64)}, toUInt64(0))
         AND (${isNoPolicy} OR org IN {whole:Array(UUID)})`,
      target,
    );
    const parameters: Parameters = {
      organizations: plans.map(({ organization }) => organization),
      befores: plans.map(({ beforeMicros }) => beforeMicros),
      belows: plans.map(({ below }) => below),
      whole: plans.flatMap(({ organization, beforeMicros }) =>
        beforeMicros >= allTimeMicros ? [organization] : [],
      ),
    };
    await this.#storage.command(statement, parameters, {
      settings: mutationSettings,
      timeoutMs: limits.removalMsMax,
      ...(signal !== undefined && { signal }),
    });
  }

  async #count({ organization, beforeMicros, below }: RemovalBounds): Promise<PlannedCount[]> {
    const rows = await this.#storage.rows<{ month: string; n: string }>(
      `SELECT ${partition} AS month, count() AS n FROM events
       WHERE ${expiredOne} AND seq < {below:UInt64} GROUP BY month ORDER BY month`,
      { org: organization, before: beforeMicros, below },
      { timeoutMs: removalCountMsMax },
    );
    return rows.map(({ month, n }) => ({ partition: month, rows: Number(n) }));
  }

  #write({ id, organization, beforeMicros, below, counts }: RemovalPlan, done: boolean): Promise<void> {
    const rows = counts.map(({ partition: month, rows: n }) => ({
      id,
      org: organization,
      partition: month,
      rows: n,
      before: beforeMicros,
      below: String(below),
      done,
    }));
    return this.#storage.insertRows('removals', rows);
  }
}
