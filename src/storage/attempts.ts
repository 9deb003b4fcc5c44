import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError } from '../base/errors/engine-error.ts';
import { segmentSeqRange } from '../base/events/sequence.ts';
import { limits } from './limits.ts';
import { quoteString } from './quote.ts';
import type { Settings, Storage } from './storage.ts';

const attemptPollMs = 200;

const replaceSettings: Settings = {
  replace_running_query: 1,
  replace_running_query_max_wait_ms: limits.insertEndMsMax,
};

/** Of a table without any writes. It looks the same for milliseconds while a replica copies the very first entry. */
const hasEmptyLog =
  "(log_max_index = 0 AND log_pointer = 0 AND zookeeper_exception = '' AND NOT is_readonly AND now() > {begun:DateTime} + 3)";

const everywhere: Settings = { skip_unavailable_shards: 1 };

const present = 'seq BETWEEN {first:UInt64} AND {last:UInt64}';

/**
 * Ends earlier INSERTs of a segment, or waits for them, then counts their rows.
 *
 * - One server: the question has the query id of the INSERT and replaces it; the engine ends a running one
 *   first. KILL QUERY would need a right on `system.processes`.
 * - Several addresses: asked at each. If one does not answer, its INSERT is waited for until its time is
 *   over.
 * - A cluster: all nodes are asked, as INSERTs may run on nodes without an address here, and replicas may
 *   lag.
 */
export class Attempts {
  readonly #storage: Storage;
  readonly #name: string;
  readonly #sentAt = new Map<number, number>();

  constructor(storage: Storage, name: string) {
    this.#storage = storage;
    this.#name = name;
  }

  async during(number: number, attempt: (queryId: string) => Promise<void>): Promise<void> {
    this.#sentAt.set(number, performance.now());
    await attempt(this.#queryId(number));
    this.#sentAt.delete(number);
  }

  #queryId(number: number): string {
    return `${this.#storage.database}-${this.#name}-${number}`;
  }

  /** Rejects with an EngineError while a node does not answer or replicas lag. */
  async rowsStored(number: number): Promise<number> {
    const queryId = this.#queryId(number);
    const found = await this.#countRows(number, queryId);
    this.#sentAt.delete(number);
    return found;
  }

  async #countRows(segment: number, queryId: string): Promise<number> {
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

  /** A silent node may be running an INSERT for as long as one may take. */
  #requireAge(segment: number): void {
    // An earlier process sent it before this one started.
    const ageMs = performance.now() - (this.#sentAt.get(segment) ?? 0);
    if (ageMs > limits.attemptMsMax) return;
    const words = `A node does not answer, and an earlier INSERT may be running there for ${Math.ceil((limits.attemptMsMax - ageMs) / 1000)} s`;
    throw new EngineError('unreachable', words);
  }

  /** A Distributed table forwards under other query ids, with this one as the initial id. */
  async #untilEnded(cluster: string, segment: number, queryId: string): Promise<void> {
    await this.#poll('An earlier INSERT is still running', async () => {
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

  /** A part that only a dead replica has is in the queues of the others. */
  async #untilReplicated(cluster: string): Promise<void> {
    let begun: string | undefined;
    const of = `database = {database:String} AND table = 'events_local'`;
    await this.#poll('Replicas have not fetched all stored parts yet', async () => {
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

/** Each event once per replica. */
export const eventsOfAll = (cluster: string): string =>
  `clusterAllReplicas(${quoteString(cluster)}, currentDatabase(), events_local)`;
