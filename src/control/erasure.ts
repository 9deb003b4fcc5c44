import { eventsOfAll } from '../storage/attempts.ts';
import { eventHashNow } from '../storage/event-hash.ts';
import type { Storage } from '../storage/storage.ts';
import { hashesAfter, replaceEvents, type ReplacedEvent, seqList } from '../storage/replaced-events.ts';
import { isAddressOfPseudonym } from '../base/events/pseudonym.ts';
import { changeOfErasure, changeOfUser } from './change-events.ts';
import { type Decide, unchanged } from './decision.ts';
import { type ControlStore, ourselves } from './deletion.ts';
import { Journal } from './journal.ts';
import type { Part, StoredErasure } from './records.ts';
import { policyOf } from './retention.ts';
import type { ControlState } from './state.ts';
import { erasedAccount } from './users.ts';

/** Events that a step of an erasure replaces at once. */
const erasureEventsAtOnce = 2_000;
/** Bytes of such a step; one event may be larger. */
const erasureBytesOfStep = 256 * 1024;
/** An erasure that was planned this long ago and has not begun is of a command that was killed. */
const erasurePlanMsMax = 24 * 3_600_000;

export type { StoredErasure } from './records.ts';

/** An event of the list of an erasure: its place, and its hashes before and after, in hex. */
interface PlannedEvent {
  readonly seq: string;
  readonly before: string;
  readonly after: string;
}

function columnsOf(event: ReplacedEvent) {
  return {
    activity_name: event.activityName,
    actor_email: event.actorEmail,
    actor_id: event.actorId,
    names: event.names,
    file_hash: event.fileHash,
    file_name: event.fileName,
    target_name: event.targetName,
    ocsf: event.ocsf,
    source: event.source,
  };
}

/**
 * Writes down what is to become of some events; nothing changes by that before `beginErasure`. Resolves with those that are
 * still stored. Rejects with EngineError.
 */
export async function planEvents(
  storage: Storage,
  { id, organizationId }: Pick<StoredErasure, 'id' | 'organizationId'>,
  events: readonly ReplacedEvent[],
): Promise<PlannedEvent[]> {
  const hashes = await hashesAfter(storage, organizationId, events);
  const planned: PlannedEvent[] = [];
  const rows: object[] = [];
  for (const event of events) {
    const { before } = event;
    const seq = String(event.seq);
    const after = hashes.get(seq);
    if (after === undefined) continue;
    planned.push({ seq, before, after });
    rows.push({ org: organizationId, erasure: id, seq, ...columnsOf(event) });
  }
  await storage.insertRows('erasure_rows', rows);
  await storage.insertRows(
    'erased_events',
    planned.map((one) => ({ org: organizationId, erasure: id, ...one })),
  );
  return planned;
}

/**
 * From here on a server carries it out, whatever becomes of the command: the event says so, and the account of the person is
 * erased with it. `besides` are records that stand in the same rows of the journal as that account (`Journal.besides`).
 */
export function beginErasure(
  planned: Omit<StoredErasure, 'place' | 'startedMicros' | 'finishedMicros'>,
  besides: readonly Part[],
): Decide<StoredErasure> {
  return (state, { micros, place }) => {
    // Where there is nothing to change, no server need come to it.
    const hasAccount = state.userById(planned.account) !== undefined;
    const finishedMicros = planned.events === 0 && !hasAccount ? micros : undefined;
    const erasure = { ...planned, place, startedMicros: micros, finishedMicros };
    const account = erasedAccount(state, erasure.account, erasure.pseudonym, micros);
    const disabled = account.flatMap(([kind, record]) =>
      kind === 'user' ? [changeOfUser(record, 'userDisabled')] : [],
    );
    return {
      parts: [['erasure', erasure], ...account, ...state.current(besides)],
      changes: [...disabled, changeOfErasure(erasure)],
      result: erasure,
    };
  };
}

function endErasure(id: string): Decide<StoredErasure> {
  return (state, { micros }) => {
    const erasure = state.erasure(id);
    if (erasure === undefined) throw new Error(`the journal has no erasure ${id}`);
    if (erasure.finishedMicros !== undefined) return unchanged(erasure);
    const finished = { ...erasure, finishedMicros: micros };
    return { parts: [['erasure', finished]], changes: [], result: finished };
  };
}

/** Forgets what was planned of an erasure that has not begun. */
export async function forgetPlan(storage: Storage, id: string): Promise<void> {
  for (const table of ['erasure_rows', 'erased_events']) await removeOf(storage, table, id);
}

/**
 * Forgets plans of commands that were killed before they had begun an erasure: they have texts of events, which else would
 * outlive the events. One that is being made is younger than a day at `nowMicros`, a time that has passed for certain. Resolves with how many there were.
 */
export async function forgetLeftPlans(
  { storage, directory }: ControlStore,
  nowMicros: number,
): Promise<number> {
  const left = ['erasure_rows', 'erased_events'].map(
    (table) => `SELECT DISTINCT toString(erasure) AS id FROM ${table}
      WHERE recorded < fromUnixTimestamp64Micro({before:Int64}, 'UTC')`,
  );
  const rows = await storage.rows<{ id: string }>(left.join(' UNION DISTINCT '), {
    before: Math.floor(nowMicros) - erasurePlanMsMax * 1000,
  });
  const forgotten = rows.filter(({ id }) => directory.erasure(id) === undefined);
  for (const { id } of forgotten) await forgetPlan(storage, id);
  return forgotten.length;
}

function removeOf(storage: Storage, table: string, id: string): Promise<void> {
  return storage.removeRows(table, { column: 'erasure', id });
}

/** Why an erasure was not carried out to its end; another turn goes on. */
export type Interruption = 'held';

/**
 * Puts what was planned into the table of events, some hundred at a time. May be repeated by anybody: what is as it is to
 * be already is passed over. Between steps it looks whether the organization is held.
 */
export async function carryOutErasure(
  { storage, directory }: ControlStore,
  erasure: StoredErasure,
  signal?: AbortSignal,
): Promise<StoredErasure | Interruption> {
  for (let after = 0n; ; ) {
    signal?.throwIfAborted();
    await directory.refresh();
    if (policyOf(directory, erasure.organizationId).heldMicros !== undefined) return 'held';
    const seqs = await nextSeqs(storage, erasure, after);
    const last = seqs.at(-1)?.seq;
    if (last === undefined) break;
    await replace(storage, erasure, stepsOf(seqs), signal);
    after = last;
  }
  await removeOf(storage, 'erasure_rows', erasure.id);
  await eraseFromJournal({ storage, directory }, erasure);
  return directory.change({ actor: ourselves }, endErasure(erasure.id));
}

/** What the journal has of the person's account from before the erasure. */
async function eraseFromJournal({ storage, directory }: ControlStore, erasure: StoredErasure): Promise<void> {
  const { account, organizationId } = erasure;
  const user = directory.userById(account);
  if (user !== undefined && isAddressOfPseudonym(user.email))
    await new Journal(storage).erase(organizationId, account, erasure.place);
}

interface Sized {
  readonly seq: bigint;
  readonly bytes: number;
}

async function nextSeqs(
  storage: Storage,
  { id, organizationId }: StoredErasure,
  after: bigint,
): Promise<Sized[]> {
  const rows = await storage.rows<{ place: string; bytes: string }>(
    `SELECT toString(seq) AS place, toString(length(source) + length(ocsf)) AS bytes FROM erasure_rows FINAL
     WHERE org = {org:UUID} AND erasure = {id:UUID} AND seq > {after:UInt64} ORDER BY seq LIMIT {limit:UInt32}`,
    { org: organizationId, id, after, limit: erasureEventsAtOnce },
  );
  return rows.map(({ place, bytes }) => ({ seq: BigInt(place), bytes: Number(bytes) }));
}

/** What one statement may have each: by bytes, and of one event at least. */
function stepsOf(events: readonly Sized[]): bigint[][] {
  const steps: bigint[][] = [];
  let held = Number.POSITIVE_INFINITY;
  for (const { seq, bytes } of events) {
    held += bytes;
    if (held > erasureBytesOfStep) {
      steps.push([]);
      held = bytes;
    }
    steps.at(-1)?.push(seq);
  }
  return steps;
}

/** Statements one after the other, and a wait for the last: the engine goes once over a part for several. */
async function replace(
  storage: Storage,
  erasure: StoredErasure,
  steps: readonly (readonly bigint[])[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const all = steps.flat();
  if ((await statesOf(storage, erasure, all)).waiting === 0) return;
  for (const [n, step] of steps.entries()) {
    const waits = n === steps.length - 1;
    await replaceEvents(storage, erasure.organizationId, await rowsOf(storage, erasure, step), {
      waits,
      signal,
    });
  }
  const { waiting } = await statesOf(storage, erasure, all);
  if (waiting > 0) throw new Error(`${waiting} events are as they were after they were replaced`);
}

interface States {
  /** Events that are as the plan found them. */
  readonly waiting: number;
  /** Such as are neither that nor what they were to become: they were changed after the plan was made. */
  readonly overtaken: number;
}

/** How far the stored ones of these events are, on whichever replica; one that does not answer rejects. */
async function statesOf(
  storage: Storage,
  { id, organizationId }: StoredErasure,
  seqs: readonly bigint[],
): Promise<States> {
  const list = seqList(seqs);
  const ofErasure = { org: organizationId, id };
  const listed = await storage.rows<ListedEvent>(
    `SELECT toString(erasure) AS erasure, toString(seq) AS place, before, after FROM erased_events FINAL
     WHERE org = {org:UUID} AND seq IN (${list})`,
    ofErasure,
  );
  const events = storage.cluster === undefined ? 'events' : eventsOfAll(storage.cluster);
  const stored = await storage.rows<{ place: string; now: string }>(
    `SELECT DISTINCT toString(seq) AS place, lower(hex(${eventHashNow})) AS now FROM ${events}
     WHERE org = {org:UUID} AND seq IN (${list})`,
    ofErasure,
  );
  const plans = new Map(listed.filter(({ erasure }) => erasure === id).map((one) => [one.place, one]));
  const lists = new Map<string, ListedEvent[]>();
  for (const one of listed) lists.set(one.place, [...(lists.get(one.place) ?? []), one]);
  const other = stored.filter(
    ({ place, now }) => !mayBe(now, plans.get(place)?.after, lists.get(place) ?? []),
  );
  const waiting = other.filter(({ place, now }) => plans.get(place)?.before === now).length;
  return { waiting, overtaken: other.length - waiting };
}

/** An event of the list of an erasure. */
interface ListedEvent extends Record<'place' | 'before' | 'after', string> {
  readonly erasure: string;
}

/** Whether an event is what an erasure has made of it, or what others have made of that since. */
function mayBe(now: string, after: string | undefined, lists: readonly ListedEvent[]): boolean {
  const found = new Set([after]);
  for (const hash of found) for (const one of lists) if (one.before === hash) found.add(one.after);
  return found.has(now);
}

/**
 * How many events a finished erasure has left as they were, since they had been changed after its plan was made, or some of
 * that was lost with a damaged part: whoever was to be erased from them may be in them still. Rejects with EngineError.
 */
export async function overtakenEvents(storage: Storage, erasure: StoredErasure): Promise<number> {
  const { id, organizationId, events } = erasure;
  let left = 0;
  let lost = events;
  for (let after = 0n; ; ) {
    const rows = await storage.rows<{ place: string }>(
      `SELECT toString(seq) AS place FROM erased_events FINAL
       WHERE org = {org:UUID} AND erasure = {id:UUID} AND seq > {after:UInt64} ORDER BY seq LIMIT {limit:UInt32}`,
      { org: organizationId, id, after, limit: erasureEventsAtOnce },
    );
    const seqs = rows.map(({ place }) => BigInt(place));
    const last = seqs.at(-1);
    if (last === undefined) return left + lost;
    const { waiting, overtaken } = await statesOf(storage, erasure, seqs);
    left += waiting + overtaken;
    lost -= seqs.length;
    after = last;
  }
}

/** The texts of an event, and its hash in hex. */
interface EventTexts {
  readonly source: string;
  readonly ocsf: string;
  readonly hash: string;
}

/**
 * What erasures that are under way will have made of events, by order number: the next one is planned on that. `underWay` are
 * the erasures, the oldest first. To be read before the events themselves: a plan goes when it has been carried out.
 */
export async function textsToBe(
  storage: Storage,
  underWay: readonly StoredErasure[],
  seqs: readonly bigint[],
): Promise<ReadonlyMap<string, EventTexts>> {
  const found = new Map<string, EventTexts>();
  for (const { id, organizationId: org } of underWay) {
    const rows = await storage.rows<EventTexts & { readonly place: string }>(
      `SELECT toString(seq) AS place, source, ocsf, after AS hash FROM erasure_rows FINAL
       INNER JOIN (SELECT seq, after FROM erased_events FINAL
         WHERE org = {org:UUID} AND erasure = {id:UUID} AND seq IN (${seqList(seqs)})) AS list USING seq
       WHERE org = {org:UUID} AND erasure = {id:UUID} AND seq IN (${seqList(seqs)})`,
      { org, id },
    );
    for (const { place, ...texts } of rows) found.set(place, texts);
  }
  return found;
}

/** Those of an organization that are not carried out yet, the oldest first. */
export function erasuresUnderWay(state: ControlState, organization?: string): StoredErasure[] {
  const erasures = state.erasures(organization);
  return erasures.filter(({ finishedMicros }) => finishedMicros === undefined).toReversed();
}

async function rowsOf(
  storage: Storage,
  { id, organizationId }: StoredErasure,
  seqs: readonly bigint[],
): Promise<ReplacedEvent[]> {
  type ErasureRow = ReturnType<typeof columnsOf> & Readonly<Record<'place' | 'before', string>>;
  const rows = await storage.rows<ErasureRow>(
    `SELECT toString(seq) AS place, before, activity_name, actor_email, actor_id, names, file_hash,
       file_name, target_name, ocsf, source
     FROM erasure_rows FINAL INNER JOIN (SELECT seq, before FROM erased_events FINAL
       WHERE org = {org:UUID} AND erasure = {id:UUID} AND seq IN (${seqList(seqs)})) AS list USING seq
     WHERE org = {org:UUID} AND erasure = {id:UUID} AND seq IN (${seqList(seqs)})`,
    { org: organizationId, id },
  );
  return rows.map((row) => ({
    seq: BigInt(row.place),
    before: row.before,
    activityName: row.activity_name,
    actorEmail: row.actor_email,
    actorId: row.actor_id,
    names: row.names,
    fileHash: row.file_hash,
    fileName: row.file_name,
    targetName: row.target_name,
    ocsf: row.ocsf,
    source: row.source,
  }));
}
