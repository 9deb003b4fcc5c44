import { eventColumns } from '../base/events/event-columns.ts';
import { Problem } from '../base/errors/problem.ts';
import { segmentName, segmentOfName } from '../ingest/segment.ts';
import type { Settings } from '../storage/storage.ts';
import { contentOf } from './check.ts';
import { newIn } from './snapshot.ts';
import type { Manifest, StoredMonth, StoredTable } from './manifest.ts';
import type { BackupPlace } from './place.ts';
import { limits } from './limits.ts';
import { reading, type Scope, within } from './slices.ts';
import { eventsTable, otherTables } from './tables.ts';
import type { BackupSession } from './session.ts';
import { patiently } from './patience.ts';

/** A slice is one part, or a few where its events are large. */
const unpacked: Settings = {
  max_insert_threads: 1,
  min_insert_block_size_rows: 131_072,
  min_insert_block_size_bytes: 134_217_728,
  decompress: 1,
};

/** Columns of the table of events as `input()` wants them. */
function structureOf(columns: readonly string[]): string {
  return Object.entries(eventColumns)
    .filter(([name]) => columns.includes(name))
    .map(([name, type]) => `${name} ${type.replaceAll("'", "\\'")}`)
    .join(', ');
}

/** Puts rows of backups, which are of known tables, into an engine. What is there already is seen from its table, so a run that was killed can be repeated. */
export class RowRestore {
  readonly #session: BackupSession;
  readonly #place: BackupPlace;
  readonly #queryId: string;
  /** Nothing of this restore can be there yet. */
  readonly #isFresh: boolean;

  constructor(session: BackupSession, place: BackupPlace, id: string, isFresh: boolean) {
    this.#session = session;
    this.#place = place;
    this.#queryId = `${session.storage.database}-restore-${id}`;
    this.#isFresh = isFresh;
  }

  /** Ends the INSERT that a killed run has left running, and waits for its end: the question takes its place. */
  async endEarlier(): Promise<void> {
    const settings = {
      replace_running_query: 1,
      replace_running_query_max_wait_ms: limits.restoreInsertEndMsMax,
    };
    const options = { queryId: this.#queryId, settings, timeoutMs: limits.backupQueryMsMax };
    await this.#session.storage.rows('SELECT 1', {}, options);
  }

  /** The events that a backup adds to its base; `base` is that of the snapshot. `onRows` hears how many are there now. */
  async events(
    manifest: Manifest,
    base: Manifest | undefined,
    onRows: (rows: number) => void,
  ): Promise<void> {
    const added = newIn(manifest.snapshot, base?.snapshot);
    for (const month of manifest.months)
      for (const slice of month.slices) {
        const scope = within(scopeIn(month, added), slice);
        await patiently((attempt) => this.#slice(manifest, scope, slice, this.#isFresh && attempt === 0));
        onRows(slice.events);
      }
  }

  async #slice(
    manifest: Manifest,
    scope: Scope,
    { events, files }: StoredMonth['slices'][number],
    isFresh: boolean,
  ): Promise<void> {
    if (!isFresh) await this.endEarlier();
    const there = isFresh ? 0 : await this.#count(scope);
    if (there >= events) return;
    const columns = manifest.columns.join(', ');
    const absent =
      there === 0
        ? ''
        : ` SELECT ${columns} FROM input('${structureOf(manifest.columns)}') WHERE seq NOT IN (SELECT seq FROM events WHERE ${scope.where})`;
    await this.#insert(
      `INSERT INTO events (${columns})${absent} FORMAT Native`,
      contentOf(this.#place, manifest.id, files),
      absent === '' ? {} : scope.parameters,
    );
  }

  /** Restores a table whose rows replace each other: one that is there already does no harm. */
  async table({ id }: Manifest, stored: StoredTable): Promise<void> {
    if (stored.files.length === 0) return;
    const query = `INSERT INTO ${stored.name} (${stored.columns.join(', ')}) FORMAT Native`;
    await patiently(() => this.#insert(query, contentOf(this.#place, id, stored.files), {}));
  }

  async #insert(
    query: string,
    body: AsyncIterable<Uint8Array>,
    parameters: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const options = { queryId: this.#queryId, settings: unpacked, timeoutMs: limits.backupQueryMsMax };
    let failure: unknown;
    async function* pieces(): AsyncGenerator<Uint8Array, void, undefined> {
      try {
        yield* body;
      } catch (error) {
        failure = error;
        throw error;
      }
    }
    try {
      await this.#session.storage.insertNative(query, pieces(), options, parameters);
    } catch (error) {
      // The engine saw a body that was cut short, and here is why.
      throw failure ?? error;
    }
  }

  async #count(scope: Scope): Promise<number> {
    const [row] = await this.#session.storage.rows<{ events: string }>(
      `SELECT toString(count()) AS events FROM events WHERE ${scope.where}`,
      scope.parameters,
      reading,
    );
    return Number(row?.events ?? 0);
  }
}

function scopeIn({ from, before }: StoredMonth, added: Scope): Scope {
  return {
    where: `seq >= {from:UInt64} AND seq < {before:UInt64} AND ${added.where}`,
    parameters: { ...added.parameters, from, before },
  };
}

/**
 * Rejects a backup with a table or a column that this release does not have, or a segment that no log has. Their names go
 * into statements and names of files, and a manifest may have been altered.
 */
export function requireKnown({ columns, tables, log }: Manifest): void {
  for (const { number } of log.segments)
    if (segmentOfName(segmentName(number)) !== number)
      throw new Problem('conflict', `the backup has a segment that no log has: ${JSON.stringify(number)}`);
  for (const { name, columns: stored } of [{ ...eventsTable, columns }, ...tables]) {
    const known = [eventsTable, ...otherTables].find((one) => one.name === name)?.columns;
    const other = stored.find((column) => known?.includes(column) !== true);
    if (known === undefined || other !== undefined)
      throw new Problem(
        'conflict',
        `the backup has ${other === undefined ? name : `${name}.${other}`}, which this release does not know: restore with a later one`,
      );
  }
}
