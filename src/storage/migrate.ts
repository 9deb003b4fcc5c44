import { setTimeout as sleep } from 'node:timers/promises';
import { limits as baseLimits } from '../base/limits.ts';
import { limits } from './limits.ts';
import type { Logger } from '../base/log.ts';
import { moveEvents } from './events-move.ts';
import { type RecordedMigration, requireWorkable } from './later-release.ts';
import { withMigrationClaim, type MigrationMode } from './migration-claims.ts';
import { type Migration, migrationsDirectory, numberOf, readMigrations } from './migration-files.ts';
import { renderMigration } from './render-migration.ts';
import { quoteIdentifier } from './quote.ts';
import { removeTtl } from './remove-ttl.ts';
import { EngineError } from '../base/engine-error.ts';
import type { Storage } from './storage.ts';

export interface MigrateOptions {
  readonly log: Logger;
  /** CLICKHOUSE_CLUSTER: every statement runs on every node, tables are replicated. */
  readonly cluster?: string | undefined;
  /** Who else could be at it; default is nobody. */
  readonly mode?: MigrationMode;
  /** Folder of `NNNN_name.sql` files; default is the project's own. */
  readonly directory?: URL;
}

/**
 * What statements cannot say, done after those of the file and before it is recorded. A step may be cut short at any
 * point and is then begun again, statements included; one process at a time is at it.
 */
const steps: ReadonlyMap<string, typeof moveEvents> = new Map([
  ['0006_events_by_ingest_month.sql', moveEvents],
  ['0014_retention.sql', removeTtl],
]);

const recordsTable = `CREATE TABLE IF NOT EXISTS schema_migrations {{on_cluster}} (
  name String, checksum String, applied DateTime64(6, 'UTC') DEFAULT now64(6)
) ENGINE = {{ReplacingMergeTree(applied)}} ORDER BY name
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;`;

/**
 * Engine codes of two processes that change the same schema at once; the statement is right and is sent again:
 * TABLE_ALREADY_EXISTS, DATABASE_ALREADY_EXISTS, REPLICA_ALREADY_EXISTS, DEADLOCK_AVOIDED, CANNOT_ASSIGN_ALTER,
 * UNKNOWN_DATABASE and UNKNOWN_TABLE (created and not yet visible), TABLE_IS_BEING_RESTARTED, KEEPER_EXCEPTION.
 */
const concurrentCodes: ReadonlySet<number | undefined> = new Set([57, 82, 253, 473, 517, 81, 60, 733, 999]);

async function withRetry<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const concurrent = error instanceof EngineError && concurrentCodes.has(error.engineCode);
      if (!concurrent || attempt === limits.migrationAttemptsMax) throw error;
      await sleep(baseLimits.retryDelayMsMin * attempt);
    }
  }
}

/** The oldest release whose text indexes are for use. */
const oldestVersion = { major: 26, minor: 2 };

/** `version` as the engine tells it, such as `26.3.1.896`. */
export function isVersionSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > oldestVersion.major || (major === oldestVersion.major && minor >= oldestVersion.minor);
}

async function checkVersion(storage: Storage): Promise<void> {
  const [found] = await storage.rows<{ version: string }>(
    'SELECT version() AS version',
    {},
    { settings: { database: 'default' } },
  );
  if (found !== undefined && isVersionSupported(found.version)) return;
  const { major, minor } = oldestVersion;
  throw new Error(`ClickHouse ${found?.version} is too old: version ${major}.${minor} or newer is needed`);
}

async function createDatabase(storage: Storage, cluster: string | undefined): Promise<void> {
  // Asked first: a user of a managed server may use its database without being allowed to create one.
  const settings = { database: 'default' };
  const found = await storage.rows(
    'SELECT name FROM system.databases WHERE name = {name:String}',
    { name: storage.database },
    { settings },
  );
  if (found.length > 0 && cluster === undefined) return;
  const onCluster = cluster === undefined ? '' : ` ON CLUSTER ${quoteIdentifier(cluster)}`;
  const statement = `CREATE DATABASE IF NOT EXISTS ${quoteIdentifier(storage.database)}${onCluster}`;
  await withRetry(() => storage.command(statement, {}, { settings }));
}

interface RecordRow {
  readonly name: string;
  readonly checksum: string;
  readonly applied: string;
}

/** By name of a migration, the one that a release must know at least to work with its tables; empty before 0018. */
async function readLevels(storage: Storage): Promise<ReadonlyMap<string, number>> {
  const table = 'migration_levels';
  const found = await storage.rows(
    'SELECT name FROM system.tables WHERE database = {database:String} AND name = {table:String}',
    { database: storage.database, table },
  );
  if (found.length === 0) return new Map();
  const rows = await storage.rows<{ name: string; works_from: number }>(
    `SELECT name, works_from FROM ${table} FINAL`,
  );
  return new Map(rows.map(({ name, works_from: worksFrom }) => [name, worksFrom]));
}

interface Applied {
  readonly names: ReadonlySet<string>;
  /** What a later release has added, and this one works with. */
  readonly later: readonly RecordedMigration[];
}

/**
 * What has been applied. Rejects with LaterReleaseError, and when a file was changed or removed since.
 */
async function readApplied(storage: Storage, migrations: readonly Migration[]): Promise<Applied> {
  const rows = await withRetry(() =>
    storage.rows<RecordRow>('SELECT name, checksum, applied FROM schema_migrations FINAL ORDER BY name'),
  );
  const levels = await readLevels(storage);
  const byName = new Map(migrations.map((migration) => [migration.name, migration]));
  const newest = migrations.at(-1)?.number ?? 0;
  const later: RecordedMigration[] = [];
  for (const { name, checksum, applied } of rows) {
    const number = numberOf(name);
    const migration = byName.get(name);
    if (number > newest) later.push({ name, number, worksFrom: levels.get(name) ?? 0, applied });
    else if (migration === undefined)
      throw new Error(`migration ${name} has been applied to ${storage.database}, but its file is missing`);
    else if (migration.checksum !== checksum)
      throw new Error(
        `migration ${name} has been applied to ${storage.database}, but its file has changed since`,
      );
  }
  requireWorkable(storage.database, later, newest);
  return { names: new Set(rows.map((row) => row.name)), later };
}

/**
 * Whether every migration is recorded here. On a cluster nothing is sent then: a statement for all nodes fails while
 * one of them is down, and servers must be able to start meanwhile.
 */
async function isCurrent(storage: Storage, migrations: readonly Migration[]): Promise<boolean> {
  const tables = await storage.rows(
    "SELECT name FROM system.tables WHERE database = {name:String} AND name = 'schema_migrations'",
    { name: storage.database },
    { settings: { database: 'default' } },
  );
  if (tables.length === 0) return false;
  const { names } = await readApplied(storage, migrations);
  return migrations.every(({ name }) => names.has(name));
}

async function apply(storage: Storage, options: MigrateOptions, migration: Migration): Promise<void> {
  const { cluster, log, mode = { kind: 'exclusive' } } = options;
  const { name, checksum, statements, worksFrom } = migration;
  for (const statement of statements) await withRetry(() => storage.command(statement));
  await steps.get(name)?.({ storage, cluster, log, mode });
  // Its level first: a migration that is recorded has one.
  if (worksFrom !== undefined)
    await storage.insertRows('migration_levels', [{ name, works_from: worksFrom }]);
  await storage.insertRows('schema_migrations', [{ name, checksum }]);
  log.info({ migration: name }, 'migration applied');
}

/**
 * Brings the schema up to date: creates the database, then applies each file of the folder that is not recorded in
 * `schema_migrations`, in order of their numbers. Any number of processes may do this at once: every statement is
 * idempotent, the record is kept by name, and those that share a server take turns where a step belongs to a file.
 *
 * @returns the names of the files applied by this call
 * Rejects with an EngineError from the engine, an Error where that is too old, one that names the file when one is
 * malformed, was changed after it had been applied, or is missing, LaterReleaseError where a later release has altered
 * the tables too far, or an Error that tells why a step cannot be done.
 */
export async function migrate(storage: Storage, options: MigrateOptions): Promise<{ applied: string[] }> {
  const { cluster, log, mode = { kind: 'exclusive' } } = options;
  const target = { database: storage.database, cluster };
  const migrations = await readMigrations(options.directory ?? migrationsDirectory, target);
  await checkVersion(storage);
  if (cluster !== undefined && (await isCurrent(storage, migrations))) return { applied: [] };
  await createDatabase(storage, cluster);
  for (const statement of renderMigration(recordsTable, target)) {
    await withRetry(() => storage.command(statement));
  }
  const { names, later } = await readApplied(storage, migrations);
  if (later.length > 0) {
    const facts = { later: later.map(({ name }) => name), known: migrations.at(-1)?.name };
    log.warn(facts, 'the tables are of a later release, which this one works with');
  }
  const applied: string[] = [];
  for (const migration of migrations) {
    const { name } = migration;
    if (names.has(name)) continue;
    const work = async (): Promise<void> => {
      await apply(storage, options, migration);
      applied.push(name);
    };
    const isDone = async (): Promise<boolean> => (await readApplied(storage, migrations)).names.has(name);
    if (steps.has(name))
      await withMigrationClaim(mode, { storage, cluster, log, migration: name, isDone }, work);
    else await work();
  }
  return { applied };
}
