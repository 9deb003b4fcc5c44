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

/** A row of a replacing table is written to most replicas of a cluster: so where most answer none is overlooked. */
export async function requireMajority(storage: Storage): Promise<void> {
  const { cluster } = storage;
  if (cluster === undefined) return;
  const [row] = await storage.rows<{ answer: string; nodes: string }>(
    `SELECT toString(count()) AS answer,
       toString((SELECT count() FROM system.clusters WHERE cluster = {cluster:String})) AS nodes
     FROM clusterAllReplicas(${quoteString(cluster)}, system.one)`,
    { cluster },
    { settings: everywhere },
  );
  const { answer, nodes } = { answer: Number(row?.answer ?? 0), nodes: Number(row?.nodes ?? 0) };
  if (answer * 2 > nodes) return;
  const words = `${answer} of the ${nodes} nodes of the cluster answer: this takes most of them`;
  throw new EngineError('unreachable', words);
}

/**
 * For an INSERT on a cluster: it is answered once most replicas have the rows, so that losing one loses nothing. Where a
 * shard has a single replica, as after SYSTEM DROP REPLICA, `auto` never returns: one replica is enough then, in all shards.
 */
export async function quorumSettings(storage: Storage, table: string): Promise<Settings> {
  const { cluster, database } = storage;
  if (cluster === undefined) return {};
  // A replica that has lost its Keeper counts none.
  const [row] = await storage.rows<{ fewest: string }>(
    `SELECT toString(min(total_replicas)) AS fewest FROM clusterAllReplicas(${quoteString(cluster)}, system.replicas)
     WHERE database = {database:String} AND table = {table:String} AND total_replicas > 0`,
    { database, table: table === 'events' ? 'events_local' : table },
    { settings: everywhere },
  );
  return { insert_quorum: row?.fewest === '1' ? 1 : 'auto' };
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
