import { join } from 'node:path';
import { quoteIdentifier, quoteString } from '../storage/quote.ts';
import type { Storage } from '../storage/storage.ts';
import { type BackupStep, backupSteps } from './tables.ts';

const backupStatementMsMax = 24 * 3_600_000;
const fileAt = (directory: string, step: BackupStep): string => `File(${quoteString(join(directory, step))})`;
const options = { timeoutMs: backupStatementMsMax };

/**
 * Copies the tables of a step into a directory, without the files of the backup `base`. @returns the bytes
 * that the engine meant to write: it does not notice a full disk
 */
export async function copyTables(
  storage: Storage,
  step: BackupStep,
  {
    id,
    to,
    base,
    bytesPerSecond,
  }: { id: string; to: string; base?: string | undefined; bytesPerSecond: number },
): Promise<number> {
  const database = quoteIdentifier(storage.database);
  const tables = backupSteps[step].map((name) => `TABLE ${database}.${quoteIdentifier(name)}`);
  const settings = [`id = ${quoteString(`${id}-${step}`)}`, `max_backup_bandwidth = ${bytesPerSecond}`];
  if (base !== undefined) settings.push(`base_backup = ${fileAt(base, step)}`);
  await storage.command(
    `BACKUP ${tables.join(', ')} TO ${fileAt(to, step)} SETTINGS ${settings.join(', ')}`,
    {},
    options,
  );
  const [row] = await storage.rows<{ bytes: string }>(
    'SELECT compressed_size AS bytes FROM system.backups WHERE id = {id:String}',
    { id: `${id}-${step}` },
  );
  return Number(row?.bytes);
}

/** Restores the tables of a step into empty ones. `database`: their database in the backup. */
export async function restoreTables(
  storage: Storage,
  step: BackupStep,
  { from, base, database }: { from: string; base: string | undefined; database: string },
): Promise<void> {
  const [source, target] = [database, storage.database].map(quoteIdentifier);
  const tables = backupSteps[step].map(quoteIdentifier);
  const list = tables.map((name) => `TABLE ${source}.${name} AS ${target}.${name}`);
  const settings = ['allow_different_table_def = 1'];
  if (base !== undefined) settings.push(`base_backup = ${fileAt(base, step)}`);
  await storage.command(
    `RESTORE ${list.join(', ')} FROM ${fileAt(from, step)} SETTINGS ${settings.join(', ')}`,
    {},
    options,
  );
}
