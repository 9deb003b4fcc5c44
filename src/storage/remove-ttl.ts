import { renderPlaceholders } from './render-migration.ts';
import type { Storage } from './storage.ts';

/**
 * Takes the TTL from the table of events: since migration 0014 the service removes what has expired itself, as a TTL knows
 * nothing of a policy that has changed since a row was stored, nor of a hold. A step, as the engine refuses to remove a
 * TTL that is not there, and a step may be begun again.
 */
export async function removeTtl({
  storage,
  cluster,
}: {
  readonly storage: Storage;
  readonly cluster: string | undefined;
}): Promise<void> {
  const table = cluster === undefined ? 'events' : 'events_local';
  const [found] = await storage.rows<{ ttl: number }>(
    `SELECT engine_full LIKE '% TTL expires%' AS ttl FROM system.tables
     WHERE database = {database:String} AND name = {table:String}`,
    { database: storage.database, table },
  );
  if (found === undefined || found.ttl === 0) return;
  const target = { database: storage.database, cluster };
  await storage.command(
    renderPlaceholders('ALTER TABLE {{sharded events}} {{on_cluster}} REMOVE TTL', target),
  );
}
