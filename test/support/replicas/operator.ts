import { eventually } from '../http.ts';
import { again } from './again.ts';
import { database, type ReplicaNode, type Replicas } from './replicas.ts';

/** What an operator does on a cluster, as docs/cluster.md says it. */

const sharded = 'events_local';

const replicatedTables = async ({ storage }: ReplicaNode): Promise<readonly string[]> => {
  const rows = await storage.rows<{ table: string }>(
    'SELECT table FROM system.replicas WHERE database = {database:String} ORDER BY table',
    { database },
  );
  return rows.map(({ table }) => table);
};

/** Until a node has all that the others have had by now. */
export async function untilFetched({ storage }: ReplicaNode, inDatabase = database): Promise<void> {
  const tables = await storage.rows<{ table: string }>(
    'SELECT table FROM system.replicas WHERE database = {inDatabase:String}',
    { inDatabase },
    { settings: { database: 'default' } },
  );
  for (const { table } of tables)
    await again(`${table} to be fetched`, () =>
      storage.command(
        `SYSTEM SYNC REPLICA ${inDatabase}.${table} LIGHTWEIGHT`,
        {},
        {
          timeoutMs: 60_000,
          settings: { database: 'default' },
        },
      ),
    );
}

/**
 * Makes the tables of a node anew that has none, as another one has them (the default is one of its shard): under another
 * name until they have everything, so that nobody reads them.
 */
export async function rebuild({ nodes }: Replicas, lost: ReplicaNode, from?: ReplicaNode): Promise<void> {
  const { shard, replica } = lost;
  const source = from ?? nodes.find((node) => node !== lost && node.shard === shard) ?? lost;
  for (const table of await replicatedTables(source)) {
    if (table === sharded && source.shard !== shard) continue;
    const name = table === sharded ? replica : `${shard}_${replica}`;
    await eventually(`the old replica of ${table} to be dropped`, () =>
      source.storage.command(`SYSTEM DROP REPLICA '${name}' FROM TABLE ${table}`).then(
        () => true as const,
        () => undefined,
      ),
    );
  }
  const made = await source.storage.rows<{ statement: string }>(
    `SELECT create_table_query AS statement FROM system.tables WHERE database = {database:String}
     ORDER BY engine IN ('View', 'Distributed')`,
    { database },
    { settings: { show_table_uuid_in_table_create_query_if_not_nil: 1 } },
  );
  const order = (statement: string) =>
    again(statement.slice(0, 60), () =>
      lost.storage.command(statement, {}, { settings: { database: 'default' } }),
    );
  await order('CREATE DATABASE IF NOT EXISTS rebuilt');
  for (const { statement } of made)
    await order(statement.replace(/^(CREATE \w+ )\w+\./, '$1IF NOT EXISTS rebuilt.'));
  await untilFetched(lost, 'rebuilt');
  await order(`RENAME DATABASE rebuilt TO ${database}`);
}

/**
 * Puts all tables into a Keeper that has lost its data: each begins at the node that has most rows. A node that has seen a
 * later state of the Keeper is refused by it, so all are started again.
 */
export async function restoreAll({ nodes }: Replicas): Promise<void> {
  const [first] = nodes;
  if (first === undefined) return;
  await Promise.all(nodes.map(({ engine }) => engine.kill()));
  await Promise.all(nodes.map(({ engine }) => engine.start()));
  for (const table of await replicatedTables(first)) {
    const shards = table === sharded ? [...new Set(nodes.map(({ shard }) => shard))] : [undefined];
    for (const one of shards) {
      const group = nodes.filter(({ shard }) => one === undefined || shard === one);
      const counted = await Promise.all(
        group.map(async (node) => {
          const [row] = await again(`${table} to be counted`, () =>
            node.storage.rows<{ rows: string }>(`SELECT count() AS rows FROM ${table}`),
          );
          return { node, rows: Number(row?.rows) };
        }),
      );
      for (const { node } of counted.toSorted((a, b) => b.rows - a.rows))
        await again(`${table} to be restored`, () => node.storage.command(`SYSTEM RESTORE REPLICA ${table}`));
    }
  }
}
