import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { messageOf } from '../base/errors/system-error.ts';
import { quoteIdentifier, quoteString } from './quote.ts';

export interface Migration {
  readonly name: string;
  readonly number: number;
  readonly checksum: string;
  readonly statements: readonly string[];
}

interface Target {
  readonly database: string;
  readonly cluster: string | undefined;
}

export const migrationsDirectory = new URL('../../schema/migrations/', import.meta.url);

export async function newestMigration(): Promise<number> {
  return Math.max(0, ...(await fileNames(migrationsDirectory)).map(migrationNumber));
}

export const levelText = (number: number): string => String(number).padStart(4, '0');

export async function readMigrations(directory: URL, target: Target): Promise<Migration[]> {
  const numbers = new Set<number>();
  const migrations: Migration[] = [];
  for (const name of await fileNames(directory)) {
    const number = migrationNumber(name);
    if (numbers.has(number))
      throw new Error(`Migration ${name}: the number ${levelText(number)} is used twice`);
    numbers.add(number);
    const bytes = await readFile(new URL(name, directory));
    const checksum = createHash('sha256').update(bytes).digest('hex');
    const text = bytes.toString('utf8');
    try {
      migrations.push({ name, number, checksum, statements: renderMigration(text, target) });
    } catch (error) {
      throw new Error(`Migration ${name}: ${messageOf(error)}`, { cause: error });
    }
  }
  return migrations;
}

async function fileNames(directory: URL): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
}

export function migrationNumber(name: string): number {
  const number = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1];
  if (number === undefined) throw new Error(`Migration ${name}: the name must be NNNN_name.sql`);
  return Number(number);
}

export interface MigrationTarget {
  readonly database: string;
  readonly cluster?: string | undefined;
}

function splitStatements(sql: string): string[] {
  const lines = sql.split(/\r?\n/).filter((line) => !line.trimStart().startsWith('--'));
  return lines
    .join('\n')
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/**
 * Plain tables are sharded, with one replicated copy per shard. Replacing tables are replicated to every
 * node, as every node needs them.
 */
function replicatedEngine(kind: string, version: string): string {
  if (kind === 'everywhere')
    return `ReplicatedMergeTree('/clickhouse/tables/{uuid}/all', '{shard}_{replica}')`;
  return kind === 'MergeTree'
    ? `ReplicatedMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}')`
    : `Replicated${kind}('/clickhouse/tables/{uuid}/all', '{shard}_{replica}'${version === '' ? '' : `, ${version}`})`;
}

function renderStatement(statement: string, target: MigrationTarget): string | undefined {
  const { cluster } = target;
  const onCluster = cluster === undefined ? '' : `ON CLUSTER ${quoteIdentifier(cluster)}`;
  const distributed = /^\{\{distributed (\w+) by (.+)\}\}$/s.exec(statement);
  if (distributed) {
    if (cluster === undefined) return undefined;
    const [, table = '', key = ''] = distributed;
    const places = [cluster, target.database, `${table}_local`].map(quoteString).join(', ');
    return `CREATE TABLE IF NOT EXISTS ${table} ${onCluster} AS ${table}_local ENGINE = Distributed(${places}, ${key})`;
  }
  const onDistributed = /^\{\{on_distributed\}\}\s+/.exec(statement);
  if (onDistributed === null) return renderPlaceholders(statement, target);
  return cluster === undefined
    ? undefined
    : renderPlaceholders(statement.slice(onDistributed[0].length), target);
}

/** Fills in the placeholders, except `{{distributed …}}`. Throws an Error for an unknown one. */
export function renderPlaceholders(text: string, target: MigrationTarget): string {
  const { cluster } = target;
  const onCluster = cluster === undefined ? '' : `ON CLUSTER ${quoteIdentifier(cluster)}`;
  const rendered = text
    .replaceAll(/ ?\{\{on_cluster\}\}/g, onCluster === '' ? '' : ` ${onCluster}`)
    .replaceAll(
      '{{MergeTree everywhere}}',
      cluster === undefined ? 'MergeTree' : replicatedEngine('everywhere', ''),
    )
    .replaceAll(/\{\{sharded (\w+)\}\}/g, (_, table: string) =>
      cluster === undefined ? table : `${table}_local`,
    )
    .replaceAll(
      /\{\{(MergeTree|ReplacingMergeTree)(?:\((\w*)\))?\}\}/g,
      (_, kind: string, version?: string) => {
        if (cluster !== undefined) return replicatedEngine(kind, version ?? '');
        return version === undefined ? kind : `${kind}(${version})`;
      },
    );
  const unknown = /\{\{[^}]*\}\}/.exec(rendered);
  if (unknown) throw new Error(`unknown placeholder ${unknown[0]}`);
  return rendered;
}

/**
 * The statements of a migration file for a target, in order. Pure.
 *
 * | placeholder | on one engine | on a cluster |
 * |---|---|---|
 * | `{{on_cluster}}` | nothing | `ON CLUSTER …` |
 * | `{{sharded t}}` | `t` | `t_local` |
 * | `{{distributed t by key}}`, a statement of its own | nothing | the Distributed table `t` over `t_local` |
 * | `{{on_distributed}}`, before a statement | no statement | the statement |
 * | `{{MergeTree}}` | the same | replicated within its shard |
 * | `{{ReplacingMergeTree(version)}}` | the same | replicated to every node |
 *
 * Statements must be idempotent. Throws an Error for an unknown placeholder.
 */
export function renderMigration(sql: string, target: MigrationTarget): string[] {
  return splitStatements(sql).flatMap((statement) => renderStatement(statement, target) ?? []);
}
