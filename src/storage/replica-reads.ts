import { memoizeFor } from '../base/waiting/single-flight.ts';
import { everywhere, onLocal } from './cluster.ts';
import { quoteString } from './quote.ts';
import type { ReadSets, Settings, Storage } from './storage.ts';

const readSetsMsMax = 1_000;
/** A node that is slow to connect is one that another is preferred to, and no more. */
const asks: Settings = {
  ...everywhere,
  connect_timeout_with_failover_ms: 200,
  connections_with_failover_max_tries: 1,
};

interface Shard {
  readonly weight: number;
  readonly nodes: { readonly node: number; readonly rank: number }[];
}

/** Most replicas of a shard have an acknowledged event, so half of them, rounded up, have each. */
export class ReadReplicas {
  readonly #storage: Storage;
  readonly sets: () => Promise<ReadSets | undefined>;

  constructor(storage: Storage) {
    this.#storage = storage;
    this.sets = memoizeFor(readSetsMsMax, () => this.#ask());
  }

  async #ask(): Promise<ReadSets | undefined> {
    const { cluster, database } = this.#storage;
    if (cluster === undefined) return undefined;
    const replicas = await this.#storage.rows<Replica>(
      `SELECT toString(shard_num) AS shard, toUInt32(shard_weight) AS weight, is_local AS local
       FROM system.clusters WHERE cluster = {cluster:String} ORDER BY shard_num, replica_num`,
      { cluster },
    );
    // No other node is asked where one suffices.
    if (readSets(shardsOf(replicas)) === undefined) return undefined;
    const answers = await this.#storage.rows<{ node: number }>(
      `SELECT toUInt32(_shard_num) AS node FROM clusterAllReplicas(${quoteString(cluster)}, system.tables)
       WHERE database = {database:String} AND name = 'events_local'`,
      { database },
      { settings: asks },
    );
    const answering = new Set(answers.map(({ node }) => node - 1));
    return readSets(shardsOf(replicas, answering));
  }
}

interface Replica {
  readonly shard: string;
  readonly weight: number;
  readonly local: number;
}

function shardsOf(replicas: readonly Replica[], answering: ReadonlySet<number> = new Set()): Shard[] {
  const shards = new Map<string, Shard>();
  for (const [node, { shard, weight, local }] of replicas.entries()) {
    const { nodes } = shards.get(shard) ?? { nodes: [] };
    const rank = (answering.has(node) ? 2 : 0) + local;
    shards.set(shard, { weight, nodes: [...nodes, { node, rank }] });
  }
  return [...shards.values()];
}

/** Undefined if a single replica suffices in each shard. */
export function readSets(shards: readonly Shard[]): ReadSets | undefined {
  // INSERTs wait for one replica then (`Quorum`).
  const isOneEnough = shards.some(({ nodes }) => nodes.length === 1);
  const sets = shards.flatMap(({ weight, nodes }) => {
    const best = nodes.toSorted((a, b) => b.rank - a.rank).map(({ node }) => node);
    const set = best.slice(0, isOneEnough ? best.length : Math.ceil(best.length / 2));
    return Array.from({ length: weight }, () => set);
  });
  return sets.some((set) => set.length > 1) ? sets : undefined;
}

/** Whose events a query reads: those of `{org:UUID}`, on one shard, or those of all. */
export type Scope = 'organization' | 'all';

/**
 * A query, as for `onShard`, that misses no acknowledged event: where one replica of a shard may lack some, its results on several
 * follow each other, so events repeat. It fails where one of them does not answer.
 */
export async function onReplicas(storage: Storage, query: string, scope: Scope): Promise<string> {
  const sets = await storage.readSets();
  return sets === undefined ? query : onNodes(storage, query, scope, sets);
}

function onNodes(
  { cluster = '', database }: Pick<Storage, 'cluster' | 'database'>,
  query: string,
  scope: Scope,
  sets: ReadSets,
): string {
  const local = onLocal(database, query);
  // The condition leaves one node: the others may be down.
  const source = (value: string, node: string) =>
    `SELECT * EXCEPT shard_key FROM clusterAllReplicas(${quoteString(cluster)}, ` +
    `view(SELECT *, ${value} AS shard_key FROM (${local})), ${node}) WHERE shard_key = ${value}`;
  const sources =
    scope === 'all'
      ? [...new Set(sets.flat())].map((node) => source(`toUInt64(${node})`, 'shard_key'))
      : Array.from({ length: Math.max(...sets.map((set) => set.length)) }, (_, n) => {
          const nodes = sets.map((set) => set[n] ?? set[0]);
          return source('{org:UUID}', `[${nodes.join(', ')}][cityHash64(shard_key) % ${nodes.length} + 1]`);
        });
  return sources.join(' UNION ALL ');
}

export interface EventRows {
  readonly columns: string;
  readonly where: string;
  /** Default: all. */
  readonly limit?: string;
  readonly scope?: Scope;
}

/**
 * A query for columns of events, in the order of organization and ingest, that misses no acknowledged event. If a replica has not
 * carried out an erasure that another has, the erased text counts.
 */
export async function eventsInOrder(
  storage: Storage,
  { columns, where, limit, scope = 'organization' }: EventRows,
): Promise<string> {
  const sets = await storage.readSets();
  const end = limit === undefined ? '' : ` LIMIT ${limit}`;
  const ordered = (more: string) =>
    `SELECT ${columns}${more} FROM events WHERE ${where} ORDER BY org, seq${end}`;
  if (sets === undefined) return ordered('');
  // Positions alone are read from a projection, which has no version.
  const version = columns === 'seq' ? '0' : '_part_data_version';
  const of = 'org AS each_org, seq AS each_seq';
  return (
    'SELECT * EXCEPT (each_org, each_seq, each_version) FROM ' +
    `(${onNodes(storage, ordered(`, ${of}, ${version} AS each_version`), scope, sets)}) ` +
    `ORDER BY each_org, each_seq, each_version DESC LIMIT 1 BY each_seq${end}`
  );
}
