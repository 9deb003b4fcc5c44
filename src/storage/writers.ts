import { setTimeout as sleep } from 'node:timers/promises';
import type { Storage } from './storage.ts';

/** A number that no process is known by for this long is given to another. */
const leaseDays = 7;
/** Longer than an insert takes to become visible, so that of two claims made at once each sees the other. */
const settleMs = 400;

/**
 * The writer number (0 to `writersMax` - 1) of the process whose data directory holds `instance`: the one it had, or
 * else a free one. Two processes that claim the same number at once are told apart by their instance; the loser goes
 * on to the next number.
 */
export async function claimWriter(storage: Storage, instance: string, writersMax: number): Promise<number> {
  for (;;) {
    const claims = await readClaims(storage);
    const own = claims.find((claim) => claim.instance === instance);
    const free = [...Array(writersMax).keys()].find((id) => !claims.some((claim) => claim.id === id));
    const id = own?.id ?? free;
    if (id === undefined)
      throw new Error(`all ${writersMax} writer numbers are in use by processes on this engine`);
    await renewWriter(storage, instance, id);
    if (own) return id;
    await sleep(settleMs);
    const rivals = (await readClaims(storage)).filter(
      (claim) => claim.id === id && claim.instance !== instance,
    );
    // A claim that was there clearly before this one has been acted on; among simultaneous ones the lowest wins.
    const lost = rivals.some((rival) => rival.ageMs > settleMs * 2 || rival.instance < instance);
    if (!lost) return id;
    await storage.command('DELETE FROM writers WHERE id = {id:UInt8} AND instance = {instance:UUID}', {
      id,
      instance,
    });
  }
}

/** Keeps a number from being given away; call it at least once a day. */
export async function renewWriter(storage: Storage, instance: string, id: number): Promise<void> {
  await storage.insertRows('writers', [{ id, instance }]);
}

interface Claim {
  readonly id: number;
  readonly instance: string;
  readonly ageMs: number;
}

async function readClaims(storage: Storage): Promise<Claim[]> {
  const rows = await storage.rows<{ id: number; instance: string; age: string }>(
    `SELECT id, instance, toString(dateDiff('millisecond', seen, now64(3))) AS age FROM writers FINAL
     WHERE seen > now64(3) - INTERVAL ${leaseDays} DAY ORDER BY id`,
  );
  return rows.map(({ id, instance, age }) => ({ id, instance, ageMs: Number(age) }));
}
