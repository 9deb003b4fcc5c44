import { setTimeout as sleep } from 'node:timers/promises';
import { limits as baseLimits } from '../base/limits.ts';
import type { Logger } from '../base/observability/log.ts';
import {
  levelText,
  type Migration,
  migrationsDirectory,
  numberOf,
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
  /** CLICKHOUSE_CLUSTER: every statement runs on every node, tables are replicated. */
  readonly cluster?: string | undefined;
  /** Rejects where the engine has no room to write definitions of tables; asked only when some are to be written. */
  readonly requireRoom?: (() => Promise<void>) | undefined;
  /** Folder of `NNNN_name.sql` files; default is the project's own. */
  readonly directory?: URL;
}

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
      if (!concurrent || attempt === migrationAttemptsMax) throw error;
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

/** The tables are not those that this release makes. */
export class OtherReleaseError extends Error {
  constructor(database: string, words: string) {
    super(`the database ${database} is of another release: ${words} (${projectFile('docs/install.md')})`);
    this.name = 'OtherReleaseError';
  }
}

/** Names of what has been applied. Rejects with OtherReleaseError where that is not the beginning of what this release has. */
async function readApplied(storage: Storage, migrations: readonly Migration[]): Promise<ReadonlySet<string>> {
  const rows = await withRetry(() =>
    storage.rows<RecordRow>('SELECT name, checksum, applied FROM schema_migrations FINAL ORDER BY name'),
  );
  const checksums = new Map(migrations.map(({ name, checksum }) => [name, checksum]));
  const newest = migrations.at(-1)?.number ?? 0;
  for (const { name, checksum, applied } of rows) {
    const at = `migration ${name} was applied at ${applied.slice(0, 19)} UTC`;
    const refuse = (words: string) => new OtherReleaseError(storage.database, `${at}, ${words}`);
    if (numberOf(name) > newest)
      throw refuse(`and this release knows those up to ${levelText(newest)}: start the later one again`);
    if (checksums.get(name) !== checksum)
      throw refuse('and this release has none, or another one, of that name');
  }
  return new Set(rows.map(({ name }) => name));
}

/** Whether migrations have made anything in the database. Rejects with EngineError. */
export async function hasTables(storage: Storage): Promise<boolean> {
  const tables = await storage.rows(
    "SELECT name FROM system.tables WHERE database = {name:String} AND name = 'schema_migrations'",
    { name: storage.database },
    { settings: { database: 'default' } },
  );
  return tables.length > 0;
}

/**
 * Whether every migration is recorded here. Nothing is sent then: servers must be able to start on a full disk, and while a
 * node of a cluster is down, as a statement for all nodes fails meanwhile.
 */
async function isCurrent(storage: Storage, migrations: readonly Migration[]): Promise<boolean> {
  if (!(await hasTables(storage))) return false;
  const names = await readApplied(storage, migrations);
  return migrations.every(({ name }) => names.has(name));
}

/**
 * Brings the schema up to date: creates the database, then applies each file of the folder that is not recorded in
 * `schema_migrations`, in order of their numbers. Any number of processes may do this at once: every statement is
 * idempotent, and the record is kept by name.
 *
 * @returns the names of the files applied by this call
 * Rejects with what `requireRoom` does, an EngineError from the engine, an Error where that is too old, one that names the
 * file when one is malformed, or OtherReleaseError.
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
    log.info({ migration: name }, 'migration applied');
  }
  return { applied: missing.map(({ name }) => name) };
}
