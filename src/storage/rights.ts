import { quoteIdentifier } from './quote.ts';
import type { Storage } from './storage.ts';

/** A right as it stands in GRANT. */
interface Right {
  readonly privilege: string;
  readonly on: string;
}

/** The engines of our tables, which a server may want to be granted one by one. */
const tableEngines = ['MergeTree', 'ReplacingMergeTree'];
const clusterTableEngines = ['ReplicatedMergeTree', 'ReplicatedReplacingMergeTree', 'Distributed'];
/**
 * To make tables, write and read them, remove events that have expired, take persons out of others, and
 * replace the view for operators. Migrations to come add columns and projections and alter settings: to ask for that at
 * an upgrade would stop it until somebody grants it.
 */
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
 * On a cluster also: to make tables on all nodes; to hand a query to the shard that has its organization, which takes a
 * table function; to see whether an INSERT is still under way on some node, and what replicas have not fetched yet.
 */
const onCluster: readonly Right[] = [
  { privilege: 'CLUSTER', on: '*.*' },
  { privilege: 'REMOTE', on: '*.*' },
  ...['clusters', 'processes', 'replicas', 'replication_queue'].map((table) => ({
    privilege: 'SELECT',
    on: `system.${table}`,
  })),
];

function neededRights(database: string, cluster: string | undefined): readonly Right[] {
  const engines = cluster === undefined ? tableEngines : clusterTableEngines;
  return [
    ...onTables.map((privilege) => ({ privilege, on: `${database}.*` })),
    // Whether what was removed is gone, before a legal hold says that nothing goes any more.
    { privilege: 'SELECT', on: 'system.mutations' },
    ...engines.map((engine) => ({ privilege: 'TABLE ENGINE', on: engine })),
    ...(cluster === undefined ? [] : onCluster),
  ];
}

/** The statements that give these rights, one for each thing they are on. */
function grantStatements(rights: readonly Right[], user: string): string[] {
  const privileges = new Map<string, string[]>();
  for (const { privilege, on } of rights) privileges.set(on, [...(privileges.get(on) ?? []), privilege]);
  return [...privileges].map(([on, names]) => `GRANT ${names.join(', ')} ON ${on} TO ${user}`);
}

/** What a user of a ClickHouse server needs on a database that is there; the same for servers and commands. */
export function neededGrants(database: string, user: string, cluster?: string): readonly string[] {
  return grantStatements(neededRights(database, cluster), user);
}

/** CHECK GRANT denies every right to write to a session that may only read. */
async function isGranted(storage: Storage, { privilege, on }: Right): Promise<boolean> {
  const settings = { database: 'default', readonly: 0, cancel_http_readonly_queries_on_client_close: 0 };
  const query = `CHECK GRANT ${privilege} ON ${on}`;
  const [answer] = await storage.rows<{ result: number }>(query, {}, { settings });
  return answer?.result === 1;
}

/**
 * Rejects with an Error that lists, as statements to run, the rights that the user of a ClickHouse server lacks, and
 * with an EngineError when the server does not answer.
 */
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
  throw new Error(`the ClickHouse user "${user}" (CLICKHOUSE_USER) lacks rights: ${statements}`);
}
