import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError } from '../base/errors/engine-error.ts';
import { segmentSeqRange } from '../base/events/sequence.ts';
import { limits } from './limits.ts';
import { quoteString } from './quote.ts';
import type { Settings, Storage } from './storage.ts';

/** Time between questions whether an earlier attempt has ended on all nodes, and whether replicas have what was stored. */
const attemptPollMs = 200;

/** Time in milliseconds; when it is over the question fails, and is asked again. */
const replaceSettings: Settings = {
  replace_running_query: 1,
  replace_running_query_max_wait_ms: limits.insertEndMsMax,
};

/**
 * Of a row of system.replicas: nothing was ever written to the table. Its log looks the same while the very first entry has not
 * been copied yet, which takes a replica milliseconds.
 */
const hasEmptyLog =
  "(log_max_index = 0 AND log_pointer = 0 AND zookeeper_exception = '' AND NOT is_readonly AND now() > {begun:DateTime} + 3)";

/** Nodes that do not answer are left out, and counted. */
const everywhere: Settings = { skip_unavailable_shards: 1 };

const present = 'seq BETWEEN {first:UInt64} AND {last:UInt64}';

/**
 * What earlier attempts to store a segment have left, asked after any doubt. They are ended first, or waited for.
 *
 * - One server: the question has the query id of the attempts, and takes the place of one that is under way: the engine
 *   ends it and waits until it has ended. KILL QUERY would need a right on `system.processes`.
 * - Several addresses: that is done at each. Behind one that does not answer an attempt may still be at work; so it is
 *   waited for until the time is over that the engine gives an attempt.
 * - A cluster: the attempt may also be at work on nodes whose address the service does not know, and replicas may not
 *   have fetched yet what one of them has stored. Both are asked of all nodes.
 */
export class Attempts {
  readonly #storage: Storage;
  readonly #name: string;
  /** When each attempt of this process began of which it is not known what came of it, by `performance.now()`. */
  readonly #sentAt = new Map<number, number>();

  /** `name` tells those apart that number segments each for itself. */
  constructor(storage: Storage, name: string) {
    this.#storage = storage;
    this.#name = name;
  }

  /** Runs the attempt that has this number. */
  async during(number: number, attempt: (queryId: string) => Promise<void>): Promise<void> {
    this.#sentAt.set(number, performance.now());
    await attempt(this.#queryId(number));
    this.#sentAt.delete(number);
  }

  #queryId(number: number): string {
    return `${this.#storage.database}-${this.#name}-${number}`;
  }

  /**
   * Ends the attempt that has this number, then counts the rows that are stored under it. Rejects with an EngineError
   * while it cannot be known, as a node does not answer or replicas lag behind.
   */
  async rowsStored(number: number): Promise<number> {
    const queryId = this.#queryId(number);
    const found = await this.#rowsOf(number, queryId);
    this.#sentAt.delete(number);
    return found;
  }

  async #rowsOf(segment: number, queryId: string): Promise<number> {
    const { rows, silent } = await this.#storage.rowsOfEach(
      `SELECT count() AS rows FROM events WHERE ${present}`,
      segmentSeqRange(segment),
      { queryId, settings: replaceSettings, timeoutMs: limits.insertMsMax },
    );
    if (silent > 0) this.#requireAge(segment);
    const { cluster } = this.#storage;
    if (cluster === undefined) return Math.max(...rows.map((one) => Number(one['rows'])));
    await this.#untilEnded(cluster, segment, queryId);
    await this.#untilReplicated(cluster);
    return this.#rowsOnCluster(cluster, segment);
  }

  /** A node that cannot be asked may be at work on an attempt for as long as one may take. */
  #requireAge(segment: number): void {
    // What an earlier process sent, it sent before this one started.
    const ageMs = performance.now() - (this.#sentAt.get(segment) ?? 0);
    if (ageMs > limits.attemptMsMax) return;
    const words = `a node does not answer, where an earlier attempt may still be under way for ${Math.ceil((limits.attemptMsMax - ageMs) / 1000)} s`;
    throw new EngineError('unreachable', words);
  }

  /** What a Distributed table has passed on to other nodes has ids of its own there, and this one as its origin. */
  async #untilEnded(cluster: string, segment: number, queryId: string): Promise<void> {
    await this.#poll('an earlier attempt is still under way', async () => {
      const [row] = await this.#storage.rows<{ running: string; silent: string }>(
        `SELECT toString(countIf(initial_query_id = {queryId:String})) AS running, toString(
           (SELECT count() FROM system.clusters WHERE cluster = {cluster:String}) - uniqExact(_shard_num)) AS silent
         FROM clusterAllReplicas(${quoteString(cluster)}, system.processes)`,
        { queryId, cluster },
        { settings: everywhere },
      );
      if (row?.silent !== '0') this.#requireAge(segment);
      return row?.running === '0';
    });
  }

  /**
   * Until every replica that answers has fetched what was stored by now. A part that only a dead one has is in the
   * queues of the others, so what that may bring back is waited for.
   */
  async #untilReplicated(cluster: string): Promise<void> {
    let begun: string | undefined;
    const of = `database = {database:String} AND table = 'events_local'`;
    await this.#poll('replicas have not fetched yet what was stored', async () => {
      const [row] = await this.#storage.rows<{ now: string; behind: string }>(
        `SELECT toString(now()) AS now,
           toString((SELECT count() FROM clusterAllReplicas(${quoteString(cluster)}, system.replicas)
             WHERE ${of} AND log_pointer <= log_max_index AND NOT ${hasEmptyLog}) +
           (SELECT count() FROM clusterAllReplicas(${quoteString(cluster)}, system.replication_queue)
             WHERE ${of} AND type = 'GET_PART' AND create_time <= {begun:DateTime})) AS behind`,
        { database: this.#storage.database, begun: begun ?? '2100-01-01 00:00:00' },
        { settings: everywhere },
      );
      begun ??= row?.now;
      return row?.behind === '0';
    });
  }

  /** On whatever replica they are. */
  async #rowsOnCluster(cluster: string, segment: number): Promise<number> {
    const [row] = await this.#storage.rows<{ rows: string }>(
      `SELECT toString(max(found)) AS rows FROM (
         SELECT uniqExact(seq) AS found FROM ${eventsOfAll(cluster)} WHERE ${present}
         UNION ALL SELECT count() AS found FROM events WHERE ${present})`,
      segmentSeqRange(segment),
      { settings: everywhere, timeoutMs: limits.insertMsMax },
    );
    return Number(row?.rows ?? 0);
  }

  async #poll(what: string, isOver: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + limits.insertEndMsMax;
    while (!(await isOver())) {
      if (performance.now() > deadline) throw new EngineError('timeout', what);
      await sleep(attemptPollMs);
    }
  }
}

/** The table of events of every replica of a cluster, as one: each event once for each replica that has it. */
export const eventsOfAll = (cluster: string): string =>
  `clusterAllReplicas(${quoteString(cluster)}, currentDatabase(), events_local)`;
