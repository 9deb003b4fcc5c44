import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits as baseLimits } from '../base/limits.ts';
import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { Repeated } from '../base/repeated.ts';
import type { MigrationMode } from './migration-claims.ts';
import { renderPlaceholders } from './render-migration.ts';
import { EngineError } from '../base/engine-error.ts';
import type { Parameters, Settings, Storage } from './storage.ts';
import { areOthersWriting } from './watermarks.ts';
import { WrittenParts } from './written-parts.ts';

export interface MoveOptions {
  readonly storage: Storage;
  readonly cluster: string | undefined;
  readonly log: Logger;
  readonly mode: MigrationMode;
  /** How long others may go on writing before this gives up; milliseconds. */
  readonly quietMsMax?: number;
}

/** Events recorded in a month, and the ends of their range of `seq`. */
interface Month {
  readonly month: number;
  readonly first: string;
  readonly last: string;
  /** In the table that is being moved. */
  readonly events: number;
}

/** Partition key of the table up to migration 0005. */
const oldKey = 'toYYYYMM(time)';
const alterNew = 'ALTER TABLE {{sharded events_by_ingest}} {{on_cluster}}';
const queryPrefix = 'move-events-';
/** Rounds of copying and comparing: one is enough, unless copies were cut short or somebody writes all the time. */
const roundsMax = 3;
/** ClickHouse error number: the user lacks a grant. */
const accessDenied = 497;
/** The copy, and as much again for its merges. */
const roomFactor = 2;

const long = { timeoutMs: limits.migrationMsMax };
/** A server refuses to drop what is larger than 50 GB, unless it is told so. */
const commandSettings: Settings = { max_table_size_to_drop: 0, max_partition_size_to_drop: 0 };
/** Memory of a copy: blocks of this size, twice while they are sorted, and what is read ahead by a few threads. */
const copySettings: Settings = {
  max_threads: 2,
  max_insert_threads: 1,
  min_insert_block_size_rows: 131_072,
  min_insert_block_size_bytes: 67_108_864,
};
const compareSettings: Settings = {
  max_threads: 2,
  max_execution_time: Math.ceil(limits.migrationMsMax / 1000),
  max_bytes_before_external_group_by: limits.readSpillBytes,
};

/**
 * Moves all events from the table as migration 0005 left it (partitions by the month of `time`) into the one that 0006
 * has made (by the month of recording), and puts that in the first one's place.
 *
 *     events (old), events_by_ingest (new)    copy months that differ, until none does
 *                    EXCHANGE TABLES          one step: everybody sees either the old or the new
 *     events (new), events_by_ingest (old)    copy what came late, then DROP
 *     events (new)
 *
 * The tables themselves tell how far it has come, so it can be killed at any point and is taken up by the next start.
 * Rows are compared by organization (number, and a hash of time and `seq`); a month that differs is copied anew, after
 * its partition was dropped, so no row can be there twice. Rows that have expired are left behind. The embedded engine
 * does not notice a write that fails, so before the old table goes the files of the new one are looked at as well.
 *
 * Rejects with an EngineError, or an Error for the operator: somebody writes to the table, or the disk is too small.
 */
export async function moveEvents(options: MoveOptions): Promise<void> {
  const move = new EventsMove(options);
  const layout = await move.layout();
  // A new database has nothing to copy, and should not wait for it.
  if (layout === 'old' && !(await move.isEmpty())) await move.copyAll();
  if (layout === 'old') await move.exchange();
  if (layout !== 'new' && !(await move.isEmpty())) await move.copyLate();
  await move.dropOld();
}

class EventsMove {
  readonly #options: MoveOptions;
  readonly #storage: Storage;
  readonly #log: Logger;
  /** The names of the tables that hold the parts. */
  readonly #events: string;
  readonly #other: string;

  constructor(options: MoveOptions) {
    this.#options = options;
    this.#storage = options.storage;
    this.#log = options.log;
    this.#events = this.#render('{{sharded events}}');
    this.#other = this.#render('{{sharded events_by_ingest}}');
  }

  async layout(): Promise<'old' | 'exchanged' | 'new'> {
    const keys = await this.#partitionKeys();
    const key = keys.get(this.#events);
    if (key === undefined) throw new Error('the events table is missing');
    if (key === oldKey) return 'old';
    return keys.get(this.#other) === oldKey ? 'exchanged' : 'new';
  }

  async #partitionKeys(): Promise<Map<string, string>> {
    const rows = await this.#storage.rows<{ name: string; partition_key: string }>(
      'SELECT name, partition_key FROM system.tables WHERE database = currentDatabase() AND name IN ({names:Array(String)})',
      { names: [this.#events, this.#other] },
    );
    return new Map(rows.map(({ name, partition_key }) => [name, partition_key]));
  }

  async isEmpty(): Promise<boolean> {
    const [row] = await this.#storage.rows<{ events: string }>(
      'SELECT (SELECT count() FROM events) + (SELECT count() FROM events_by_ingest) AS events',
    );
    return row?.events === '0';
  }

  /** Copies the old table, `events`, into the new one, until both hold the same. */
  async copyAll(): Promise<void> {
    await this.#requireQuiet();
    for (let round = 0; round <= roundsMax; round += 1) {
      const months = await this.#differing('events', 'events_by_ingest', await this.#cutShort());
      if (months.length === 0) return this.#settle();
      if (round === roundsMax) break;
      if (round === 0) await this.#requireRoom();
      await this.#copyMonths(months);
    }
    throw new Error(
      'the events table changes while it is moved, or its copy cannot be written: stop all servers, look at the disk, ' +
        'then start this one again',
    );
  }

  /** Months of the new table that have a part whose files are not whole, as far as this process can see them. */
  async #cutShort(): Promise<number[]> {
    const { mode, cluster } = this.#options;
    if (mode.kind !== 'exclusive' || cluster !== undefined) return [];
    const written = new WrittenParts(this.#storage, 'events_by_ingest');
    // Twice: one may have been merged with others, and half removed, while it was looked at.
    const suspects = await written.findBroken();
    const parts = suspects.length === 0 ? [] : await written.findBroken();
    if (parts.length > 0) {
      const words = 'the engine could not write its files and has not noticed; they are copied again';
      this.#log.error({ parts: parts.slice(0, baseLimits.damageShownMax) }, words);
    }
    return [...new Set(parts.map((name) => Number.parseInt(name, 10)))];
  }

  /** From here on the new table is as its migration has made it. */
  async #settle(): Promise<void> {
    await this.#command(`${alterNew} MODIFY SETTING old_parts_lifetime = 480`);
    await this.#command(`${alterNew} RESET SETTING min_rows_to_fsync_after_merge`);
  }

  async exchange(): Promise<void> {
    await this.#command('EXCHANGE TABLES {{sharded events}} AND {{sharded events_by_ingest}} {{on_cluster}}');
  }

  /** What was written between the last comparison and the exchange went into the table that is now the other one. */
  async copyLate(): Promise<void> {
    for (const month of await this.#differing('events_by_ingest', 'events')) {
      this.#log.warn({ month: month.month }, 'events were written while their table was moved; copying them');
      await this.#copy('events_by_ingest', 'events', month);
    }
  }

  async dropOld(): Promise<void> {
    // On a cluster the first is the Distributed table; else both are the same, and the second does nothing.
    await this.#command('DROP TABLE IF EXISTS events_by_ingest {{on_cluster}}');
    await this.#command('DROP TABLE IF EXISTS {{sharded events_by_ingest}} {{on_cluster}}');
  }

  #render(sql: string): string {
    const { storage, cluster } = this.#options;
    return renderPlaceholders(sql, { database: storage.database, cluster });
  }

  async #command(sql: string, parameters: Parameters = {}): Promise<void> {
    await this.#storage.command(this.#render(sql), parameters, { ...long, settings: commandSettings });
  }

  /** Copies the rows that are not there yet, under a name by which a later start finds what is left running. */
  async #copy(from: string, to: string, { first, last }: Month): Promise<void> {
    const queryId = `${queryPrefix}${randomUUID()}`;
    const range = 'seq BETWEEN {first:UInt64} AND {last:UInt64}';
    await this.#storage.command(
      `INSERT INTO ${to} SELECT * FROM ${from} WHERE expires > today() AND ${range}
         AND seq NOT IN (SELECT seq FROM ${to} WHERE ${range})`,
      { first, last },
      { ...long, settings: copySettings, queryId },
    );
  }

  /**
   * Nobody else may write from here on. Servers of the earlier release publish a watermark every second; what a dead
   * one has left running in the engine is ended: its segment is still in its log, and asked for before it is sent again.
   */
  async #requireQuiet(): Promise<void> {
    const { mode, quietMsMax = limits.migrationQuietMsMax } = this.#options;
    if (mode.kind === 'shared') {
      const deadline = performance.now() + quietMsMax;
      while (await areOthersWriting(this.#storage, mode.instance, limits.migrationClaimMsMax)) {
        if (performance.now() > deadline) {
          throw new Error(
            'other servers write to this database: stop all of them, then start one of this release, ' +
              'which moves the events table, and then the others',
          );
        }
        this.#log.info({}, 'waiting until no other server writes');
        await sleep(limits.migrationClaimPollMs);
      }
    }
    const kill = this.#command(
      'KILL QUERY {{on_cluster}} WHERE current_database = {database:String} AND ' +
        `(startsWith(query_id, 'segment-') OR startsWith(query_id, '${queryPrefix}')) SYNC`,
      { database: this.#storage.database },
    );
    // What is still written is compared again, or was never acknowledged and is sent again.
    await this.#ifAllowed(kill, 'end queries: what an earlier server has left running goes on');
  }

  /** What comes of the work; undefined, which is logged, where the user has too few rights for it. */
  async #ifAllowed<T>(work: Promise<T>, what: string): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof EngineError) || error.engineCode !== accessDenied) throw error;
      this.#log.warn({}, `the user may not ${what}`);
      return undefined;
    }
  }

  /**
   * Months of recording in which the tables do not hold the same unexpired events, and those of `also`, with what
   * `from` has of them.
   */
  async #differing(from: string, to: string, also: readonly number[] = []): Promise<Month[]> {
    const side = (table: string, sign: number) =>
      `SELECT ${sign} AS side, org, time, seq FROM ${table} WHERE expires > today()`;
    const rows = await this.#storage.rows<Record<keyof Month, string>>(
      `SELECT month, toString(min(low)) AS first, toString(max(high)) AS last, toString(sum(rows)) AS events FROM (
         SELECT ${await this.#ingestMonth()} AS month, org, min(seq) AS low, max(seq) AS high, countIf(side = 1) AS rows,
           sum(side) AS difference, groupBitXor(cityHash64(time, seq)) AS mark
         FROM (${side(from, 1)} UNION ALL ${side(to, -1)}) GROUP BY month, org)
       GROUP BY month HAVING max(difference != 0 OR mark != 0) OR has({also:Array(UInt32)}, month) ORDER BY month`,
      { also },
      { ...long, settings: compareSettings },
    );
    return rows.map(({ month, events, ...range }) => ({
      ...range,
      month: Number(month),
      events: Number(events),
    }));
  }

  /** The partition key of the new table, so that it stands in the migration alone. */
  async #ingestMonth(): Promise<string> {
    for (const key of (await this.#partitionKeys()).values()) if (key !== oldKey) return key;
    throw new Error('the table events_by_ingest of migration 0006 is missing');
  }

  /** On the disks of the tables, of the node that this process talks to. */
  async #requireRoom(): Promise<void> {
    const partsOf = (table: string) =>
      `FROM system.parts WHERE active AND database = currentDatabase() AND table = {${table}:String}`;
    const sizeOf = (table: string) => `toInt64((SELECT sum(bytes_on_disk) ${partsOf(table)}))`;
    const asked = this.#storage.rows<Record<'needed' | 'free', string>>(
      `SELECT (${sizeOf('events')} - ${sizeOf('other')}) * ${roomFactor} AS needed, toString((
         SELECT max(free_space) FROM system.disks WHERE name IN (SELECT disk_name ${partsOf('events')}))) AS free`,
      { events: this.#events, other: this.#other },
    );
    const words = 'read system.parts and system.disks: free space is not checked';
    const [room] = (await this.#ifAllowed(asked, words)) ?? [];
    if (room === undefined || Number(room.free) >= Number(room.needed)) return;
    const megabytes = (bytes: string): string => `${Math.ceil(Number(bytes) / 1e6)} MB`;
    throw new Error(
      `moving the events table needs ${megabytes(room.needed)} on the engine's disk, where ${megabytes(room.free)} are ` +
        'free; nothing has been changed: make room and start again',
    );
  }

  async #copyMonths(months: readonly Month[]): Promise<void> {
    // What has been merged is synced here and soon removed: its origin is still in the old table, but space is short.
    await this.#command(
      `${alterNew} MODIFY SETTING old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1`,
    );
    const events = months.reduce((sum, month) => sum + month.events, 0);
    const words = 'moving the events table to partitions by month of recording';
    this.#log.info({ events, months: months.length }, words);
    const begun = performance.now();
    const progress = async (): Promise<void> => {
      const [row] = await this.#storage.rows<{ moved: string }>(
        'SELECT count() AS moved FROM events_by_ingest',
      );
      const seconds = Math.round((performance.now() - begun) / 1000);
      this.#log.info({ moved: Number(row?.moved ?? 0), of: events, seconds }, 'moving the events table');
    };
    const report = new Repeated(limits.migrationProgressMs, progress, (error) =>
      this.#log.debug(errorFacts(error), 'how many events have been moved could not be asked'),
    );
    try {
      for (const month of months) {
        await this.#command(`${alterNew} DROP PARTITION ID '${month.month}'`);
        await this.#copy('events', 'events_by_ingest', month);
      }
    } finally {
      await report.stop();
    }
    await progress();
  }
}
