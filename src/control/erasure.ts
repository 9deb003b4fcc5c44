import { eventsOfAll } from '../storage/attempts.ts';
import type { Storage } from '../storage/storage.ts';
import { replaceEvents, type ReplacedEvent, seqList } from '../storage/replaced-events.ts';
import { ControlTable, field, optionalTime, type RowOf, time, version } from './control-table.ts';
import { limits } from './limits.ts';
import { readPolicy } from './retention.ts';

/** Persons who were taken out of stored events: one row for each time. */
const erasureTable = new ControlTable('erasures', 'UUID', {
  id: field<string>('id'),
  organizationId: field<string>('org'),
  pseudonym: field<string>('pseudonym'),
  /** Who did it, as far as the operating system knew. */
  operator: field<string>('operator'),
  events: field<number>('events', Number),
  /** SHA-256 over the list of its events, in hex (tlog/erasure.ts). */
  digest: field<string>('digest'),
  /** Of the user who was erased, too; the nil UUID: none. */
  account: field<string>('account'),
  startedMicros: time('started_at'),
  finishedMicros: optionalTime('finished_at'),
  version: version(),
});

export type StoredErasure = RowOf<typeof erasureTable>;

/** The newest first. Rejects with EngineError. */
export function listErasures(storage: Storage, organization?: string): Promise<StoredErasure[]> {
  const order = 'ORDER BY started_at DESC';
  return organization === undefined
    ? erasureTable.select(storage, `1 ${order}`)
    : erasureTable.select(storage, `org = {org:UUID} ${order}`, { org: organization });
}

/** What is to become of one event. */
export interface PlannedEvent {
  readonly event: ReplacedEvent;
  /** SHA-256 of the source event, in hex. */
  readonly before: string;
  readonly after: string;
}

/** Writes down what is to become of some events. Nothing changes by that before `beginErasure`. */
export async function planEvents(
  storage: Storage,
  { id, organizationId }: Pick<StoredErasure, 'id' | 'organizationId'>,
  planned: readonly PlannedEvent[],
): Promise<void> {
  const key = ({ seq }: ReplacedEvent) => ({ org: organizationId, erasure: id, seq: String(seq) });
  await storage.insertRows(
    'erasure_rows',
    planned.map(({ event }) => ({
      ...key(event),
      activity_name: event.activityName,
      actor_email: event.actorEmail,
      actor_id: event.actorId,
      names: event.names,
      file_hash: event.fileHash,
      ocsf: event.ocsf,
      source: event.source,
    })),
  );
  await storage.insertRows(
    'erased_events',
    planned.map(({ event, before, after }) => ({ ...key(event), before, after })),
  );
}

/** From here on a server carries it out, whatever becomes of the command. */
export function beginErasure(storage: Storage, erasure: StoredErasure): Promise<void> {
  return erasureTable.put(storage, erasure);
}

/** Forgets what was planned of an erasure that has not begun. */
export async function forgetPlan(storage: Storage, id: string): Promise<void> {
  for (const table of ['erasure_rows', 'erased_events']) await removeOf(storage, table, id);
}

/**
 * Forgets plans of commands that were killed before they had begun an erasure: they have texts of events, which else would
 * outlive the events. One that is being made is younger. Resolves with how many there were.
 */
export async function forgetLeftPlans(storage: Storage): Promise<number> {
  const left = ['erasure_rows', 'erased_events'].map(
    (table) => `SELECT DISTINCT toString(erasure) AS id FROM ${table}
      WHERE recorded < now64() - INTERVAL {seconds:UInt32} SECOND AND erasure NOT IN (SELECT id FROM erasures)`,
  );
  const rows = await storage.rows<{ id: string }>(left.join(' UNION DISTINCT '), {
    seconds: limits.erasurePlanMsMax / 1000,
  });
  for (const { id } of rows) await forgetPlan(storage, id);
  return rows.length;
}

function removeOf(storage: Storage, table: string, id: string): Promise<void> {
  const settings = { mutations_sync: 2 };
  return storage.command(`ALTER TABLE ${table} DELETE WHERE erasure = {id:UUID}`, { id }, { settings });
}

/** Why an erasure was not carried out to its end; another turn goes on. */
export type Interruption = 'held';

/**
 * Puts what was planned into the table of events, some hundred at a time. May be repeated by anybody: what is as it is to
 * be already is passed over. Between steps it looks whether the organization is held.
 */
export async function carryOutErasure(
  storage: Storage,
  erasure: StoredErasure,
  nowMicros: number,
  signal?: AbortSignal,
): Promise<StoredErasure | Interruption> {
  for (let after = 0n; ; ) {
    signal?.throwIfAborted();
    const { heldMicros } = await readPolicy(storage, erasure.organizationId);
    if (heldMicros !== undefined) return 'held';
    const seqs = await nextSeqs(storage, erasure, after);
    const last = seqs.at(-1)?.seq;
    if (last === undefined) break;
    await replace(storage, erasure, stepsOf(seqs), signal);
    after = last;
  }
  await removeOf(storage, 'erasure_rows', erasure.id);
  return erasureTable.update(storage, erasure, { finishedMicros: nowMicros }, nowMicros);
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
    { org: organizationId, id, after, limit: limits.erasureEventsAtOnce },
  );
  return rows.map(({ place, bytes }) => ({ seq: BigInt(place), bytes: Number(bytes) }));
}

/** What one statement may have each: by bytes, and of one event at least. */
function stepsOf(events: readonly Sized[]): bigint[][] {
  const steps: bigint[][] = [];
  let held = Number.POSITIVE_INFINITY;
  for (const { seq, bytes } of events) {
    held += bytes;
    if (held > limits.erasureBytesOfStep) {
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
  if ((await otherThan(storage, erasure, all)) === 0) return;
  for (const [n, step] of steps.entries()) {
    const waits = n === steps.length - 1;
    await replaceEvents(storage, erasure.organizationId, await rowsOf(storage, erasure, step), {
      waits,
      signal,
    });
  }
  const left = await otherThan(storage, erasure, all);
  if (left > 0) throw new Error(`${left} events are not as they should be after they were replaced`);
}

/** How many of these events are stored and not as they are to be, on whichever replica; one that does not answer rejects. */
async function otherThan(storage: Storage, { id, organizationId }: StoredErasure, seqs: readonly bigint[]) {
  const list = seqList(seqs);
  const ofErasure = { org: organizationId, id };
  const planned = await storage.rows<{ place: string; after: string }>(
    `SELECT toString(seq) AS place, after FROM erased_events FINAL
     WHERE org = {org:UUID} AND erasure = {id:UUID} AND seq IN (${list})`,
    ofErasure,
  );
  const events = storage.cluster === undefined ? 'events' : eventsOfAll(storage.cluster);
  const stored = await storage.rows<{ place: string; now: string }>(
    `SELECT DISTINCT toString(seq) AS place, lower(hex(SHA256(source))) AS now FROM ${events}
     WHERE org = {org:UUID} AND seq IN (${list})`,
    ofErasure,
  );
  const wanted = new Map(planned.map(({ place, after }) => [place, after]));
  return stored.filter(({ place, now }) => wanted.get(place) !== now).length;
}

async function rowsOf(
  storage: Storage,
  { id, organizationId }: StoredErasure,
  seqs: readonly bigint[],
): Promise<ReplacedEvent[]> {
  type Row = Record<'place' | 'activity_name' | 'actor_email' | 'actor_id' | 'ocsf' | 'source', string> &
    Record<'names' | 'file_hash', string[]>;
  const rows = await storage.rows<Row>(
    `SELECT toString(seq) AS place, activity_name, actor_email, actor_id, names, file_hash, ocsf, source
     FROM erasure_rows FINAL WHERE org = {org:UUID} AND erasure = {id:UUID} AND seq IN (${seqList(seqs)})`,
    { org: organizationId, id },
  );
  return rows.map((row) => ({
    seq: BigInt(row.place),
    activityName: row.activity_name,
    actorEmail: row.actor_email,
    actorId: row.actor_id,
    names: row.names,
    fileHash: row.file_hash,
    ocsf: row.ocsf,
    source: row.source,
  }));
}
