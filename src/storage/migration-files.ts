import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { renderMigration } from './render-migration.ts';

/** One file of `schema/migrations`, ready to be sent. */
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

/** Of the newest migration in a folder; 0 where there is none. */
export async function newestMigration(directory: URL = migrationsDirectory): Promise<number> {
  return (await fileNames(directory)).reduce((newest, name) => Math.max(newest, numberOf(name)), 0);
}

/** Migrations are named in words by four digits, as their files are. */
export function levelText(number: number): string {
  return String(number).padStart(4, '0');
}

/** Reads and checks every file before any is applied, so a bad one stops the start with nothing half done. */
export async function readMigrations(directory: URL, target: Target): Promise<Migration[]> {
  const numbers = new Set<number>();
  const migrations: Migration[] = [];
  for (const name of await fileNames(directory)) {
    const number = numberOf(name);
    if (numbers.has(number))
      throw new Error(`migration ${name}: the number ${levelText(number)} is used twice`);
    numbers.add(number);
    const bytes = await readFile(new URL(name, directory));
    const checksum = createHash('sha256').update(bytes).digest('hex');
    const text = bytes.toString('utf8');
    try {
      migrations.push({ name, number, checksum, statements: renderMigration(text, target) });
    } catch (error) {
      throw new Error(`migration ${name}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }
  return migrations;
}

async function fileNames(directory: URL): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
}

export function numberOf(name: string): number {
  const number = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1];
  if (number === undefined) throw new Error(`migration ${name}: the name must be NNNN_name.sql`);
  return Number(number);
}
