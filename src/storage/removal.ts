import { randomUUID } from 'node:crypto';
import { limits as baseLimits } from '../base/limits.ts';
import { seqTimeMs } from '../base/events/sequence.ts';
import { everyReplicaOf } from './cluster.ts';
import { limits } from './limits.ts';
import { quoteString } from './quote.ts';
import { renderPlaceholders } from './migration-files.ts';
import type { Parameters, Settings, Storage } from './storage.ts';

/** Organizations that one mutation names. */
const removalOrganizationsMax = 200;
/** How long counting expired events may take. */
const removalCountMsMax = 120_000;

/** Events of an organization whose time is before a moment (Unix microseconds). */
export interface Expired {
  /** Lower-case UUID. */
  readonly organization: string;
  readonly beforeMicros: number;
}

/** Behind every time that an event can have: all that is stored of an organization, the events of its policies too. */
export const allTimeMicros = baseLimits.eventTimeMicrosMax + 1;

/**
 * Activities by which the service itself says what an organization's policy was, and which persons were erased (contract: Events). They stay for
 * as long as the organization, since whoever verifies it must be able to tell what they ended or changed from what
 * vanished or was altered; readers are shown them no longer than other events.
 */
export const policyActivities = [5013, 5014, 5015, 5016] as const;

/** A statement that ends when all replicas have done it; also one for all nodes, which is given up after three minutes else. */
export const mutationSettings: Settings = {
  mutations_sync: 2,
  distributed_ddl_task_timeout: limits.removalMsMax / 1000,
};

/** Rows of a plan in one partition that expire on the same day. */
interface PlannedCount {
  readonly partition: string;
  readonly expires: string;
  readonly rows: number;
}

/** What is removed at once of an organization. */
export interface RemovalBounds extends Expired {
  /** Only events below this place of the order of ingest. */
  readonly below: bigint;
}

/** What is to be removed of an organization: fixed when it is written, so that the work can be taken up again. */
export interface RemovalPlan extends RemovalBounds {
  readonly id: string;
  readonly counts: readonly PlannedCount[];
}

export interface CarryOutOptions {
  readonly signal?: AbortSignal | undefined;
  /** Those of some plans by which events may still go. */
  still?(plans: readonly RemovalPlan[]): Promise<readonly RemovalPlan[]>;
  /** Told of a partition from which nothing could be removed. */
  failed?(error: unknown): void;
}

/** A producer's event with such a code is one like any other. No `NOT (… AND …)`: see README.md, Conditions. */
const isNoPolicy = `NOT own OR activity_id NOT IN (${policyActivities.join(', ')})`;
const expiredOne = `org = {org:UUID} AND time < fromUnixTimestamp64Micro({before:Int64}, 'UTC')
  AND (${isNoPolicy} OR {before:Int64} >= ${allTimeMicros})`;
/** The month of recording, as the partition key of the table has it. */
const recordingMonth = `toYYYYMM(fromUnixTimestamp64Milli(toInt64(bitShiftRight(seq, 26)) * 10 + ${seqTimeMs(0n)}, 'UTC'))`;
const partition = `toString(${recordingMonth})`;
/** The bucket of the counts that the table keeps by ten minutes; a day is a whole number of them. */
const bucketMicros = 600_000_000;

/** How many events have expired. From narrow columns of these events alone. Rejects with EngineError. */
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

/** Removes events that have expired, by mutations of the engine: a partition at a time, for many organizations together. */
export class EventRemoval {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /**
   * Organizations that have expired events, with their number, events of policies included: from the counts that the table
   * keeps, so at next to no cost. Bounds that are no whole number of ten minutes count as the one before.
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

  /** Writes down what is to be removed of an organization; undefined where nothing is. Nothing is removed yet. */
  async plan(expired: Expired, below: bigint): Promise<RemovalPlan | undefined> {
    const plan = { ...expired, id: randomUUID(), below };
    const counts = await this.#count(plan);
    if (counts.length === 0) return undefined;
    await this.#write({ ...plan, counts }, false);
    return { ...plan, counts };
  }

  /** Plans that somebody has begun, and not said to be done. A replica of a cluster that does not answer rejects. */
  async unfinished(): Promise<RemovalPlan[]> {
    interface RemovalRow extends Omit<PlannedCount, 'rows'> {
      readonly id: string;
      readonly org: string;
      readonly n: string;
      readonly before: string;
      readonly below: string;
    }
    const rows = await this.#storage.rows<RemovalRow>(
      `SELECT toString(id) AS id, toString(any(org)) AS org, partition, toString(expires) AS expires,
         argMax(rows, recorded) AS n, any(before) AS before, any(below) AS below
       FROM ${everyReplicaOf(this.#storage, 'removals')} GROUP BY id, partition, expires
       HAVING NOT max(done) ORDER BY id`,
    );
    const plans = new Map<string, RemovalPlan>();
    for (const { id, org, partition: month, expires, n, before, below } of rows) {
      const counts = plans.get(id)?.counts ?? [];
      const count = { partition: month, expires, rows: Number(n) };
      const expired = { organization: org, beforeMicros: Number(before), below: BigInt(below) };
      plans.set(id, { id, ...expired, counts: [...counts, count] });
    }
    return [...plans.values()];
  }

  /**
   * Removes what plans name, and says that it is done; resolves with the plans and what was removed of them. `still` is
   * asked before each mutation which plans hold: one may take minutes, and a plan has one for each month. Rejects with
   * EngineError, and then some may be gone already; where `signal` fires the engine goes on by itself. Where `failed` is
   * given, the partitions behind one that fails are gone on with, and only the plans of that one are not done.
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

  /** How many rows are left within these bounds. */
  async left(bounds: RemovalBounds): Promise<number> {
    return (await this.#count(bounds)).reduce((sum, { rows }) => sum + rows, 0);
  }

  /**
   * Bounds of plans, and `others`, within which nothing is left of an organization, those that reach farthest: whatever a
   * copy has within them was removed since it was made.
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

  /** Organizations of which something was removed, or is about to be. */
  async organizations(): Promise<string[]> {
    const rows = await this.#storage.rows<{ org: string }>(
      'SELECT DISTINCT toString(org) AS org FROM removals ORDER BY org',
    );
    return rows.map(({ org }) => org);
  }

  /** Says that no more will be removed by a plan, and how much was. */
  async finish(plan: RemovalPlan): Promise<RemovalPlan> {
    const left = new Map(
      (await this.#count(plan)).map((one) => [`${one.partition} ${one.expires}`, one.rows]),
    );
    const counts = plan.counts.map((one) => ({
      ...one,
      rows: Math.max(0, one.rows - (left.get(`${one.partition} ${one.expires}`) ?? 0)),
    }));
    const done = { ...plan, counts };
    await this.#write(done, true);
    return done;
  }

  /**
   * Removals, and erasures of persons, that the engine is at, of an organization or of any; after a restart it goes on with those. On a cluster
   * every node is asked, and one that does not answer rejects.
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
   * Parameters of a mutation become part of it as text, so no more plans than `removalOrganizationsMax` come together. The
   * engine cannot look into `transform`: by `org` it leaves alone, unread, the parts that have nothing of these organizations.
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
    const rows = await this.#storage.rows<{ month: string; day: string; n: string }>(
      `SELECT ${partition} AS month, toString(expires) AS day, count() AS n FROM events
       WHERE ${expiredOne} AND seq < {below:UInt64} GROUP BY month, expires ORDER BY month, expires`,
      { org: organization, before: beforeMicros, below },
      { timeoutMs: removalCountMsMax },
    );
    return rows.map(({ month, day, n }) => ({ partition: month, expires: day, rows: Number(n) }));
  }

  #write({ id, organization, beforeMicros, below, counts }: RemovalPlan, done: boolean): Promise<void> {
    const rows = counts.map(({ partition: month, expires, rows: n }) => ({
      id,
      org: organization,
      partition: month,
      expires,
      rows: n,
      before: beforeMicros,
      below: String(below),
      done,
    }));
    return this.#storage.insertRows('removals', rows);
  }
}
