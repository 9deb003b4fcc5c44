import { EngineError } from '../base/errors/engine-error.ts';
import { quoteIdentifier, quoteString } from './quote.ts';
import type { Settings, Storage } from './storage.ts';

/** Nodes that do not answer are left out; whoever must not overlook one looks how many did. */
export const everywhere: Settings = { skip_unavailable_shards: 1 };

/**
 * A replacing table as all replicas of a cluster have it, as one of them may lag behind: its rows may be there several
 * times, and older ones beside newer ones.
 */
export const everyReplicaOf = ({ cluster }: Storage, table: string): string =>
  cluster === undefined
    ? table
    : `clusterAllReplicas(${quoteString(cluster)}, currentDatabase(), ${quoteIdentifier(table)})`;

/**
 * A row of control data is written to most replicas of a cluster: so where most answer none is overlooked. A server that has
 * lost its disk does not count before it is made anew.
 */
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
  const words = `${answer} of the ${nodes} nodes of the cluster answer: this takes most of them`;
  throw new EngineError('unreachable', words);
}

/** How long an answer holds about how many replicas there are. */
const quorumMsMax = 1_000;

/**
 * For an INSERT on a cluster: it is answered once most replicas have the rows, so that losing one loses nothing. Where a
 * shard has a single replica, as after SYSTEM DROP REPLICA, `auto` never returns: one replica is enough then, in all shards.
 * An INSERT that waits for a replica dropped in this second ends by its time limit, and is sent again.
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
    // What has failed is asked again at once.
    settings.catch(() => this.#known.delete(table));
    return settings;
  }

  async #ask(cluster: string, table: string): Promise<Settings> {
    const { database } = this.#storage;
    // A replica that has lost its Keeper counts none.
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

/**
 * A query that reads the events of the organization `{org:UUID}` in several places, as one that sees one moment of the
 * table. On one engine it is that by itself. On a cluster each place would be a read of its own, so what arrives between
 * the count and the rows would be in one of them only; instead the whole query is handed to the shard that has the
 * organization:
 *
 *     SELECT … FROM cluster(…, view(query, over events_local), the sharding key) WHERE the organization
 *
 * The query says `FROM events`, gives every column a name, and has no FORMAT and no SETTINGS at its end.
 */
export function onShard({ cluster, database }: Pick<Storage, 'cluster' | 'database'>, query: string): string {
  if (cluster === undefined) return query;
  const local = query.replaceAll(table, ` FROM ${quoteIdentifier(database)}.events_local`);
  return (
    `SELECT * EXCEPT shard_org FROM cluster(${quoteString(cluster)}, ` +
    `view(SELECT *, {org:UUID} AS shard_org FROM (${local})), cityHash64(shard_org)) WHERE shard_org = {org:UUID}`
  );
}
