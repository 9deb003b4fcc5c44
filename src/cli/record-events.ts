import { randomInt } from 'node:crypto';
import { EngineError } from '../base/errors/engine-error.ts';
import type { Logger } from '../base/observability/log.ts';
import type { Config } from '../config/config.ts';
import { effectiveRetentionDays, listOrganizations } from '../control/organizations.ts';
import { daysKept, readPolicies } from '../control/retention.ts';
import { OwnEvents } from '../ingest/own-events.ts';
import { newestSegmentIn } from '../ingest/files.ts';
import {
  encodeSeqColumn,
  firstSeqOf,
  nextSegmentNumber,
  rowsPerSegmentMax,
  segmentAtTime,
  writersMax,
} from '../base/events/sequence.ts';
import { commandClaim, commandName } from '../storage/command-claims.ts';
import { createSegmentInsert, storedRowsBetween } from '../storage/insert.ts';
import type { Lease } from '../storage/lease.ts';
import { announceCommand } from '../storage/other-writers.ts';
import type { Storage } from '../storage/storage.ts';
import type { RecordEvents } from './context.ts';

/** Times that a command takes a place in the order for what it records; it loses one where it stands still for too long. */
const recordTriesMax = 3;

/** Stores the events as one segment; a random row within it keeps two commands of the same moment apart. */
export const recordEvents: RecordEvents = async ({ storage, config, log }, events) => {
  const organizations = new Map((await listOrganizations(storage)).map((one) => [one.id, one]));
  const policies = await readPolicies(storage);
  const texts = events.map((event) => JSON.stringify(event));
  const { payload, rows } = new OwnEvents(config).encode(texts, (id) => {
    const found = organizations.get(id);
    if (found === undefined) return undefined;
    const policy = policies.get(id);
    const retentionDays =
      policy === undefined ? effectiveRetentionDays(found, config.retentionDays) : daysKept(policy);
    return { id, retentionDays };
  });
  const write = async (number: number, claim: Lease): Promise<boolean> => {
    const firstRow = randomInt(rowsPerSegmentMax - rows);
    const body = [payload, encodeSeqColumn(number, firstRow, rows)];
    const insert = createSegmentInsert(storage, log, commandName(claim.owner), claim.condition);
    await insert({ number, rows, body, doubtful: false, isDamaged: false });
    const [row] = await storage.rows<{ held: boolean }>(`SELECT ${claim.condition} AS held`);
    if (row?.held === true) return true;
    const first = firstSeqOf(number) + BigInt(firstRow);
    return (await storedRowsBetween(storage, first, first + BigInt(rows) - 1n)) === rows;
  };
  for (let attempt = 1; attempt <= recordTriesMax; attempt++)
    if (await withSegmentNumber({ storage, log }, config, write)) return;
  throw new EngineError('timeout', 'the command stood still for too long, again and again');
};

/**
 * Runs `write` with a segment number of the command's own, beside a server that writes the same table. Readers of the
 * feed must wait for the rows before these have a place in the order of ingest. So the command puts its claim into the
 * engine, and announces it to the server, before it takes the number. The number is above the newest segment of the log
 * in the data directory, whatever the clock says: nobody was given one above that. The last writer number belongs to
 * commands. False where nothing was stored, as somebody had closed the claim before.
 */
async function withSegmentNumber(
  { storage, log }: { readonly storage: Storage; readonly log: Logger },
  { dataDir, clickhouse }: Config,
  write: (segment: number, claim: Lease) => Promise<boolean>,
): Promise<boolean> {
  const hasOwnEngine = clickhouse.url === undefined;
  const newest = async (): Promise<number> => (hasOwnEngine ? newestSegmentIn(dataDir) : 0);
  const low = Math.max(await newest(), segmentAtTime(Date.now()));
  const claim = commandClaim(storage, log);
  try {
    await claim.claim(low);
    if (hasOwnEngine) await announceCommand(dataDir);
    const last = Math.max(low, await newest());
    // In the same tick as the server's last, whose writer number is lower: its next one is then above this one.
    const number = nextSegmentNumber(Date.now(), writersMax - 1, last - writersMax);
    await claim.claim(number);
    const isStored = await write(number, claim);
    await claim.end();
    return isStored;
  } finally {
    // Else the feed would wait for as long as this process lives.
    claim.abandon();
  }
}
