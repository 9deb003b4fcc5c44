import { quoteIdentifier } from './quote.ts';
import type { Storage } from './storage.ts';

interface Right {
  readonly privilege: string;
  readonly on: string;
}

const tableEngines = ['MergeTree', 'ReplacingMergeTree'];
const clusterTableEngines = ['ReplicatedMergeTree', 'ReplicatedReplacingMergeTree', 'Distributed'];
/** Also for future migrations, so that no upgrade waits for a grant. */
const onTables = [
  'SELECT',
  'INSERT',
  'CREATE TABLE',
  'DROP VIEW',
  'ALTER SETTINGS',
  'ALTER ADD COLUMN',
  'ALTER PROJECTION',
  'ALTER DELETE',
  'ALTER UPDATE',
];

/**
 * On a cluster also: to create tables on all nodes; to send a query to an organization's shard; to see running INSERTs, lagging
 * replicas, and nodes without tables.
 */
const onCluster: readonly Right[] = [
  { privilege: 'CLUSTER', on: '*.*' },
  { privilege: 'REMOTE', on: '*.*' },
  ...['clusters', 'processes', 'replicas', 'replication_queue', 'tables'].map((table) => ({
    privilege: 'SELECT',
    on: `system.${table}`,
  })),
];

function neededRights(database: string, cluster: string | undefined): readonly Right[] {
  const engines = cluster === undefined ? tableEngines : clusterTableEngines;
  return [
    ...onTables.map((privilege) => ({ privilege, on: `${database}.*` })),
    // A legal hold waits for running removals.
    { privilege: 'SELECT', on: 'system.mutations' },
    ...engines.map((engine) => ({ privilege: 'TABLE ENGINE', on: engine })),
    ...(cluster === undefined ? [] : onCluster),
  ];
}

function grantStatements(rights: readonly Right[], user: string): string[] {
  const privileges = new Map<string, string[]>();
  for (const { privilege, on } of rights) privileges.set(on, [...(privileges.get(on) ?? []), privilege]);
  return [...privileges].map(([on, names]) => `GRANT ${names.join(', ')} ON ${on} TO ${user}`);
}

export function neededGrants(database: string, user: string, cluster?: string): readonly string[] {
  return grantStatements(neededRights(database, cluster), user);
}

/** CHECK GRANT denies write rights to read-only sessions. */
async function isGranted(storage: Storage, { privilege, on }: Right): Promise<boolean> {
  const settings = { database: 'default', readonly: 0, cancel_http_readonly_queries_on_client_close: 0 };
  const query = `CHECK GRANT ${privilege} ON ${on}`;
  const [answer] = await storage.rows<{ result: number }>(query, {}, { settings });
  return answer?.result === 1;
}

/** Rejects with an Error that lists missing rights as statements to run, and with EngineError. */
export async function checkRights(storage: Storage, user: string, cluster?: string): Promise<void> {
  const database = quoteIdentifier(storage.database);
  const needed = [...neededRights(database, cluster)];
  const found = await storage.rows(
    'SELECT name FROM system.databases WHERE name = {name:String}',
    { name: storage.database },
    { settings: { database: 'default' } },
  );
  if (found.length === 0 || cluster !== undefined) {
    needed.unshift({ privilege: 'CREATE DATABASE', on: `${database}.*` });
  }
  const missing: Right[] = [];
  for (const right of needed) if (!(await isGranted(storage, right))) missing.push(right);
  if (missing.length === 0) return;
  const statements = grantStatements(missing, quoteIdentifier(user)).join('; ');
  throw new Error(`The ClickHouse user "${user}" (CLICKHOUSE_USER) lacks rights; run: ${statements}`);
}
