import { EngineError } from '../base/errors/engine-error.ts';
import { quoteIdentifier, quoteString } from './quote.ts';
import type { Settings, Storage } from './storage.ts';

/** Skips nodes that do not answer; callers that need all must count them. */
export const everywhere: Settings = { skip_unavailable_shards: 1 };

/** A replacing table on all replicas, since one may lag: rows may repeat, and old versions appear. */
export const everyReplicaOf = ({ cluster }: Storage, table: string): string =>
  cluster === undefined
    ? table
    : `clusterAllReplicas(${quoteString(cluster)}, currentDatabase(), ${quoteIdentifier(table)})`;

/** Most replicas have all control data. A server that has lost its disk does not count until it is rebuilt. */
export async function requireMajority(storage: Storage): Promise<void> {
  const { cluster, database } = storage;
  if (cluster === undefined) return;
  const [row] = await storage.rows<{ answer: string; nodes: string }>(
    `SELECT toString(count()) AS answer,
       toString((SELECT count() FROM system.clusters WHERE cluster = {cluster:String})) AS nodes
     FROM clusterAllReplicas(${quoteString(cluster)}, system.tables)
     WHERE database = {database:String} AND name = 'journal'`,
    { cluster, database },
    { settings: everywhere },
  );
  const { answer, nodes } = { answer: Number(row?.answer ?? 0), nodes: Number(row?.nodes ?? 0) };
  if (answer * 2 > nodes) return;
  const words = `Only ${answer} of ${nodes} cluster nodes answer; a majority is required`;
  throw new EngineError('unreachable', words);
}

const quorumMsMax = 1_000;

/**
 * With a single replica, as after SYSTEM DROP REPLICA, `auto` never returns, so one replica suffices then. An INSERT that waits
 * for a replica dropped in this second ends by its time limit, and is sent again.
 */
export class Quorum {
  readonly #storage: Storage;
  readonly #known = new Map<string, { readonly atMs: number; readonly settings: Promise<Settings> }>();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** For an INSERT into a table. Rejects with EngineError. */
  settings(table: string): Promise<Settings> {
    const { cluster } = this.#storage;
    if (cluster === undefined) return Promise.resolve({});
    const nowMs = performance.now();
    const known = this.#known.get(table);
    if (known !== undefined && nowMs - known.atMs < quorumMsMax) return known.settings;
    const settings = this.#ask(cluster, table === 'events' ? 'events_local' : table);
    this.#known.set(table, { atMs: nowMs, settings });
    settings.catch(() => this.#known.delete(table));
    return settings;
  }

  async #ask(cluster: string, table: string): Promise<Settings> {
    const { database } = this.#storage;
    const [row] = await this.#storage.rows<{ fewest: string }>(
      `SELECT toString(min(total_replicas)) AS fewest FROM clusterAllReplicas(${quoteString(cluster)}, system.replicas)
       WHERE database = {database:String} AND table = {table:String} AND total_replicas > 0`,
      { database, table },
      { settings: everywhere },
    );
    return { insert_quorum: row?.fewest === '1' ? 1 : 'auto' };
  }
}

const table = / FROM events\b/g;

export const onLocal = (database: string, query: string): string =>
  query.replaceAll(table, ` FROM ${quoteIdentifier(database)}.events_local`);

/**
 * A query that reads the events of `{org:UUID}` several times on one snapshot. One engine does that by
 * itself. On a cluster each read would be separate, so the whole query goes to the organization's shard:
 *
 *     SELECT … FROM cluster(…, view(query, over events_local), the sharding key) WHERE the organization
 *
 * The query must say `FROM events`, name every column, and not end in FORMAT or SETTINGS.
 */
export function onShard({ cluster, database }: Pick<Storage, 'cluster' | 'database'>, query: string): string {
  if (cluster === undefined) return query;
  const local = onLocal(database, query);
  return (
    `SELECT * EXCEPT shard_org FROM cluster(${quoteString(cluster)}, ` +
    `view(SELECT *, {org:UUID} AS shard_org FROM (${local})), cityHash64(shard_org)) WHERE shard_org = {org:UUID}`
  );
}
