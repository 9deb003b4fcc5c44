import { Problem } from '../base/errors/problem.ts';
import { everyReplicaOf } from '../storage/cluster.ts';
import { allTimeMicros, countExpired, type EventRemoval } from '../storage/removal.ts';
import type { Storage } from '../storage/storage.ts';
import { type Decide, unchanged } from './decision.ts';
import type { Directory } from './directory.ts';
import { Journal } from './journal.ts';
import { limits } from './limits.ts';
import { findOrganization } from './organizations.ts';
import type { Deletion } from './records.ts';
import { needsConfirmation, policyOf } from './retention.ts';
import type { ControlState } from './state.ts';

export type { Deletion } from './records.ts';

export interface ControlStore {
  readonly storage: Storage;
  readonly directory: Directory;
}

const wholeOf = (organization: string) => ({ organization, beforeMicros: allTimeMicros });

const isHeld = (): Problem =>
  new Problem('conflict', 'the organization is held: it is not deleted before "auditlog org release"');

function checkNotHeld(state: ControlState, id: string): void {
  if (policyOf(state, id).heldMicros !== undefined) throw isHeld();
}

/** Counts of a planned deletion. */
export type DeletionPreview = Omit<Deletion, 'startedMicros' | 'finishedMicros'>;

/** Throws Problem `not_found`, and `conflict` if it is held. */
export async function previewDeletion(
  { storage, directory }: ControlStore,
  reference: string,
  operator: string,
): Promise<DeletionPreview> {
  const { id, slug, name } = findOrganization(directory, reference);
  checkNotHeld(directory, id);
  const [checkpoint] = await storage.rows<{ note: string }>(
    'SELECT note FROM evidence_checkpoints WHERE org = {org:UUID} ORDER BY size DESC, signed DESC LIMIT 1',
    { org: id },
  );
  return {
    id,
    slug,
    name,
    operator,
    events: await countExpired(storage, wholeOf(id)),
    users: directory.users(id).length,
    apiKeys: directory.apiKeys(id).length,
    checkpoint: checkpoint?.note ?? '',
  };
}

/**
 * Nobody can write, read or sign in any more. `carryOutDeletion` removes the events. `confirmed`: their number, else Problem
 * `conflict`.
 */
export function beginDeletion(preview: DeletionPreview, confirmed: number | undefined): Decide<Deletion> {
  if (confirmed !== preview.events) throw needsConfirmation(preview.events, confirmed);
  return (state, { micros }) => {
    const organization = findOrganization(state, preview.id);
    checkNotHeld(state, organization.id);
    const deletion = { ...preview, startedMicros: micros, finishedMicros: undefined };
    return {
      parts: [
        ['deletion', deletion],
        ['organization', { ...organization, deletedMicros: micros }],
      ],
      changes: [],
      result: deletion,
    };
  };
}

export function endDeletion(id: string): Decide<Deletion | undefined> {
  return (state, { micros }) => {
    const deletion = state.deletionOf(id);
    if (deletion === undefined || deletion.finishedMicros !== undefined) return unchanged(deletion);
    const finished = { ...deletion, finishedMicros: micros };
    return { parts: [['deletion', finished]], changes: [], result: finished };
  };
}

/** Physically, once this resolves. */
async function removeRows(storage: Storage, table: string, id: string): Promise<void> {
  const parameters = { id };
  const [found] = await storage.rows<{ n: string }>(
    `SELECT count() AS n FROM ${everyReplicaOf(storage, table)} WHERE org = {id:UUID}`,
    parameters,
  );
  if (found?.n === '0') return;
  await storage.removeRows(table, { column: 'org', id });
}

const tables = [
  'evidence_tiles',
  'evidence_checkpoints',
  'evidence_stopped',
  'erased_events',
  'erasure_rows',
];

export async function withRowsLeft(storage: Storage, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const queries = tables.map(
    (table) => `SELECT DISTINCT toString(org) AS organization FROM ${table} WHERE org IN {ids:Array(UUID)}`,
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

export const ourselves = { name: 'auditlog', type: 'App/System' } as const;

interface CarryingOut {
  readonly signal?: AbortSignal | undefined;
  /** Notes the end; default: by the directory. */
  readonly end?: (id: string) => Promise<Deletion | undefined>;
}

/** Removes events, tree, checkpoints and texts of the journal. Repeatable: continues after a crash, and finds late events. */
export async function carryOutDeletion(
  { storage, directory }: ControlStore,
  removal: EventRemoval,
  deletion: Deletion,
  { signal, end = (id) => directory.change({ actor: ourselves }, endDeletion(id)) }: CarryingOut = {},
): Promise<Deletion> {
  const { id } = deletion;
  const planned = (await removal.unfinished()).filter(({ organization }) => organization === id);
  await removal.carryOut(planned, { signal });
  const plan = await removal.plan(wholeOf(id), 2n ** 64n - 1n);
  if (plan !== undefined) await removal.carryOut([plan], { signal });
  for (const table of tables) await removeRows(storage, table, id);
  const done = (await end(id)) ?? deletion;
  await new Journal(storage).eraseDeleted(id);
  return done;
}
