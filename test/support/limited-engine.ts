import { neededGrants } from '../../src/storage/rights.ts';
import { startPlainEngine } from './plain-engine.ts';

/**
 * With AUDITLOG_TEST_CLICKHOUSE=least-privilege the servers of a test file use one ClickHouse server, each a database
 * of its own there, as a user with the documented rights and no others: `npm run test:server`.
 */
const isWanted = process.env['AUDITLOG_TEST_CLICKHOUSE'] === 'least-privilege';
const databases = Array.from({ length: 40 }, (_, n) => `limited_${n}`);

async function startLimited(): Promise<Readonly<Record<string, string>>> {
  const grants = databases.flatMap((database) => neededGrants(database, 'limited'));
  const engine = await startPlainEngine({ databases, grants });
  engine.stopAtExit();
  return engine.env;
}

const engine = isWanted ? await startLimited() : undefined;
const databaseOf = new Map<string, string>();

/** What the environment of a server on this data directory has besides; nothing in the ordinary case. */
export function limitedEnvironment(dataDir: string): Readonly<Record<string, string>> {
  if (engine === undefined) return {};
  const database = databaseOf.get(dataDir) ?? databases[databaseOf.size];
  if (database === undefined) throw new Error('more servers than databases: make more in limited-engine.ts');
  databaseOf.set(dataDir, database);
  return { ...engine, CLICKHOUSE_DATABASE: database };
}
