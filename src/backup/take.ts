import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { toReadable } from '../base/bytes/byte-flow.ts';
import { readIfThere } from '../base/files/durable-file.ts';
import { Problem } from '../base/errors/problem.ts';
import { listErasures, type StoredErasure } from '../control/erasure.ts';
import { listOrganizations } from '../control/organizations.ts';
import { readAnswers } from '../ingest/log-copy.ts';
import { EventRemoval, recordingMonth, type RemovalBounds } from '../storage/removal.ts';
import type { Settings } from '../storage/storage.ts';
import { limits } from './limits.ts';
import { Throttle } from './throttle.ts';
import { createProgress, type Progress } from '../tools/progress.ts';
import type { BackupSession } from './session.ts';
import { version } from '../tools/version.ts';
import { newIn, takeSnapshot, type Taken } from './snapshot.ts';
import { FileWriter } from './file-writer.ts';
import {
  chainOf,
  type CountRow,
  type Files,
  latestOf,
  latestText,
  type Link,
  type Manifest,
  manifestFormat,
  manifestName,
  sha256Of,
  type StoredMonth,
  type StoredTable,
} from './manifest.ts';
import type { BackupPlace } from './place.ts';
import { boundsOf, hashOf, reading, type Scope, sendSettings, within } from './slices.ts';
import { eventsTable, type KeptTable, otherTables } from './tables.ts';

/** Files of the data directory that a backup has by choice alone. */
export const secretNames = [
  'session-secret',
  'pseudonym-secret',
  'evidence-key',
  'evidence-key.previous',
] as const;

/** Compressed by the engine, with sums of its own. A place may take a file slowly. */
const packed: Settings = { ...sendSettings, compress: 1, http_send_timeout: limits.backupStallSeconds };

export interface TakeOptions {
  readonly place: BackupPlace;
  readonly isFull: boolean;
  readonly withSecrets: boolean;
  readonly isFullSpeed: boolean;
}

export interface TakenBackup {
  readonly manifest: Manifest;
  readonly added: number;
  readonly files: number;
  readonly bytes: number;
  readonly notes: readonly string[];
}

/** One backup, made in the order that keeps it consistent while the service goes on (src/backup/README.md). */
export class BackupRun {
  readonly #session: BackupSession;
  readonly #options: TakeOptions;
  readonly #id: string;
  readonly #writer: FileWriter;
  readonly #notes: string[] = [];
  #base: Manifest | undefined;
  #throttle = Throttle.full;
  /** Those by which persons were taken out of events, or are being, when this was begun. */
  #erasures: readonly StoredErasure[] = [];
  #progress: Progress | undefined;
  #done = 0;

  constructor(session: BackupSession, options: TakeOptions) {
    this.#session = session;
    this.#options = options;
    const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
    this.#id = `${time}-${randomBytes(4).toString('hex')}`;
    this.#writer = new FileWriter(options.place, this.#id);
  }

  /** Rejects with an Error for the operator, or an EngineError; nothing that looks like a backup is left then. */
  async run(): Promise<TakenBackup> {
    const { place } = this.#options;
    const left = await place.freeBytes().then(() => place.unfinished());
    // From here nobody can tell which of the two it is: the other run may be on another machine.
    const words = 'is of a run that was cut short, or is under way: remove it when no other backup runs';
    this.#notes.push(...left.map((name) => `${name} ${words}`));
    this.#erasures = await listErasures(this.#session.storage);
    const source = await this.#idOfSource();
    const link = await this.#findBase(source);
    try {
      const manifest = await this.#write(source, link);
      const content = Buffer.from(`${JSON.stringify(manifest)}\n`);
      await place.put(this.#id, manifestName, content);
      await place.finish(this.#id, latestText({ id: this.#id, sha256: sha256Of(content) }));
      const added = manifest.months.reduce((sum, { events }) => sum + events, 0);
      const { count: files, bytes } = this.#writer;
      return { manifest, added, files: files + 1, bytes: bytes + content.length, notes: this.#notes };
    } catch (error) {
      // The error that is thrown says more of the place than this one.
      await place.abandon(this.#id).catch(() => undefined);
      throw error;
    }
  }

  /** Another one for each database, also for one that this one was restored into. */
  async #idOfSource(): Promise<string> {
    const [row] = await this.#rows<{ id: string }>(
      "SELECT toString(uuid) AS id FROM system.tables WHERE database = currentDatabase() AND name = 'events'",
    );
    if (row === undefined || /^[0-]+$/.test(row.id))
      throw new Error('the database gives its tables no ids: its engine must be Atomic or Replicated');
    return row.id;
  }

  /** The newest backup of the place, where that is of the same database. */
  async #findBase(source: string): Promise<Link | null> {
    const { place, isFull } = this.#options;
    const link = isFull ? undefined : await latestOf(place);
    if (link === undefined) return null;
    const base = (await chainOf(place, link.id)).at(-1);
    if (base?.source !== source) {
      this.#notes.push('the backups there are of another database: this one stands alone');
      return null;
    }
    if (base.columns.join() !== eventsTable.columns.join()) {
      this.#notes.push('the backups there are of a release with other columns: this one stands alone');
      return null;
    }
    // Those of an organization that was deleted are gone, so their number says nothing.
    if (!this.#finished.every((id) => base.erasures.includes(id))) {
      this.#notes.push(
        'a person was erased since the backups there: this one stands alone, and those still have the person',
      );
      return null;
    }
    this.#base = base;
    return link;
  }

  /** Erasures that all events have gone through. Of one that is under way some have, and the backup has its plan. */
  get #finished(): readonly string[] {
    return this.#erasures.flatMap(({ id, finishedMicros }) => (finishedMicros === undefined ? [] : [id]));
  }

  get #isErasing(): boolean {
    return this.#finished.length < this.#erasures.length;
  }

  /** An erasure that has begun since may have changed events, and the backup has not its plan. */
  async #requireKnownErasures(): Promise<void> {
    const known = new Set(this.#erasures.map(({ id }) => id));
    const now = await listErasures(this.#session.storage);
    if (now.some(({ id }) => !known.has(id))) throw erasureMeanwhile();
  }

  async #write(source: string, base: Link | null): Promise<Manifest> {
    const evidence = await this.#evidence();
    const erasures = await this.#plans();
    const taken = await takeSnapshot(this.#session.storage, this.#session.config, this.#base?.snapshot);
    this.#notes.push(...taken.notes);
    try {
      const log = await this.#log(taken);
      const months = await this.#events(taken);
      const tables = [...evidence.tables, ...erasures, ...(await this.#others())];
      const added = months.reduce((sum, { events }) => sum + events, 0);
      const removed = await this.#removed();
      await this.#requireKnownErasures();
      return {
        format: manifestFormat,
        release: version(),
        id: this.#id,
        moment: new Date(taken.momentMs).toISOString(),
        source,
        base,
        snapshot: taken.snapshot,
        erasures: this.#finished,
        removed,
        evidence: evidence.watermark,
        events: added + (this.#base?.events ?? 0),
        organizations: (await listOrganizations(this.#session.storage)).length,
        columns: eventsTable.columns,
        months,
        tables,
        log,
        secrets: await this.#secrets(),
      };
    } finally {
      await taken.log?.close();
    }
  }

  /** What was removed, of which the backups below may have something: a longer retention since does not bring it back. */
  async #removed(): Promise<Manifest['removed']> {
    if (this.#base === undefined) return [];
    const removal = new EventRemoval(this.#session.storage);
    const found: RemovalBounds[] = [];
    for (const organization of await removal.organizations())
      found.push(...(await removal.gone(organization)));
    return found.map((bounds) => ({ ...bounds, below: String(bounds.below) }));
  }

  #rows<T>(
    query: string,
    scope: Scope = { where: '', parameters: {} },
    settings: Settings = {},
  ): Promise<T[]> {
    const options = { ...reading, settings: { ...reading.settings, ...settings } };
    return this.#session.storage.rows<T>(query, scope.parameters, options);
  }

  async #query(name: string, query: string, scope: Scope, settings: Settings = {}): Promise<Files> {
    const options = { settings: { ...packed, ...settings }, timeoutMs: limits.backupSilenceMsMax };
    const body = toReadable(await this.#session.storage.flow(query, scope.parameters, options));
    try {
      return await this.#writer.put(name, body);
    } finally {
      body.destroy();
    }
  }

  /** A table, or the rows of it that a condition names, as it is at one moment: one query. */
  async #table(table: KeptTable, scope: Scope): Promise<StoredTable> {
    const { name, columns } = table;
    const query = `SELECT ${columns.join(', ')} FROM ${name} FINAL WHERE ${scope.where} FORMAT Native`;
    return { name, columns, files: await this.#query(`tables/${name}`, query, scope) };
  }

  /**
   * Before the snapshot, so that every event that a tree has is in the backup; and in this order, as they are written in the
   * other one: what a crash could have left is what a restored server begins with.
   */
  async #evidence(): Promise<{ tables: StoredTable[]; watermark: string }> {
    const base = this.#base;
    const tables: StoredTable[] = [];
    const [{ watermark } = { watermark: '0' }] = await this.#rows<{ watermark: string }>(
      `SELECT toString(min(place)) AS watermark FROM (SELECT max(watermark) AS place FROM evidence_progress
         UNION ALL SELECT watermark FROM evidence_stopped FINAL WHERE stopped)`,
    );
    const scopes: Record<string, Scope> = {
      evidence_progress: all,
      evidence_stopped: all,
      // An hour, as clocks of replicas differ.
      evidence_checkpoints: base
        ? {
            where: "signed >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')",
            parameters: { since: Date.parse(base.moment) - 3_600_000 },
          }
        : all,
      evidence_tiles: base
        ? { where: '(level > 0 OR last_seq >= {since:UInt64})', parameters: { since: base.evidence } }
        : all,
    };
    for (const [name, scope] of Object.entries(scopes)) {
      tables.push(await this.#table(tableNamed(name), scope));
    }
    return { tables, watermark };
  }

  /** Before the events: one that is as it was there has its plan here, however the erasure goes on meanwhile. */
  async #plans(): Promise<StoredTable[]> {
    const tables: StoredTable[] = [];
    for (const name of erasureTables) tables.push(await this.#table(tableNamed(name), all));
    if (this.#isErasing)
      this.#notes.push('a person is being erased from events: a restored server goes on with that');
    return tables;
  }

  /** After the events: an organization that has any is among those. */
  async #others(): Promise<StoredTable[]> {
    const tables: StoredTable[] = [];
    const rest = otherTables.filter(({ name }) => !evidenceTables.has(name) && !erasureTables.has(name));
    for (const table of rest.toSorted((a, b) => Number(isLast(a)) - Number(isLast(b))))
      tables.push(await this.#table(table, all));
    return tables;
  }

  async #log({ log, momentMs }: Taken): Promise<Manifest['log']> {
    const segments: Manifest['log']['segments'][number][] = [];
    const kept: { name: string; files: Files }[] = [];
    if (log === undefined) return { segments, kept, answers: await this.#writer.put('log/answers', []) };
    for (const number of log.segments) {
      const { file, ...facts } = await log.read(number);
      if (facts.isDamaged) this.#notes.push(`segment ${number} of the log is damaged: "doctor" tells more`);
      if (facts.rows > 0 || facts.isDamaged)
        segments.push({ ...facts, files: await this.#writer.put(`log/${number}`, [file]) });
    }
    for (const name of log.kept)
      kept.push({ name, files: await this.#writer.put(`log/${name}`, [await log.readKept(name)]) });
    const answered = readAnswers(this.#session.config.dataDir, momentMs);
    return { segments, kept, answers: await this.#writer.put('log/answers', answered) };
  }

  async #events({ snapshot }: Taken): Promise<StoredMonth[]> {
    const scope = newIn(snapshot, this.#base?.snapshot);
    const found = await this.#rows<{ month: number; low: string; high: string; events: string }>(
      `SELECT ${recordingMonth} AS month, toString(min(seq)) AS low, toString(max(seq)) AS high,
         toString(count()) AS events FROM events WHERE ${scope.where} GROUP BY month ORDER BY month`,
      scope,
    );
    const total = found.reduce((sum, { events }) => sum + Number(events), 0);
    await this.#requireRoom(total);
    this.#progress = createProgress(this.#session.deps.io, { items: 'events', total });
    this.#throttle = await Throttle.of(this.#session, limits.throttleBackupBytes, this.#options.isFullSpeed);
    const months: StoredMonth[] = [];
    for (const { month, low, high } of found) {
      const from = low;
      const before = String(BigInt(high) + 1n);
      const ofMonth: Scope = {
        where: `seq >= {from:UInt64} AND seq < {before:UInt64} AND ${scope.where}`,
        parameters: { ...scope.parameters, from, before },
      };
      months.push({ month, from, before, ...(await this.#month(month, ofMonth)) });
    }
    this.#progress.end();
    return months;
  }

  async #month(month: number, scope: Scope): Promise<Pick<StoredMonth, 'events' | 'counts' | 'slices'>> {
    const slices: StoredMonth['slices'][number][] = [];
    const lines: Buffer[] = [];
    for await (const bounds of boundsOf(this.#session.storage, scope)) {
      const name = `events/${month}-${String(slices.length).padStart(6, '0')}`;
      const { rows, files } = await this.#slice(name, within(scope, bounds));
      const events = rows.reduce((sum, row) => sum + row.events, 0);
      if (events === 0) continue;
      slices.push({ ...bounds, events, files });
      lines.push(...rows.map((row) => Buffer.from(`${JSON.stringify(row)}\n`)));
      this.#done += events;
      this.#progress?.at(this.#done, this.#done);
    }
    const counts = await this.#writer.put(`events/${month}.counts`, lines);
    return { events: slices.reduce((sum, { events }) => sum + events, 0), counts, slices };
  }

  /**
   * Rows, and what they are counted as: two questions, between which the retention may remove some. Rows only ever go, so
   * where there are as many after the second question as at the first, both had the same.
   */
  async #slice(name: string, slice: Scope): Promise<{ rows: readonly CountRow[]; files: Files }> {
    const names = eventsTable.columns.join(', ');
    for (let attempt = 1; ; attempt += 1) {
      const counted = await this.#rows<CountRow>(
        countsQuery(slice, eventsTable.columns),
        slice,
        this.#throttle.settings(),
      );
      const events = counted.reduce((sum, row) => sum + row.events, 0);
      if (events === 0) return { rows: [], files: [] };
      const query = `SELECT ${names} FROM events WHERE ${slice.where} FORMAT Native`;
      const files = await this.#query(
        attempt === 1 ? name : `${name}.${attempt}`,
        query,
        slice,
        this.#throttle.settings(),
      );
      const [row] = await this.#rows<{ events: string }>(
        `SELECT toString(count()) AS events FROM events WHERE ${slice.where}`,
        slice,
      );
      const isSame =
        Number(row?.events) === events && (!this.#isErasing || (await this.#isAs(slice, counted)));
      if (isSame) return { rows: counted, files };
      // What was written stays, as no manifest names it: harmless, and a bucket may let nothing be taken back.
      if (attempt === limits.backupSliceTriesMax)
        throw new Problem('conflict', 'events are being removed all the time: run this again later');
    }
  }

  /** Whether rows are what they were counted as: an erasure that is under way changes some and takes none away. */
  async #isAs(slice: Scope, counted: readonly CountRow[]): Promise<boolean> {
    const now = await this.#rows<CountRow>(
      countsQuery(slice, eventsTable.columns),
      slice,
      this.#throttle.settings(),
    );
    const hashes = new Map(now.map(({ organization, hash }) => [organization, hash]));
    return counted.every(({ organization, hash }) => hashes.get(organization) === hash);
  }

  /** Says so before anything is written where it could not all be. */
  async #requireRoom(events: number): Promise<void> {
    const { place } = this.#options;
    const free = await place.freeBytes();
    if (free === undefined) return;
    const needed = events * (await this.#bytesOfEvent()) + limits.backupFreeBytesMin;
    if (needed > free)
      throw new Problem(
        'conflict',
        `${place.name} has ${mebibytes(free)} free: ${mebibytes(needed)} may be needed for ${events} events; free some space, or name another place`,
      );
  }

  async #bytesOfEvent(): Promise<number> {
    if (this.#session.config.clickhouse.url !== undefined) return limits.backupEventBytes;
    const [row] = await this.#rows<{ bytes: number | null }>(
      `SELECT sum(bytes_on_disk) / sum(rows) AS bytes FROM system.parts
       WHERE database = currentDatabase() AND table = 'events' AND active`,
    );
    return row?.bytes ?? limits.backupEventBytes;
  }

  async #secrets(): Promise<Manifest['secrets']> {
    const { dataDir, sessionSecret, evidenceKey, pseudonymSecret } = this.#session.config;
    if (!this.#options.withSecrets) return [];
    const found: { name: string; files: Files }[] = [];
    for (const name of secretNames) {
      const text = await readIfThere(join(dataDir, name));
      if (text !== undefined)
        found.push({ name, files: await this.#writer.put(`secrets/${name}`, [Buffer.from(text)]) });
    }
    if ([sessionSecret, evidenceKey, pseudonymSecret].some((secret) => secret !== undefined)) {
      const names = 'SESSION_SECRET, EVIDENCE_KEY, PSEUDONYM_SECRET';
      this.#notes.push(`what the environment has of secrets (${names}) is not in it`);
    }
    return found;
  }
}

const erasureMeanwhile = (): Problem =>
  new Problem('conflict', 'the erasure of a person was begun meanwhile: run this again');
const all: Scope = { where: '1', parameters: {} };
const erasureTables: ReadonlySet<string> = new Set(['erasures', 'erased_events', 'erasure_rows']);

function tableNamed(name: string): KeptTable {
  const table = otherTables.find((one) => one.name === name);
  if (table === undefined) throw new Error(`there is no table ${name}`);
  return table;
}
export const evidenceTables: ReadonlySet<string> = new Set([
  'evidence_progress',
  'evidence_stopped',
  'evidence_checkpoints',
  'evidence_tiles',
]);
const isLast = ({ name }: KeptTable): boolean => name === 'organizations';
export const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1024 ** 2)} MiB`;

/** How many events each organization has of a scope, and a hash of all that is in them: rows as `CountRow` has them. */
export function countsQuery({ where }: Scope, columns: readonly string[]): string {
  const hash = hashOf(columns);
  // Within, names that no column has: an alias takes the place of a column.
  return `SELECT toString(org_id) AS organization, toFloat64(row_count) AS events, toString(row_hash) AS hash
    FROM (SELECT org AS org_id, count() AS row_count, ${hash} AS row_hash FROM events WHERE ${where} GROUP BY org)`;
}
