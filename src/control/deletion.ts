import { type Clock, systemClock } from '../base/clock.ts';
import { Problem } from '../base/problem.ts';
import { everyReplicaOf } from '../storage/claim.ts';
import { allTimeMicros, countOver, type EventRemoval } from '../storage/removal.ts';
import type { Storage } from '../storage/storage.ts';
import { listApiKeys } from './api-keys.ts';
import { ControlTable, field, optionalTime, type RowOf, time, version } from './control-table.ts';
import { findOrganization, type Organization, organizationTable } from './organizations.ts';
import { needsConfirmation, readPolicy } from './retention.ts';
import { listUsers } from './users.ts';

/** What is left of an organization that was deleted: what there was of it, and the last checkpoint that was signed. */
const deletionTable = new ControlTable('deletions', 'UUID', {
  /** Of the organization. */
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
export async function weighDeletion(
  storage: Storage,
  reference: string,
  operator: string,
  clock: Clock = systemClock,
): Promise<{ readonly organization: Organization; readonly deletion: Deletion }> {
  const organization = await findOrganization(storage, reference);
  const { id, slug, name } = organization;
  await refuseHeld(storage, id);
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
    events: await countOver(storage, wholeOf(id)),
    users: users.length,
    apiKeys: keys.length,
    checkpoint: checkpoints[0]?.note ?? '',
  };
  const times = { startedMicros: now, finishedMicros: undefined, version: now };
  return { organization, deletion: { id, slug, name, operator, ...counts, ...times } };
}

async function refuseHeld(storage: Storage, id: string): Promise<void> {
  const { heldMicros } = await readPolicy(storage, id);
  if (heldMicros !== undefined)
    throw new Problem('conflict', 'the organization is held: release it before it is deleted');
}

/**
 * Ends an organization: from now on nobody can write to it, read it or sign in. Its events are still there; see
 * `carryOutDeletion`, which may be repeated by anybody. `confirmed` must be the number of its events.
 */
export async function beginDeletion(
  storage: Storage,
  { organization, deletion }: Awaited<ReturnType<typeof weighDeletion>>,
  confirmed: number | undefined,
): Promise<void> {
  if (confirmed !== deletion.events) throw needsConfirmation(deletion.events, confirmed);
  await deletionTable.put(storage, deletion);
  try {
    // Of a hold and a deletion that begin together the hold counts.
    await refuseHeld(storage, organization.id);
  } catch (error) {
    await removeRows(storage, 'deletions', 'id', organization.id);
    throw error;
  }
  await markDeleted(storage, organization.id, deletion.startedMicros);
}

async function markDeleted(storage: Storage, id: string, nowMicros: number): Promise<void> {
  const [organization] = await organizationTable.select(storage, 'id = {id:UUID}', { id });
  if (organization === undefined || organization.deletedMicros !== undefined) return;
  await organizationTable.update(storage, organization, { deletedMicros: nowMicros }, nowMicros);
}

/** Whatever there is of one organization in a table of its own rows; physically, once this resolves. */
async function removeRows(storage: Storage, table: string, column: string, id: string): Promise<void> {
  const parameters = { id };
  const [found] = await storage.rows<{ n: string }>(
    `SELECT count() AS n FROM ${everyReplicaOf(storage, table)} WHERE ${column} = {id:UUID}`,
    parameters,
  );
  if (found?.n === '0') return;
  const settings = { mutations_sync: 2 };
  await storage.command(`ALTER TABLE ${table} DELETE WHERE ${column} = {id:UUID}`, parameters, { settings });
}

const tablesOf = [
  'users',
  'user_identities',
  'api_keys',
  'evidence_tiles',
  'evidence_checkpoints',
  'erasures',
  'erased_events',
  'erasure_rows',
];

/** All that there is of an organization beside its events, its own row and that of its deletion. */
export async function removeRowsOf(storage: Storage, id: string): Promise<void> {
  for (const table of tablesOf) await removeRows(storage, table, 'org', id);
  for (const table of ['sign_ons', 'retention_policies']) await removeRows(storage, table, 'id', id);
}

/**
 * Removes what there is of an organization whose deletion has begun: events, users, keys, policy, tree and checkpoints;
 * what is left is the row of the deletion. Begun again after a crash it goes on, and finds what came late.
 */
export async function carryOutDeletion(
  storage: Storage,
  removal: EventRemoval,
  deletion: Deletion,
  nowMicros: number,
  signal?: AbortSignal,
): Promise<Deletion> {
  const { id } = deletion;
  await markDeleted(storage, id, nowMicros);
  const planned = (await removal.unfinished()).filter(({ organization }) => organization === id);
  await removal.carryOut(planned, signal);
  const plan = await removal.plan(wholeOf(id), 2n ** 64n - 1n);
  if (plan !== undefined) await removal.carryOut([plan], signal);
  await removeRowsOf(storage, id);
  if (deletion.finishedMicros !== undefined) return deletion;
  return deletionTable.update(storage, deletion, { finishedMicros: nowMicros }, nowMicros);
}
