import { randomInt, randomUUID } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { effectiveRetentionDays, listOrganizations } from '../control/organizations.ts';
import { daysKept, readPolicies } from '../control/retention.ts';
import { OwnEvents } from '../ingest/own-events.ts';
import { logDirectories } from '../config/log-directories.ts';
import { newestSegmentOf } from '../ingest/left-log.ts';
import {
  encodeSeqColumn,
  nextSegmentNumber,
  rowsPerSegmentMax,
  segmentAtTime,
  writersMax,
} from '../base/sequence.ts';
import { createSegmentInsert } from '../storage/insert.ts';
import { announceCommand } from '../storage/peers.ts';
import type { Storage } from '../storage/storage.ts';
import { claimWatermark, withdrawWatermark } from '../storage/watermarks.ts';
import type { RecordEvents } from './context.ts';

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
  await withSegmentNumber(storage, config, async (number, writer) => {
    const firstRow = randomInt(rowsPerSegmentMax - rows);
    const body = [payload, encodeSeqColumn(number, firstRow, rows)];
    const insert = createSegmentInsert(storage, log, `command-${writer}`);
    await insert({ number, rows, body, doubtful: false, isDamaged: false });
  });
};

/**
 * Runs `write` with a segment number of the command's own, beside a server that writes the same table. Readers of the
 * feed must wait for the rows before these have a place in the order of ingest. So the command claims a watermark in
 * the engine, and announces it to the server, before it takes the number. The number is above the newest segment of
 * the log in the data directory, whatever the clock says: nobody was given one above that. The last writer number
 * belongs to commands.
 */
async function withSegmentNumber(
  storage: Storage,
  { dataDir, clickhouse }: Config,
  write: (segment: number, writer: string) => Promise<void>,
): Promise<void> {
  const hasOwnEngine = clickhouse.url === undefined;
  const newest = async (): Promise<number> =>
    hasOwnEngine ? newestSegmentOf(await logDirectories(dataDir)) : 0;
  const writer = randomUUID();
  const low = Math.max(await newest(), segmentAtTime(Date.now()));
  await claimWatermark(storage, writer, low);
  try {
    if (hasOwnEngine) await announceCommand(dataDir);
  } catch (error) {
    // Nothing has been written: readers need not wait for this one.
    await withdrawWatermark(storage, writer);
    throw error;
  }
  const last = Math.max(low, await newest());
  // In the same tick as the server's last, whose writer number is lower: its next one is then above this one.
  const number = nextSegmentNumber(Date.now(), writersMax - 1, last - writersMax);
  await claimWatermark(storage, writer, number);
  await write(number, writer);
  await withdrawWatermark(storage, writer, number);
}
