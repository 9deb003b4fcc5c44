import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../base/time/clock.ts';
import { Problem } from '../base/errors/problem.ts';
import { everyReplicaOf } from '../storage/cluster.ts';
import { allTimeMicros, countExpired, type EventRemoval } from '../storage/removal.ts';
import type { Storage } from '../storage/storage.ts';
import { listApiKeys } from './api-keys.ts';
import { ControlTable, field, optionalTime, type RowOf, time, version } from './control-table.ts';
import { limits } from './limits.ts';
import { findOrganization, type Organization, organizationTable } from './organizations.ts';
import { needsConfirmation, readPolicy } from './retention.ts';
import { listUsers } from './users.ts';

/** What is left of an organization that was deleted: what there was of it, and the last checkpoint that was signed. */
const deletionTable = new ControlTable('deletions', 'UUID', {
  /** The organization's id. */
  id: field<string>('id'),
  slug: field<string>('slug'),
  name: field<string>('name'),
  /** Who deleted it, as far as the operating system knew. */
  operator: field<string>('operator'),
  events: field<number>('events', Number),
  users: field<number>('users', Number),
  apiKeys: field<number>('api_keys', Number),
  /** A signed note; empty where there was none. */
  checkpoint: field<string>('checkpoint'),
  startedMicros: time('started_at'),
  finishedMicros: optionalTime('finished_at'),
  version: version(),
});

export type Deletion = RowOf<typeof deletionTable>;

/** Deletions, the newest first. Rejects with EngineError. */
export function listDeletions(storage: Storage): Promise<Deletion[]> {
  return deletionTable.select(storage, '1 ORDER BY started_at DESC');
}

const wholeOf = (organization: string) => ({ organization, beforeMicros: allTimeMicros });

/** What a deletion would remove, without changing anything. Throws Problem `conflict` where it is held. */
export async function previewDeletion(
  storage: Storage,
  reference: string,
  operator: string,
  clock: Clock = systemClock,
): Promise<{ readonly organization: Organization; readonly deletion: Deletion }> {
  const organization = await findOrganization(storage, reference);
  const { id, slug, name } = organization;
  if ((await readPolicy(storage, id)).heldMicros !== undefined) throw isHeld();
  const [users, keys, checkpoints] = await Promise.all([
    listUsers(storage, id),
    listApiKeys(storage, id),
    storage.rows<{ note: string }>(
      'SELECT note FROM evidence_checkpoints WHERE org = {org:UUID} ORDER BY size DESC, signed DESC LIMIT 1',
      { org: id },
    ),
  ]);
  const now = clock();
  const counts = {
    events: await countExpired(storage, wholeOf(id)),
    users: users.length,
    apiKeys: keys.length,
    checkpoint: checkpoints[0]?.note ?? '',
  };
  const times = { startedMicros: now, finishedMicros: undefined, version: now };
  return { organization, deletion: { id, slug, name, operator, ...counts, ...times } };
}

const isHeld = (): Problem =>
  new Problem('conflict', 'the organization is held: it is not deleted before "auditlog org release"');

/**
 * Ends an organization: from now on nobody can write to it, read it or sign in. Its events are still there; see
 * `carryOutDeletion`, which may be repeated by anybody. `confirmed` must be the number of its events.
 */
export async function beginDeletion(
  storage: Storage,
  { organization, deletion }: Awaited<ReturnType<typeof previewDeletion>>,
  confirmed: number | undefined,
): Promise<void> {
  if (confirmed !== deletion.events) throw needsConfirmation(deletion.events, confirmed);
  await deletionTable.put(storage, deletion);
  if (!(await endUnlessHeld(storage, organization.id, deletion.startedMicros))) throw isHeld();
}

/** Where a hold and a deletion begin together, the hold counts: then this takes the deletion back and returns false. */
async function endUnlessHeld(storage: Storage, id: string, nowMicros: number): Promise<boolean> {
  const { heldMicros } = await readPolicy(storage, id);
  const organization = await organizationRow(storage, id);
  if (organization === undefined || organization.deletedMicros !== undefined) return true;
  if (heldMicros !== undefined) {
    await removeRows(storage, 'deletions', 'id', id);
    return false;
  }
  await organizationTable.update(storage, organization, { deletedMicros: nowMicros }, nowMicros);
  return true;
}

/** Also finds an organization that was deleted. */
async function organizationRow(storage: Storage, id: string): Promise<Organization | undefined> {
  const [organization] = await organizationTable.select(storage, 'id = {id:UUID}', { id });
  return organization;
}

/**
 * Whether an organization that has just been held is there to be held: a deletion that began together with the hold has
 * seen it, or has ended the organization before.
 */
export async function outlivesDeletion(storage: Storage, id: string): Promise<boolean> {
  const begun = performance.now();
  for (;;) {
    if ((await deletionTable.select(storage, 'id = {id:UUID}', { id })).length === 0) return true;
    if ((await organizationRow(storage, id))?.deletedMicros !== undefined) return false;
    // The command was killed: whoever goes on with its deletion sees the hold.
    if (performance.now() - begun > limits.holdWaitQuietMs) return true;
    await sleep(limits.holdWaitPollMs);
  }
}

/** Whatever there is of one organization in a table of its own rows; physically, once this resolves. */
async function removeRows(storage: Storage, table: string, column: string, id: string): Promise<void> {
  const parameters = { id };
  const [found] = await storage.rows<{ n: string }>(
    `SELECT count() AS n FROM ${everyReplicaOf(storage, table)} WHERE ${column} = {id:UUID}`,
    parameters,
  );
  if (found?.n === '0') return;
  await storage.removeRows(table, { column, id });
}

/** What there is of an organization beside its events, its own row and that of its deletion: tables, and columns with its id. */
const tablesOf = [
  ...[
    'users',
    'user_identities',
    'api_keys',
    'evidence_tiles',
    'evidence_checkpoints',
    'evidence_stopped',
    'erasures',
    'erased_events',
    'erasure_rows',
  ].map((table) => ({ table, column: 'org' })),
  ...['sign_ons', 'retention_policies'].map((table) => ({ table, column: 'id' })),
];

export async function removeRowsOf(storage: Storage, id: string): Promise<void> {
  for (const { table, column } of tablesOf) await removeRows(storage, table, column, id);
}

/** Which of some organizations have such rows, whoever has put them there. */
export async function withRowsLeft(storage: Storage, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const queries = tablesOf.map(
    ({ table, column }) =>
      `SELECT DISTINCT toString(${column}) AS organization FROM ${table} WHERE ${column} IN {ids:Array(UUID)}`,
  );
  const found = new Set<string>();
  for (let at = 0; at < ids.length; at += limits.controlIdsAtOnceMax) {
    const rows = await storage.rows<{ organization: string }>(queries.join(' UNION ALL '), {
      ids: ids.slice(at, at + limits.controlIdsAtOnceMax),
    });
    for (const { organization } of rows) found.add(organization);
  }
  return found;
}

/**
 * Removes what there is of an organization whose deletion has begun: events, users, keys, policy, tree and checkpoints;
 * what is left is the row of the deletion. Begun again after a crash it goes on, and finds what came late. Undefined where
 * the crash came before the organization had ended, and a hold after it: then there is no deletion any more.
 */
export async function carryOutDeletion(
  storage: Storage,
  removal: EventRemoval,
  deletion: Deletion,
  nowMicros: number,
  signal?: AbortSignal,
): Promise<Deletion | undefined> {
  const { id } = deletion;
  if (!(await endUnlessHeld(storage, id, nowMicros))) return undefined;
  const planned = (await removal.unfinished()).filter(({ organization }) => organization === id);
  await removal.carryOut(planned, { signal });
  const plan = await removal.plan(wholeOf(id), 2n ** 64n - 1n);
  if (plan !== undefined) await removal.carryOut([plan], { signal });
  await removeRowsOf(storage, id);
  if (deletion.finishedMicros !== undefined) return deletion;
  return deletionTable.update(storage, deletion, { finishedMicros: nowMicros }, nowMicros);
}
