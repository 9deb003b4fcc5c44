import { Claim, type ClaimTable, everyReplicaOf } from './claim.ts';
import type { Storage } from './storage.ts';

/** A number that no process is known by for this long is given to another. */
const leaseDays = 7;
const writers: ClaimTable = {
  table: 'writers',
  column: 'id',
  type: 'UInt8',
  lastsMs: leaseDays * 24 * 3_600_000,
};

/**
 * The writer number (0 to `writersMax` - 1) of the process whose data directory holds `instance`: the one it had, or
 * else a free one. Of two processes that claim the same number at once the loser goes on to the next.
 */
export async function claimWriter(storage: Storage, instance: string, writersMax: number): Promise<number> {
  for (;;) {
    const taken = await storage.rows<{ id: number; instance: string }>(
      `SELECT DISTINCT id, instance FROM ${everyReplicaOf(storage, 'writers')}
       WHERE seen > now64(3) - INTERVAL ${leaseDays} DAY ORDER BY id`,
      {},
      { settings: { skip_unavailable_shards: 1 } },
    );
    const own = taken.find((claim) => claim.instance === instance);
    const free = [...Array(writersMax).keys()].find((id) => !taken.some((claim) => claim.id === id));
    const id = own?.id ?? free;
    if (id === undefined)
      throw new Error(`all ${writersMax} writer numbers are in use by processes on this engine`);
    if (own) await renewWriter(storage, instance, id);
    if (own || (await new Claim(storage, writers, id, instance).take())) return id;
  }
}

/** Keeps a number from being given away; call it at least once a day. */
export function renewWriter(storage: Storage, instance: string, id: number): Promise<void> {
  return new Claim(storage, writers, id, instance).renew();
}
