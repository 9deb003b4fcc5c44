import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { EngineConnection, Storage } from '../../src/storage/storage.ts';
import { neededGrants } from '../../src/storage/rights.ts';
import { type PlainEngine, startPlainEngine } from './plain-engine.ts';
import { startTwoShards, type TwoShards } from './two-shards.ts';

/**
 * What the servers of a test file use as their engine where that is not the embedded one, by AUDITLOG_TEST_CLICKHOUSE:
 *
 * - `least-privilege` (`npm run test:server`): one ClickHouse server, as a user with the documented rights and no others;
 * - `cluster` (`npm run test:cluster`): two shards.
 *
 * Each server has a database of its own there, which its data directory stands for.
 */
const wanted = process.env['AUDITLOG_TEST_CLICKHOUSE'];
/** Some tests need the embedded engine. */
export const hasOwnEngine = wanted === undefined;
const databases = Array.from({ length: 40 }, (_, n) => `limited_${n}`);

type Variables = Readonly<Record<string, string | undefined>>;

async function startLimited(): Promise<PlainEngine> {
  const grants = databases.flatMap((database) => neededGrants(database, 'limited'));
  const engine = await startPlainEngine({ databases, grants });
  engine.stopAtExit();
  return engine;
}

async function startCluster(): Promise<TwoShards> {
  const two = await startTwoShards();
  two.stopAtExit();
  return two;
}

/** Started with the first server. */
let engine: Promise<PlainEngine> | undefined;
let cluster: Promise<TwoShards> | undefined;
const databaseOf = new Map<string, string>();

function ownDatabase(dataDir: string): string {
  const database = databaseOf.get(dataDir) ?? databases[databaseOf.size];
  if (database === undefined) throw new Error('more servers than databases: make more in chosen-engine.ts');
  databaseOf.set(dataDir, database);
  return database;
}

/** Further environment of a server on this data directory; empty with the embedded engine. */
export async function chosenEnvironment(
  dataDir: string,
  given: Variables = {},
): Promise<Readonly<Record<string, string>>> {
  if (given['CLICKHOUSE_URL'] !== undefined) return {};
  if (wanted === 'least-privilege') {
    engine ??= startLimited();
    return { ...(await engine).env, CLICKHOUSE_DATABASE: ownDatabase(dataDir) };
  }
  if (wanted !== 'cluster') return {};
  cluster ??= startCluster();
  const two = await cluster;
  const database = ownDatabase(dataDir);
  await two.prepare(database, { head: eventHead, tail: eventTail(loadConfig(given)) });
  return two.env(database);
}

/** Connects to a server's engine as its owner; undefined for the embedded engine. */
export async function chosenConnection(dataDir: string): Promise<EngineConnection | undefined> {
  const database = databaseOf.get(dataDir);
  if (database === undefined) return undefined;
  if (cluster !== undefined) {
    const two = await cluster;
    const { owner: user, password } = two.a;
    const url = two.env(database)['CLICKHOUSE_URL'] ?? '';
    return { url, user, password, database, headers: {}, cluster: two.cluster };
  }
  if (engine === undefined) throw new Error('a server has a database of an engine that was started');
  const { url, owner: user, password } = await engine;
  return { url, user, password, database, headers: {} };
}

/** A statement that alters events: on a cluster each node has its own table. */
export function alteringEvents({ cluster: name }: Storage, statement: string): string {
  if (name === undefined) return statement;
  return statement.replace('ALTER TABLE events ', `ALTER TABLE events_local ON CLUSTER \`${name}\` `);
}
