import { join } from 'node:path';
import { readIfThere, replaceFile } from '../base/files/durable-file.ts';
import { Problem } from '../base/errors/problem.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Mutex } from '../base/waiting/keyed-mutex.ts';
import { onReplicas } from '../storage/replica-reads.ts';
import type { Storage } from '../storage/storage.ts';
import { type Decide, unchanged } from './decision.ts';
import { anyServer, emptyJournal, type JournalHead, type JournalRow } from './journal.ts';

const retryMs = 1_000;
/** Each mark is a synced file. A start finds out which events of later rows are stored. */
const markMs = 1_000;
/** Rows behind the mark that are looked for in the table of events. */
const lookBackMax = 100;

export interface RefusedEvent {
  readonly place: number;
  /** From 1. */
  readonly event: number;
  readonly reason: string;
}

interface Options {
  readonly dataDir: string | undefined;
  readonly storage: Storage;
  readonly log: Logger;
  /** UUID of the server; undefined with the embedded engine. */
  readonly server: string | undefined;
  /** Called for each event that can never be stored, which is also logged. */
  readonly refused?: (event: RefusedEvent) => void;
}

/** Makes a change of this server. Rejects as `Directory.change`. */
type MakeChange = (decide: Decide<undefined>) => Promise<undefined>;

/** Idempotent by name. Rejects with Problem `malformed`, and stores none, if it can never store one of them. */
type Store = (name: string, events: readonly string[]) => Promise<void>;

/**
 * Hands the events of this server's changes to ingest, in order, each once; those of commands after taking them over. After a
 * kill the next start hands those behind `DATA_DIR/journal-mark` that are not stored.
 */
export class JournalEvents {
  readonly #options: Options;
  readonly #path: string | undefined;
  readonly #turns = new Mutex();
  readonly #waiting: { readonly row: JournalRow; readonly isFresh: boolean }[] = [];
  /** By place: rows that commands wrote, and no server has taken over yet. */
  readonly #ofCommands = new Map<number, JournalRow>();
  #mark: JournalHead;
  /** With or without events. */
  #taken: JournalHead;
  #store: Store | undefined;
  #change: MakeChange | undefined;
  #isLogged = false;
  #timer: NodeJS.Timeout | undefined;
  #movedMs = Number.NEGATIVE_INFINITY;
  #markTimer: NodeJS.Timeout | undefined;

  private constructor(options: Options, path: string | undefined, mark: JournalHead) {
    this.#options = options;
    this.#path = path;
    this.#mark = mark;
    this.#taken = mark;
  }

  static async open(options: Options): Promise<JournalEvents> {
    const path = options.dataDir === undefined ? undefined : join(options.dataDir, 'journal-mark');
    const text = path === undefined ? undefined : await readIfThere(path);
    const [, place = '', digest = ''] = /^(\d+) ([0-9a-f]{64})\n$/.exec(text ?? '') ?? [];
    return new JournalEvents(options, path, digest === '' ? emptyJournal : { place: Number(place), digest });
  }

  /** The journal has at least this row. */
  get mark(): JournalHead {
    return this.#mark;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** `isFresh`: its events cannot have been handed yet. */
  take(row: JournalRow, isFresh: boolean): void {
    this.#takeOfCommand(row);
    if (row.place <= this.#mark.place) return;
    this.#taken = { place: row.place, digest: row.digest };
    if (row.server === this.#options.server) this.#waiting.push({ row, isFresh });
    if (this.#store !== undefined && this.#timer === undefined) this.#schedule(0);
  }

  #takeOfCommand(row: JournalRow): void {
    for (const [kind, { id }] of row.parts) if (kind === 'handed_events') this.#ofCommands.delete(Number(id));
    const { server } = this.#options;
    if (server !== undefined && row.server === anyServer && row.events.length > 0)
      this.#ofCommands.set(row.place, row);
  }

  /** Resolves after the first attempt; later rows, also of commands, follow by themselves. */
  async start(store: Store, change: MakeChange): Promise<void> {
    this.#store = store;
    this.#change = change;
    await this.#handOrRetry();
  }

  /** Rejects as `store` does; the rest still waits. */
  hand(store: Store): Promise<void> {
    return this.#turns.run(async () => {
      await this.#handRows(store);
      await this.#move(this.#taken);
    });
  }

  async #handRows(store: Store): Promise<void> {
    if (this.#waiting.some(({ isFresh }) => !isFresh)) await this.#dropStored();
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      await this.#handRow(first.row, store);
      this.#waiting.shift();
    }
    for (const row of this.#ofCommands.values()) await this.#change?.(takeOver(row));
  }

  /** An event that can never be stored holds back no other. */
  async #handRow({ place, events }: JournalRow, store: Store): Promise<void> {
    if (events.length === 0) return;
    const name = `journal-${place}`;
    if ((await refusalOf(store(name, events))) === undefined) return;
    for (const [at, event] of events.entries()) {
      const refusal = await refusalOf(store(`${name}-${at + 1}`, [event]));
      if (refusal !== undefined) this.#refuse({ place, event: at + 1, reason: refusal.message });
    }
  }

  #refuse(refused: RefusedEvent): void {
    const { log } = this.#options;
    log.error({ ...refused }, 'An audit event of a change cannot be stored, and is only in the journal');
    this.#options.refused?.(refused);
  }

  async settled(): Promise<void> {
    const store = this.#store;
    if (store !== undefined) await this.hand(store).catch(() => undefined);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    clearTimeout(this.#markTimer);
    await this.settled();
    this.#store = undefined;
  }

  #schedule(ms: number): void {
    this.#timer = setTimeout(() => void this.#handOrRetry(), ms);
    if (ms > 0) this.#timer.unref();
  }

  async #handOrRetry(): Promise<void> {
    const store = this.#store;
    this.#timer = undefined;
    if (store === undefined) return;
    try {
      if (performance.now() - this.#movedMs < markMs) {
        await this.#turns.run(() => this.#handRows(store));
        this.#markTimer ??= setTimeout(() => void this.#handOrRetry(), markMs).unref();
      } else await this.hand(store);
      this.#isLogged = false;
    } catch (error) {
      const facts = { waiting: this.#waiting.length, ...errorFacts(error) };
      if (!this.#isLogged) this.#options.log.error(facts, 'Audit events of changes wait to be recorded');
      this.#isLogged = true;
      if (this.#timer === undefined) this.#schedule(retryMs);
    }
  }

  async #move(mark: JournalHead): Promise<void> {
    clearTimeout(this.#markTimer);
    this.#markTimer = undefined;
    if (mark.place === this.#mark.place) return;
    if (this.#path !== undefined) await replaceFile(this.#path, `${mark.place} ${mark.digest}\n`);
    this.#mark = mark;
    this.#movedMs = performance.now();
  }

  /** Rows are handed in order, so all before a stored one are stored. */
  async #dropStored(): Promise<void> {
    const others = this.#waiting.filter(({ isFresh, row }) => !isFresh && row.events.length > 0);
    // More are missing only if they were removed: an event waits for seconds, not for a hundred changes.
    let last = others.at(-lookBackMax);
    for (const one of others.slice(1 - lookBackMax).toReversed()) {
      if (!(await this.#isStored(one.row))) continue;
      last = one;
      break;
    }
    if (last !== undefined) this.#waiting.splice(0, this.#waiting.indexOf(last) + 1);
    for (const [at, one] of this.#waiting.entries()) this.#waiting[at] = { ...one, isFresh: true };
  }

  /** Another process may have been killed between handing and marking. */
  async #isStored({ events }: JournalRow): Promise<boolean> {
    const first = JSON.parse(events[0] ?? '{}') as SourceEvent;
    const { storage } = this.#options;
    const each = `SELECT count() AS events FROM events WHERE org = {org:UUID} AND own AND activity_id = {code:Int64}
      AND time = parseDateTime64BestEffort({time:String}, 6, 'UTC')`;
    const [found] = await storage.rows<{ n: string }>(
      `SELECT max(events) AS n FROM (${await onReplicas(storage, each, 'organization')})`,
      { org: first.message.org, code: first.message.action, time: first.time },
    );
    return found?.n !== '0';
  }
}

/** The first server whose row names that place hands the events. */
function takeOver({ place, organization, events }: JournalRow): Decide<undefined> {
  const record = { id: String(place), organizationId: organization };
  return (state) =>
    state.hasHandedEvents(place)
      ? unchanged(undefined)
      : { parts: [['handed_events', record]], changes: [], events, result: undefined };
}

/** Rejects with errors that may pass. */
async function refusalOf(stored: Promise<void>): Promise<Problem | undefined> {
  try {
    await stored;
  } catch (error) {
    if (error instanceof Problem && error.code === 'malformed') return error;
    throw error;
  }
  return undefined;
}

interface SourceEvent {
  readonly time: string;
  readonly message: { readonly org: string; readonly action: number };
}
