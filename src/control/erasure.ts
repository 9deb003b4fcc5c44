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

const erasureEventsAtOnce = 2_000;
/** Of a step; one event may be larger. */
const erasureBytesOfStep = 256 * 1024;
/** An older plan that has not begun is from a killed command. */
const erasurePlanMsMax = 24 * 3_600_000;

export type { StoredErasure } from './records.ts';

/** Hashes in hex. */
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

/** Plans only: nothing changes before `beginErasure`. Resolves with the events that are still stored. Rejects with EngineError. */
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

/** From here on a server completes it. `besides`: records in the same journal rows as the account (`Journal.besides`). */
export function beginErasure(
  planned: Omit<StoredErasure, 'place' | 'startedMicros' | 'finishedMicros'>,
  besides: readonly Part[],
): Decide<StoredErasure> {
  return (state, { micros, place }) => {
    // Nothing to change, so no server needs to complete it.
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

export async function forgetPlan(storage: Storage, id: string): Promise<void> {
  for (const table of ['erasure_rows', 'erased_events']) await removeOf(storage, table, id);
}

/**
 * Removes plans of killed commands, older than a day at `nowMicros`: their texts must not outlive the events.
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

/** Another turn continues. */
export type Interruption = 'held';

/** Replaces the planned events, some hundred at a time. Repeatable: finished ones are skipped. Stops if the organization is held. */
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

/** Erases earlier texts of the account in the journal. */
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

/** Groups for one statement each: by bytes, at least one event. */
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

/** Waits for the last only: the engine rewrites a part once for several. */
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
  /** Unchanged since the plan. */
  readonly waiting: number;
  /** Changed by others since. */
  readonly overtaken: number;
}

/** On whichever replica; rejects if one does not answer. */
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

interface ListedEvent extends Record<'place' | 'before' | 'after', string> {
  readonly erasure: string;
}

/** Also what later erasures made of it. */
function mayBe(now: string, after: string | undefined, lists: readonly ListedEvent[]): boolean {
  const found = new Set([after]);
  for (const hash of found) for (const one of lists) if (one.before === hash) found.add(one.after);
  return found.has(now);
}

/** Events that a finished erasure left because they had changed since its plan. Rejects with EngineError. */
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

/** With the hash in hex. */
interface EventTexts {
  readonly source: string;
  readonly ocsf: string;
  readonly hash: string;
}

/** Texts that erasures in progress will write, by order number. Read it before the events, as a finished plan is removed. */
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

/** Unfinished, oldest first. */
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
