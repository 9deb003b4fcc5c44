import { setTimeout as sleep } from 'node:timers/promises';
import { limits as baseLimits } from '../base/limits.ts';
import type { Logger } from '../base/observability/log.ts';
import {
  levelText,
  type Migration,
  migrationsDirectory,
  migrationNumber,
  readMigrations,
  renderMigration,
} from './migration-files.ts';
import { quoteIdentifier } from './quote.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import type { Storage } from './storage.ts';
import { projectFile } from '../base/files/project-file.ts';

const migrationAttemptsMax = 8;

export interface MigrateOptions {
  readonly log: Logger;
  /** CLICKHOUSE_CLUSTER: statements run on every node, tables are replicated. */
  readonly cluster?: string | undefined;
  /** Rejects without room for table definitions; called only if some are written. */
  readonly requireRoom?: (() => Promise<void>) | undefined;
  readonly directory?: URL;
}

const recordsTable = `CREATE TABLE IF NOT EXISTS schema_migrations {{on_cluster}} (
  name String, checksum String, applied DateTime64(6, 'UTC') DEFAULT now64(6)
) ENGINE = {{ReplacingMergeTree(applied)}} ORDER BY name
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;`;

/**
 * Engine errors of two processes that change the schema at once; the statement is retried:
 * TABLE_ALREADY_EXISTS, DATABASE_ALREADY_EXISTS, REPLICA_ALREADY_EXISTS, DEADLOCK_AVOIDED,
 * CANNOT_ASSIGN_ALTER, UNKNOWN_DATABASE and UNKNOWN_TABLE (not visible yet), TABLE_IS_BEING_RESTARTED,
 * KEEPER_EXCEPTION.
 */
const concurrentCodes: ReadonlySet<number | undefined> = new Set([57, 82, 253, 473, 517, 81, 60, 733, 999]);

async function withRetry<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const concurrent = error instanceof EngineError && concurrentCodes.has(error.engineCode);
      if (!concurrent || attempt === migrationAttemptsMax) throw error;
      await sleep(baseLimits.retryDelayMsMin * attempt);
    }
  }
}

/** The first release with production-ready text indexes. */
const oldestVersion = { major: 26, minor: 2 };

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
  throw new Error(`ClickHouse ${found?.version} is too old; version ${major}.${minor} or newer is required`);
}

async function createDatabase(storage: Storage, cluster: string | undefined): Promise<void> {
  // A user of a managed server may lack the right to create the existing database.
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

export class OtherReleaseError extends Error {
  constructor(database: string, words: string) {
    super(
      `The database ${database} belongs to another release: ${words}; see ${projectFile('docs/install.md')}`,
    );
    this.name = 'OtherReleaseError';
  }
}

/** Rejects with OtherReleaseError unless the applied migrations are the first of this release's. */
async function readApplied(storage: Storage, migrations: readonly Migration[]): Promise<ReadonlySet<string>> {
  const rows = await withRetry(() =>
    storage.rows<RecordRow>('SELECT name, checksum, applied FROM schema_migrations FINAL ORDER BY name'),
  );
  const checksums = new Map(migrations.map(({ name, checksum }) => [name, checksum]));
  const newest = migrations.at(-1)?.number ?? 0;
  for (const { name, checksum, applied } of rows) {
    const at = `migration ${name} was applied at ${applied.slice(0, 19)} UTC`;
    const refuse = (words: string) => new OtherReleaseError(storage.database, `${at}, ${words}`);
    if (migrationNumber(name) > newest)
      throw refuse(`and this release knows only those up to ${levelText(newest)}; start the later release`);
    if (checksums.get(name) !== checksum)
      throw refuse('and this release has no such migration, or another one of that name');
  }
  return new Set(rows.map(({ name }) => name));
}

export async function hasTables(storage: Storage): Promise<boolean> {
  const tables = await storage.rows(
    "SELECT name FROM system.tables WHERE database = {name:String} AND name = 'schema_migrations'",
    { name: storage.database },
    { settings: { database: 'default' } },
  );
  return tables.length > 0;
}

/**
 * Without statements: servers must start on a full disk, and while a node of a cluster is down, when ON CLUSTER statements fail.
 */
async function isCurrent(storage: Storage, migrations: readonly Migration[]): Promise<boolean> {
  if (!(await hasTables(storage))) return false;
  const names = await readApplied(storage, migrations);
  return migrations.every(({ name }) => names.has(name));
}

/**
 * In order; processes may do this concurrently. Returns the names of the applied files. Rejects with the error of `requireRoom`,
 * EngineError, OtherReleaseError, or an Error for an old engine or a malformed file.
 */
export async function migrate(storage: Storage, options: MigrateOptions): Promise<{ applied: string[] }> {
  const { cluster, log } = options;
  const target = { database: storage.database, cluster };
  const migrations = await readMigrations(options.directory ?? migrationsDirectory, target);
  await checkVersion(storage);
  if (await isCurrent(storage, migrations)) return { applied: [] };
  await options.requireRoom?.();
  await createDatabase(storage, cluster);
  for (const statement of renderMigration(recordsTable, target)) {
    await withRetry(() => storage.command(statement));
  }
  const names = await readApplied(storage, migrations);
  const missing = migrations.filter(({ name }) => !names.has(name));
  for (const { name, checksum, statements } of missing) {
    for (const statement of statements) await withRetry(() => storage.command(statement));
    await storage.insertRows('schema_migrations', [{ name, checksum }]);
    log.info({ migration: name }, 'Migration applied');
  }
  return { applied: missing.map(({ name }) => name) };
}
