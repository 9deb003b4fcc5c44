import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError } from '../base/errors/engine-error.ts';
import { Problem } from '../base/errors/problem.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import type { Clock } from '../base/time/clock.ts';
import { Mutex } from '../base/waiting/keyed-mutex.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { freshSingleFlight } from '../base/waiting/single-flight.ts';
import type { QueryOptions, Storage } from '../storage/storage.ts';
import { limits } from '../base/limits.ts';
import { type Change, eventOfChange, eventText } from './change-events.ts';
import type { Call, Decide } from './decision.ts';
import {
  emptyJournal,
  type Entry,
  type ErasedRow,
  Journal,
  type JournalDamage,
  type JournalHead,
  type JournalPage,
  type JournalReader,
  type JournalRow,
} from './journal.ts';
import type { Organization, Part, StoredCall } from './records.ts';
import { ControlState } from './state.ts';

const refreshMs = 1_000;
const refreshMsMax = 5_000;
/** A change reads an older state first: the engine remembers who has a place for a while only. */
const stateMsMax = 5_000;
/** Changes with unrecorded events; beyond, none is made. */
const unrecordedMax = 1_000;
const changesWaitingMax = 256;
const changeTriesMax = 30;
/** Wait before a try: random up to this, times its number. */
const changeWaitMs = 5;

/** No entry if nothing changes. */
interface Decided<T> {
  readonly entry: Entry | undefined;
  readonly result: T;
}

export interface DirectoryDeps {
  readonly storage: Storage;
  readonly log: Logger;
  readonly clock: Clock;
  /** Forgets expired ended sessions by it, so it must not jump ahead (`steadyClock`). */
  readonly expiryMicros: Clock;
  /** UUID of the server that hands events to ingest, or `anyServer`; undefined with the embedded engine. */
  readonly server: string | undefined;
  /** Rows that the journal must have, if known. */
  readonly mark?: JournalHead;
  /** Called for each row in order; `isOwn` if this process wrote it. */
  readonly applied?: (row: JournalRow, isOwn: boolean) => void;
  readonly damaged?: (damage: JournalDamage) => void;
  /** Changes whose events are not recorded yet. */
  readonly waiting?: () => number;
}

/**
 * Organizations, policies, users and keys in memory, so that requests need no query, and the only way to change them. Empty until
 * the first `refresh`. Changes of others arrive within `refreshMs` and the time of a query (contract: Credentials).
 */
export class Directory extends ControlState {
  /** Rejects with EngineError, and keeps the last state. */
  readonly refresh = freshSingleFlight(() => this.#turns.run(() => this.#readOn()));
  readonly #deps: DirectoryDeps;
  readonly #journal: Journal;
  readonly #turns = new Mutex();
  readonly #damage: JournalDamage[] = [];
  #damageTold = 0;
  /** Erased rows whose reason is not known yet. */
  readonly #erased: ErasedRow[] = [];
  #head = emptyJournal;
  /** By this process's clock; 0 before the first. */
  #refreshedMicros = 0;
  #readMs = Number.NEGATIVE_INFINITY;
  #changing = 0;
  #failing = false;
  #refreshing: Repeated | undefined;

  constructor(deps: DirectoryDeps) {
    super();
    this.#deps = deps;
    this.#journal = new Journal(deps.storage);
  }

  get place(): number {
    return this.#head.place;
  }

  /** Damage of the journal that nobody has accepted; in order. */
  damage(): readonly JournalDamage[] {
    return this.#damage.filter(({ place }) => !this.hasAcceptedDamage(place));
  }

  /** Undefined also if damage of the journal hides the organization, its keys or users. */
  override organizationById(id: string): Organization | undefined {
    return this.isDoubtful(id) ? undefined : super.organizationById(id);
  }

  override organizations(): readonly Organization[] {
    return this.knownOrganizations().filter(({ id }) => !this.isDoubtful(id));
  }

  isDoubtful(id: string): boolean {
    if (this.#damage.length === 0) return false;
    return this.damage().some(({ organization }) => organization === undefined || organization === id);
  }

  /** Throws Problem `unavailable` if damage of the journal may have ended a key or user of an organization (undefined: of any). */
  requireWhole(organization = ''): void {
    if (!this.isDoubtful(organization)) return;
    const detail =
      'The control data of this organization is damaged; the operator of the service has to decide.';
    throw new Problem('unavailable', detail, { retryAfterSeconds: 60 });
  }

  /** A failure is logged once and tried again. */
  start(): void {
    this.#refreshing ??= new Repeated(
      refreshMs,
      () => this.#refreshOrKeep(),
      () => undefined,
    );
  }

  async stop(): Promise<void> {
    await this.#refreshing?.stop();
    this.#refreshing = undefined;
  }

  /** Never rejects: the state may be older if it could not be read. */
  async freshen(ageMsMax: number): Promise<void> {
    if (this.#deps.clock() - this.#refreshedMicros > ageMsMax * 1000) await this.#refreshOrKeep();
  }

  /**
   * Appends one row with the change and its events, or nothing. Once this resolves the change is durable and holds here. Rejects as
   * `decide` does, with EngineError if nothing was changed, and with Problem `unavailable` if that is unknown or too many wait.
   */
  async change<T>(call: Call, decide: Decide<T>): Promise<T> {
    if (this.#changing >= changesWaitingMax)
      throw new Problem('unavailable', 'Too many changes at once.', { retryAfterSeconds: 1 });
    if ((this.#deps.waiting?.() ?? 0) >= unrecordedMax)
      throw new Problem(
        'unavailable',
        'Changes cannot be recorded now, so nothing was changed; try again later.',
      );
    this.#changing += 1;
    try {
      return await this.#turns.run(() => this.#change(call, decide));
    } finally {
      this.#changing -= 1;
    }
  }

  /** Throws Problem `key_reused` if the earlier try was another request. */
  earlier({ id = '', request = '' }: Call): StoredCall | undefined {
    const earlier = this.call(id);
    if (earlier === undefined || earlier.request === request) return earlier;
    const detail = 'This Idempotency-Key was used for another change within the last 24 hours.';
    throw new Problem('key_reused', detail);
  }

  #change<T>(call: Call, decide: Decide<T>): Promise<T> {
    const { clock, server } = this.#deps;
    const { id = randomUUID(), request = '', actor, origin } = call;
    return this.#append(() => {
      const earlier = this.earlier(call);
      if (earlier !== undefined && earlier.unseen === undefined)
        return { entry: undefined, result: earlier.result as T };
      const micros = clock();
      const moment = { micros, place: this.#head.place + 1, unseen: earlier?.unseen };
      const { parts, changes, result, unseen, events: others = [] } = decide(this, moment);
      if (parts.length === 0 && changes.length === 0 && others.length === 0)
        return { entry: undefined, result };
      const events = changes.map((one) => eventText(eventOfChange(one, actor), micros, origin));
      const organization = organizationOf(parts, changes);
      const answer = unseen === undefined ? { result } : { unseen: { id: unseen.id, digest: unseen.digest } };
      const known = { id, organizationId: organization, request, micros, ...answer };
      const all = call.id === undefined ? parts : [...parts, ['call', known] as const];
      const entry = { id, organization, server, parts: all, events: [...events, ...others] };
      return { entry, result };
    });
  }

  /**
   * Tries again if another row was faster, so a stale state is harmless. Only a decision to change nothing takes no place: it
   * needs a state that was just read.
   */
  async #append<T>(decide: () => Decided<T>): Promise<T> {
    for (let attempt = 1; attempt <= changeTriesMax; attempt += 1) {
      const isRecent = attempt === 1 && performance.now() - this.#readMs < stateMsMax;
      let decided = isRecent ? entryOf(decide) : undefined;
      if (decided === undefined) {
        await this.#readOn();
        decided = decide();
      }
      const { entry, result } = decided;
      if (entry === undefined) return result;
      requireStorable(entry);
      const row = await this.#journal.append(this.#head, entry);
      if (row !== undefined) {
        this.#take(row, true);
        return result;
      }
      await sleep(Math.random() * attempt * changeWaitMs);
    }
    throw new Problem('unavailable', 'Others change something all the time.', { retryAfterSeconds: 1 });
  }

  async #readOn(): Promise<void> {
    const { clock, mark, storage } = this.#deps;
    const begun = clock();
    const isFirst = this.#refreshedMicros === 0;
    // The start may take as long as any read.
    const options: QueryOptions = isFirst ? {} : { timeoutMs: refreshMsMax };
    const reader = { server: this.#deps.server, recorded: mark?.place ?? 0 };
    for await (const page of pagesAfter(this.#journal, this.#head, reader, options)) {
      // On a full disk a running engine may have rows that no file has.
      if (!isFirst) await storage.checked(() => Promise.resolve());
      this.#damage.push(...page.damage);
      this.#erased.push(...page.erased);
      for (const row of page.rows) this.#take(row, false);
      this.#head = page.head;
    }
    this.#checkErased();
    if (isFirst) this.#compare();
    this.#tellDamage();
    this.forgetExpired(this.#deps.expiryMicros());
    this.#refreshedMicros = begun;
    this.#readMs = performance.now();
  }

  #tellDamage(): void {
    for (const one of this.#damage.slice(this.#damageTold))
      if (!this.hasAcceptedDamage(one.place)) this.#deps.damaged?.(one);
    this.#damageTold = this.#damage.length;
  }

  #compare(): void {
    const mark = this.#deps.mark ?? emptyJournal;
    for (let missing = this.#head.place + 1; missing <= mark.place; missing += 1)
      this.#damage.push({ place: missing, detail: 'is missing', organization: undefined });
    if (mark.place > this.#head.place) this.#head = mark;
  }

  /** Only a later erasure or deletion takes the texts of a row. */
  #checkErased(): void {
    const rows = this.#erased.splice(0);
    if (rows.length === 0) return;
    const erasures = this.erasures().toReversed();
    const last = new Map(erasures.map(({ organizationId, place }) => [organizationId, place]));
    for (const { place, organization } of rows) {
      const isOf = organization !== undefined && this.deletionOf(organization) !== undefined;
      if (!isOf && place >= (last.get(organization ?? '') ?? 0))
        this.#damage.push({ place, detail: 'was erased, and nothing says why', organization });
    }
  }

  #take(row: JournalRow, isOwn: boolean): void {
    const { place, digest } = row;
    const { mark } = this.#deps;
    if (place === mark?.place && digest !== mark.digest)
      this.#damage.push({ place, detail: 'is not the one that was there', organization: undefined });
    this.apply(row);
    this.#head = { place, digest };
    this.#deps.applied?.(row, isOwn);
  }

  async #refreshOrKeep(): Promise<void> {
    const { log } = this.#deps;
    try {
      await this.refresh();
      if (this.#failing) log.info({}, 'Control data is refreshed again');
      this.#failing = false;
    } catch (error) {
      if (!this.#failing)
        log.warn(errorFacts(error), 'Control data cannot be refreshed; the last state stays');
      this.#failing = true;
    }
  }
}

/** Rejects with EngineError. */
export async function readControlState(storage: Storage): Promise<ControlState> {
  const reading = new ReadState();
  await reading.read(new Journal(storage));
  return reading;
}

class ReadState extends ControlState {
  async read(journal: Journal): Promise<void> {
    const reader = { server: undefined, recorded: Number.MAX_SAFE_INTEGER };
    for await (const { rows } of pagesAfter(journal, emptyJournal, reader))
      for (const row of rows) this.apply(row);
  }
}

/** Rejects with EngineError if the rows that were there are not: a node may come and go. */
async function* pagesAfter(
  journal: Journal,
  head: JournalHead,
  reader: JournalReader,
  options: QueryOptions = {},
): AsyncGenerator<JournalPage> {
  if (!(await journal.hasMore(head, options))) return;
  let isEmpty = true;
  for await (const page of journal.read(head, reader, options)) {
    isEmpty = false;
    yield page;
  }
  if (!isEmpty) return;
  const message = `No cluster node answers that has row ${head.place + 1} of the journal`;
  throw new EngineError('unreachable', message);
}

/** Undefined if nothing changes. */
function entryOf<T>(decide: () => Decided<T>): Decided<T> | undefined {
  try {
    const decided = decide();
    return decided.entry && decided;
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

function requireStorable({ events }: Entry): void {
  const bytes = Math.max(0, ...events.map((event) => Buffer.byteLength(event)));
  if (bytes <= limits.eventBytesMax) return;
  const detail = `The audit event of this change would have ${bytes} bytes, and ${limits.eventBytesMax} are the most: use shorter texts.`;
  throw new Problem('malformed', detail);
}

/** Undefined: of none, or of several. */
function organizationOf(parts: readonly Part[], changes: readonly Change[]): string | undefined {
  const told = new Set(changes.map(({ organizationId }) => organizationId));
  if (told.size > 0) return told.size === 1 ? changes[0]?.organizationId : undefined;
  for (const [kind, record] of parts) {
    if (kind === 'organization' || kind === 'policy' || kind === 'sign_on' || kind === 'deletion')
      return record.id;
    if ('organizationId' in record) return record.organizationId;
  }
  return undefined;
}
