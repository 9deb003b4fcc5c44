import { randomUUID } from 'node:crypto';
import type { Logger } from '../base/observability/log.ts';
import { hasEnded, type ProcessIdentity } from '../base/processes/process-identity.ts';
import { segmentTimeMs } from '../base/events/sequence.ts';
import { Attempts } from './attempts.ts';
import { Lease } from './lease.ts';
import { limits } from './limits.ts';
import { everyReplicaOf, everywhere } from './cluster.ts';
import type { Storage } from './storage.ts';

/** Each claim is a lease with a name of its own: this and its owner. */
export const commandLeases = 'command ';

/**
 * The claim of a command that writes past the log of a server: readers of the feed wait for its number, the lowest segment
 * that the command may still write, until somebody has ended it (`endLostClaims`). It writes one segment and no other.
 */
export function commandClaim(storage: Storage, log: Logger): Lease {
  const owner = randomUUID();
  return new Lease({
    storage,
    name: `${commandLeases}${owner}`,
    owner,
    lastsMs: limits.commandClaimMsMax,
    log,
  });
}

/** The name of the statements that store the segment of a command. */
export const commandName = (owner: string): string => `command-${owner}`;

/** A claim of a command that the feed waits for. */
export interface OpenClaim extends ProcessIdentity {
  readonly owner: string;
  readonly host: string;
  /** That its command has, or the lowest that it may take. */
  readonly segment: number;
  /** Nobody has closed it: something of it may begin to be stored. */
  readonly isHeld: boolean;
  /** There was no sign of life for too long. */
  readonly hasLapsed: boolean;
  /** How far behind the clock the feed is because of it. */
  readonly heldMs: number;
}

/** Claims that nobody has ended. Rejects with EngineError. */
export async function openClaims(storage: Storage): Promise<OpenClaim[]> {
  type Row = ProcessIdentity &
    Record<'owner' | 'host' | 'segment' | 'now', string> &
    Record<'isHeld' | 'hasLapsed', boolean>;
  const rows = await storage.rows<Row>(
    `SELECT toString(l.owner) AS owner, toString(argMax(l.number, version)) AS segment, argMax(l.held, version) AS isHeld,
       toBool(argMax(addMilliseconds(seen, l.lasts), version) <= now64(3)) AS hasLapsed,
       toString(toUnixTimestamp64Milli(now64(3))) AS now,
       argMax(l.host, version) AS host, argMax(l.place, version) AS place, argMax(l.pid, version) AS pid,
       argMax(l.begun, version) AS begun
     FROM ${everyReplicaOf(storage, 'leases')} AS l
     WHERE startsWith(l.name, {prefix:String}) GROUP BY l.owner HAVING argMax(l.lasts, version) > 0`,
    { prefix: commandLeases },
    { settings: everywhere },
  );
  return rows.map(({ segment, now, ...row }) => ({
    ...row,
    segment: Number(segment),
    heldMs: Math.max(0, Number(now) - segmentTimeMs(Number(segment))),
  }));
}

/**
 * Ends the claims of commands that have ended, or have given no sign of life for too long: first it closes them, so that
 * nothing more of one can begin to be stored, then what may be under way is ended, then nobody waits for it. Rejects with
 * EngineError, and where a node that may be at it does not answer; the claim then stays closed, for the next turn.
 */
export async function endLostClaims(storage: Storage): Promise<void> {
  for (const claim of await openClaims(storage))
    if (claim.isHeld && (claim.hasLapsed || (await hasEnded(claim))))
      await change(storage, claim, 'false AS held');
  // Read anew: until it was closed a command may have taken its segment.
  for (const claim of await openClaims(storage)) {
    const { owner, segment, isHeld } = claim;
    if (isHeld) continue;
    await new Attempts(storage).rowsStored(segment, `${storage.database}-${commandName(owner)}-${segment}`);
    await change(storage, claim, '0 AS lasts');
  }
}

/** For good: its version is above every one that the command comes to. */
async function change(storage: Storage, { owner }: OpenClaim, column: string): Promise<void> {
  await storage.command(
    `INSERT INTO leases SELECT l.* REPLACE (${column}, greatest(l.version + 1, toUInt64(pow(2, 63))) AS version)
     FROM ${everyReplicaOf(storage, 'leases')} AS l WHERE l.name = {name:String} ORDER BY l.version DESC LIMIT 1`,
    { name: `${commandLeases}${owner}` },
  );
}
