import { createHash } from 'node:crypto';
import { systemClock } from '../../src/base/time/clock.ts';
import type { Call } from '../../src/control/decision.ts';
import { Directory, type DirectoryDeps } from '../../src/control/directory.ts';
import { openStorage } from '../../src/storage/client.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { silentLog } from './engine.ts';
import type { SharedEngine } from './shared.ts';

export const operatorCall: Call = { actor: { name: 'operator', type: 'App/System' } };

/** The current control data of an engine. */
export async function openDirectory(
  storage: Storage,
  deps: Partial<Omit<DirectoryDeps, 'storage'>> = {},
): Promise<Directory> {
  const directory = new Directory({
    storage,
    log: silentLog,
    clock: systemClock,
    expiryMicros: systemClock,
    server: undefined,
    ...deps,
  });
  await directory.refresh();
  return directory;
}

export interface StoredJournalRow {
  readonly place: string;
  readonly id: string;
  readonly org: string;
  readonly server: string;
  readonly parts: string;
  readonly parts_sha256: string;
  readonly events: string;
  readonly events_sha256: string;
  readonly previous: string;
  readonly erased: boolean;
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The digest that the next row contains. */
export function digestOfRow(row: Omit<StoredJournalRow, 'parts' | 'events' | 'erased'>): string {
  const { place, id, org, server, parts_sha256, events_sha256, previous } = row;
  return sha256([place, id, org, server, parts_sha256, events_sha256, previous].join('\n'));
}

export function journalRows(storage: Storage): Promise<StoredJournalRow[]> {
  return storage.rows('SELECT * FROM journal ORDER BY place');
}

let journals = 0;

/** An empty journal in its own database, for tests that damage it or count rows. The caller closes it. */
export async function emptyJournal({ storage, connection }: SharedEngine): Promise<Storage> {
  journals += 1;
  const database = `journal_${process.pid}_${journals}`;
  await storage.command(`CREATE DATABASE ${database}`);
  await storage.command(`CREATE TABLE ${database}.journal AS ${storage.database}.journal`);
  return openStorage({ ...connection, database }, silentLog);
}
