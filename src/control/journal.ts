import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { linesOf } from '../base/bytes/byte-flow.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import { Problem } from '../base/errors/problem.ts';
import { everyReplicaOf, everywhere, requireMajority } from '../storage/cluster.ts';
import type { QueryOptions, Storage } from '../storage/storage.ts';
import type { Part } from './records.ts';

const rowsMax = 30_000;
/** How long an INSERT without an answer is looked for. */
const doubtMsMax = 10_000;
const doubtPollMs = 100;
const nilUuid = '00000000-0000-0000-0000-000000000000';
/** The server of rows that commands write to a ClickHouse server: one of its servers takes their events over. */
export const anyServer = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Records that are written together, and their audit events. */
export interface Entry {
  /** UUID of the call. */
  readonly id: string;
  /** Undefined: of no organization alone. */
  readonly organization: string | undefined;
  /** UUID of the server that hands the events to ingest, or `anyServer`; undefined with the embedded engine. */
  readonly server: string | undefined;
  readonly parts: readonly Part[];
  /** JSON of source events (contract: Ingest). */
  readonly events: readonly string[];
}

/** Places are 1, 2, 3 without a gap, in one order for all servers. */
export interface JournalRow extends Entry {
  readonly place: number;
  /** SHA-256 of the row and the previous digest, in hex. */
  readonly digest: string;
}

export interface JournalHead {
  readonly place: number;
  readonly digest: string;
}

/** A second thread takes longer to begin than a row to write. */
const oneRow = { max_threads: 1, max_insert_threads: 1, input_format_parallel_parsing: 0 };

/** A few rows at a time: by default the engine takes 270 MB more for a journal of 210,000 rows. */
const streamed = {
  max_block_size: 1024,
  read_in_order_use_buffering: 0,
  output_format_parallel_formatting: 0,
};

const altered = 'is not as it was written';

export const emptyJournal: JournalHead = { place: 0, digest: '' };

export interface JournalDamage {
  readonly place: number;
  readonly detail: string;
  /** Undefined: anybody. */
  readonly organization: string | undefined;
}

export interface JournalReader {
  /** UUID of this server; undefined with the embedded engine. */
  readonly server: string | undefined;
  /** Ingest has the events of its rows up to this place. */
  readonly recorded: number;
}

export interface JournalPage {
  readonly rows: readonly JournalRow[];
  readonly damage: readonly JournalDamage[];
  readonly erased: readonly ErasedRow[];
  readonly head: JournalHead;
}

/** Only a later erasure or deletion may have done that. */
export type ErasedRow = Pick<JournalRow, 'place' | 'organization'>;

/** As the engine takes it. */
type NewRow = Omit<StoredRow, 'place' | 'erased'> & { readonly place: number };

type DigestedRow = Omit<StoredRow, 'parts' | 'events' | 'erased'>;

interface StoredRow {
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

const digested = 'place, id, org, server, parts_sha256, events_sha256, previous';
const columns = `${digested}, parts, events, erased`;
const sha256Of = (text: string): string => `lower(hex(SHA256(${text})))`;
const digestOfRow = sha256Of(
  `arrayStringConcat([toString(place), toString(id), toString(org), toString(server), parts_sha256, events_sha256, previous], '\n')`,
);
/** Null if it was altered. An erasure leaves none. */
const jsonOf = (name: string, whole: string): string =>
  `multiIf(erased AND ${name} = '', '[]', ${sha256Of(name)} = ${name}_sha256, ${whole}, 'null')`;
/** `ReadRow` as lines of JSON. The engine checks each row at a fraction of Node's time. Only whole texts are certainly JSON. */
const readLines = (table: string): string => `
  SELECT concat('[', toString(place), ',"', toString(id), '","', toString(org), '","', toString(server), '","', ${digestOfRow}, '",',
    toJSONString(previous), ',', if(erased, 'true', 'false'), ',', ${jsonOf('parts', 'parts')}, ',',
    ${jsonOf('events', `if(if(server = {server:UUID}, place > {recorded:UInt64}, server = '${anyServer}'), events, '[]')`)}, ']')
  FROM ${table} WHERE place > {place:UInt64} ORDER BY place FORMAT TSVRaw`;

type ReadRow = readonly [
  place: number,
  id: string,
  org: string,
  server: string,
  digest: string,
  previous: string,
  erased: boolean,
  parts: readonly Part[] | null,
  events: readonly string[] | null,
];

const sha256 = (text: string): string => hash('sha256', text);

function digestOf(row: DigestedRow): string {
  const { place, id, org, server, parts_sha256, events_sha256, previous } = row;
  return sha256([place, id, org, server, parts_sha256, events_sha256, previous].join('\n'));
}

/** The row behind `head`, and its digest. */
export function nextRow(head: JournalHead, entry: Entry): { readonly row: NewRow; readonly digest: string } {
  const { id, organization = nilUuid, server = nilUuid } = entry;
  const texts = { parts: JSON.stringify(entry.parts), events: JSON.stringify(entry.events) };
  const hashes = { parts_sha256: sha256(texts.parts), events_sha256: sha256(texts.events) };
  const row = { id, org: organization, server, ...hashes, previous: head.digest, ...texts };
  const place = head.place + 1;
  return { row: { ...row, place }, digest: digestOf({ ...row, place: String(place) }) };
}

/**
 * All changes of control data, in one order for all servers. Only an erasure changes a row. Rows of one place have one
 * deduplication token, so the engine stores the first; the other writer reads it before it tries the next place.
 */
export class Journal {
  readonly #storage: Storage;
  /** Of this object's last row: nobody has tried the next place. */
  #written: number | undefined;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /**
   * Durable. Undefined: another row is there. Rejects with EngineError if nothing was written, with Problem `unavailable` if that
   * is unknown.
   */
  async append(head: JournalHead, entry: Entry): Promise<JournalRow | undefined> {
    const { row, digest } = nextRow(head, entry);
    const isUntried = this.#storage.isOwn && this.#written === head.place;
    this.#written = undefined;
    if (!(await this.#put(row, digest, isUntried))) return undefined;
    this.#written = row.place;
    return { ...entry, place: row.place, digest };
  }

  /**
   * All rows behind `head`, as the engine sends them, with the events that the reader may have to hand to ingest. Rejects with
   * EngineError.
   */
  async *read(
    head: JournalHead,
    { server = nilUuid, recorded }: JournalReader,
    options: QueryOptions = {},
  ): AsyncGenerator<JournalPage> {
    const storage = this.#storage;
    await requireMajority(storage);
    const query = readLines(everyReplicaOf(storage, 'journal'));
    const parameters = { place: head.place, recorded, server };
    const settings = { ...streamed, ...(storage.cluster !== undefined && everywhere) };
    let last = head;
    for await (const lines of linesOf(await storage.flow(query, parameters, { ...options, settings }))) {
      const reading = new Reading(last);
      for (const line of lines) reading.take(JSON.parse(line) as ReadRow);
      const page = reading.page();
      last = page.head;
      yield page;
    }
  }

  /** Whether rows follow, at a quarter of the cost of `read`. Rejects with EngineError. */
  async hasMore({ place }: JournalHead, options: QueryOptions = {}): Promise<boolean> {
    const rows = await this.#rows('place', 'place > {place:UInt64}', { place }, { limit: 1, ...options });
    return rows.length > 0;
  }

  /** Records in the same rows as an id, whose texts are to be erased. */
  async besides(organization: string, id: string): Promise<readonly Part[]> {
    const condition = 'org = {org:UUID} AND position(parts, {id:String}) > 0';
    const rows = await this.#rows<StoredRow>(columns, condition, { org: organization, id });
    const parts = rows.flatMap((row) => JSON.parse(textOf(row, 'parts') ?? '[]') as Part[]);
    return parts.filter(([, record]) => record.id !== id);
  }

  /** Erases the texts that name an id before a place; later rows repeat what counts. Physically, once this resolves. */
  async erase(organization: string, id: string, before: number): Promise<void> {
    const parameters = { org: organization, before, id };
    for (const name of ['parts', 'events'] as const)
      await this.#erase(name, `place < {before:UInt64} AND position(${name}, {id:String}) > 0`, parameters);
  }

  /** Keeps the rows about the deletion itself. Physically, once this resolves. */
  async eraseDeleted(organization: string): Promise<void> {
    const parameters = { org: organization };
    await this.#erase('events', 'true', parameters);
    await this.#erase('parts', `NOT startsWith(parts, '[["deletion"')`, parameters);
  }

  async #erase(name: 'parts' | 'events', which: string, parameters: object): Promise<void> {
    const condition = `org = {org:UUID} AND ${name} NOT IN ('', '[]') AND ${which}`;
    if ((await this.#rows('place', condition, parameters)).length === 0) return;
    const statement = `ALTER TABLE journal UPDATE ${name} = '', erased = true WHERE ${condition}`;
    await this.#storage.command(statement, { ...parameters }, { settings: { mutations_sync: 2 } });
  }

  /** Whether the row is there now. For an untried place the INSERT's answer is enough. */
  async #put(row: NewRow, digest: string, isUntried: boolean): Promise<boolean> {
    const deadline = performance.now() + doubtMsMax;
    /** Rows that the engine had deduplicated but lost, as on a full disk. */
    let lost = 0;
    let mayCome = false;
    for (let isFirst = true; ; isFirst = false) {
      const failure = await this.#insert(row, `journal-${row.place}-${lost}`);
      if (failure === undefined && isFirst && isUntried) return true;
      if (failure !== undefined && !isRefused(failure)) mayCome = true;
      const found = await this.#look(row.place);
      if (typeof found === 'string') return found === digest;
      if (failure !== undefined && found === undefined && !mayCome) throw failure;
      if (performance.now() > deadline) throw inDoubt(failure ?? found);
      // A replica may lag.
      if (failure === undefined && found === undefined && this.#storage.cluster === undefined) lost += 1;
      else await sleep(doubtPollMs);
    }
  }

  /** Resolves with the failure. */
  #insert(row: NewRow, token: string): Promise<unknown> {
    const settings = { ...oneRow, insert_deduplicate: 1, insert_deduplication_token: token };
    return this.#storage.insertRows('journal', [row], { settings }).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  /** The digest, or the failure. After a failed INSERT the row may be on no disk. */
  async #look(place: number): Promise<string | EngineError | undefined> {
    try {
      return await this.#storage.checked(() => this.#digestAt(place));
    } catch (error) {
      if (error instanceof EngineError) return error;
      throw error;
    }
  }

  async #digestAt(place: number): Promise<string | undefined> {
    const [row] = await this.#rows<DigestedRow>(digested, 'place = {place:UInt64}', { place });
    return row && digestOf(row);
  }

  async #rows<T>(
    names: string,
    condition: string,
    parameters: object,
    { limit = rowsMax, ...options }: QueryOptions & { readonly limit?: number } = {},
  ): Promise<T[]> {
    const storage = this.#storage;
    await requireMajority(storage);
    const query = `SELECT ${names} FROM ${everyReplicaOf(storage, 'journal')} WHERE ${condition} ORDER BY place LIMIT ${limit}`;
    const settings = { max_threads: 1, ...(storage.cluster !== undefined && everywhere) };
    return storage.readRows<T>(query, { ...parameters }, { ...options, settings });
  }
}

const isRefused = (error: unknown): boolean => error instanceof EngineError && error.failure === 'refused';

function inDoubt(cause: unknown): Problem {
  const detail = 'It cannot be told yet whether this was done: a repeat will tell.';
  return new Problem('unavailable', detail, { retryAfterSeconds: 1, cause });
}

class Reading {
  #head: JournalHead;
  readonly #rows: JournalRow[] = [];
  readonly #damage: JournalDamage[] = [];
  readonly #erased: ErasedRow[] = [];

  constructor(head: JournalHead) {
    this.#head = head;
  }

  take([place, id, org, server, digest, previous, erased, parts, events]: ReadRow): void {
    const organization = org === nilUuid ? undefined : org;
    const head = this.#head;
    if (place === head.place && digest !== head.digest)
      this.#damage.push({ place, detail: 'is there twice', organization: undefined });
    // One for each replica.
    if (place <= head.place) return;
    for (let missing = head.place + 1; missing < place; missing += 1)
      this.#damage.push({ place: missing, detail: 'is missing', organization: undefined });
    if (place === head.place + 1 && previous !== head.digest)
      this.#damage.push({ place: Math.max(place - 1, 1), detail: altered, organization: undefined });
    this.#head = { place, digest };
    if (parts === null || events === null) {
      this.#damage.push({ place, detail: altered, organization });
      return;
    }
    if (erased) this.#erased.push({ place, organization });
    const by = server === nilUuid ? undefined : server;
    this.#rows.push({ place, digest, id, organization, server: by, parts, events });
  }

  page(): JournalPage {
    return { rows: this.#rows, damage: this.#damage, erased: this.#erased, head: this.#head };
  }
}

/** Undefined if it was altered. An erasure leaves none. */
function textOf(row: StoredRow, name: 'parts' | 'events'): string | undefined {
  if (row.erased && row[name] === '') return '[]';
  return sha256(row[name]) === row[`${name}_sha256`] ? row[name] : undefined;
}
