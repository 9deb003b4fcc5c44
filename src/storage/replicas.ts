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
