import { randomInt, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { EngineError } from '../base/errors/engine-error.ts';
import {
  encodeSeqColumn,
  firstSeqOf,
  nextSegmentNumber,
  rowsPerSegmentMax,
  writersMax,
} from '../base/events/sequence.ts';
import { IngestDirectory } from '../control/ingest-directory.ts';
import { takeNumberIn } from '../ingest/order-numbers.ts';
import { type OwnBlock, OwnEvents } from '../ingest/own-events.ts';
import { createSegmentInsert, newestStored, storedRowsBetween } from '../storage/insert.ts';
import { limits as storageLimits } from '../storage/limits.ts';
import { closeWriter, hasLease, putWriter, reachedBy, readWriters } from '../storage/watermarks.ts';
import type { RecordEvents } from './context.ts';

/** Attempts to store the segment: a command that pauses for too long loses its position in the order. */
const recordTriesMax = 3;

/** Events of commands have the last writer number, which no server has. */
const writer = writersMax - 1;

/**
 * Stores what a command did as a segment of its own: no server runs on the embedded engine, or several share a ClickHouse
 * server.
 */
export const recordEvents: RecordEvents = async (on, events) => {
  const { storage, config } = on;
  const block = encode(on, events);
  if (block === undefined) return;
  if (config.clickhouse.url !== undefined) return storeBeside(on, block);
  const number = await takeNumberIn(config.dataDir, writer, () => newestStored(storage));
  await store(on, block, { number, firstRow: randomInt(rowsPerSegmentMax - block.rows) });
};

function encode(
  { config, directory }: Parameters<RecordEvents>[0],
  events: readonly string[],
): OwnBlock | undefined {
  const organizations = new IngestDirectory(directory, config.retentionDays);
  const organizationOf = (id: string) => organizations.organization(id) ?? { id, retentionDays: undefined };
  const kept = events.filter((event) => {
    const { message } = JSON.parse(event) as { readonly message: { readonly org: string } };
    return directory.deletionOf(message.org) === undefined;
  });
  return kept.length === 0 ? undefined : new OwnEvents(config).encode(kept, organizationOf);
}

interface Attempt {
  readonly number: number;
  /** A random one keeps two commands of the same moment apart. */
  readonly firstRow: number;
  readonly condition?: string;
}

async function store(
  { storage, log }: Parameters<RecordEvents>[0],
  { payload, rows }: OwnBlock,
  { number, firstRow, condition }: Attempt,
): Promise<void> {
  const insert = createSegmentInsert(storage, log, `command-${randomUUID()}`, condition);
  const take = () => Promise.resolve(number);
  const body = () => [payload, encodeSeqColumn(number, firstRow, rows)];
  await insert({ segment: number, rows, earlier: [], isDamaged: false, take, body });
}

/**
 * Among servers on one engine the command is a writer of one segment (storage/shared-order.ts). If it stands still in between,
 * the engine stores nothing, and it begins anew.
 */
async function storeBeside(on: Parameters<RecordEvents>[0], block: OwnBlock): Promise<void> {
  for (let attempt = 1; attempt <= recordTriesMax; attempt++) if (await storeOnceBeside(on, block)) return;
  throw new EngineError('timeout', 'the command stood still for too long, repeatedly');
}

/** False if it came too late and nothing was stored. */
async function storeOnceBeside(on: Parameters<RecordEvents>[0], block: OwnBlock): Promise<boolean> {
  const { storage } = on;
  const id = randomUUID();
  const row = {
    writer: id,
    low: reachedBy(await readWriters(storage)),
    isOpen: true,
    version: 2n,
    goneAfterMs: storageLimits.writerLeaseMs + storageLimits.attemptMsMax,
    host: hostname(),
    pid: process.pid,
  };
  await putWriter(storage, row);
  const number = nextSegmentNumber(Date.now(), writer, reachedBy(await readWriters(storage)));
  const firstRow = randomInt(rowsPerSegmentMax - block.rows);
  await store(on, block, { number, firstRow, condition: hasLease(storage, id) });
  const first = firstSeqOf(number) + BigInt(firstRow);
  const isStored = (await storedRowsBetween(storage, first, first + BigInt(block.rows) - 1n)) === block.rows;
  await closeWriter(storage, { ...row, low: number });
  return isStored;
}
