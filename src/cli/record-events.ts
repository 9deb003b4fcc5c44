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
import type { Config } from '../config/config.ts';
import { effectiveRetentionDays, listOrganizations } from '../control/organizations.ts';
import { daysKept, readPolicies } from '../control/retention.ts';
import { handEvents } from '../ingest/handed-events.ts';
import { takeNumberIn } from '../ingest/order-numbers.ts';
import { type OwnBlock, OwnEvents } from '../ingest/own-events.ts';
import { createSegmentInsert, newestStored, storedRowsBetween } from '../storage/insert.ts';
import { limits as storageLimits } from '../storage/limits.ts';
import type { Storage } from '../storage/storage.ts';
import { closeWriter, hasLease, putWriter, reachedBy, readWriters } from '../storage/watermarks.ts';
import type { RecordEvents } from './context.ts';

/** Times that a command takes a place in the order for what it records; it loses one where it stands still for too long. */
const recordTriesMax = 3;

/** Events of commands have the last writer number, which no server has. */
const writer = writersMax - 1;

/**
 * Stores what a command did: a server with its own engine is left the events in a file, and where none runs, or several
 * share a ClickHouse server, the command stores them as a segment of its own.
 */
export const recordEvents: RecordEvents = async (on, events) => {
  const { storage, config, isShared } = on;
  const block = await encode(storage, config, events);
  if (config.clickhouse.url !== undefined) return storeBeside(on, block);
  if (isShared) return handEvents(config.dataDir, block);
  const number = await takeNumberIn(config.dataDir, writer, () => newestStored(storage));
  await store(on, block, { number, firstRow: randomInt(rowsPerSegmentMax - block.rows) });
};

async function encode(storage: Storage, config: Config, events: readonly object[]): Promise<OwnBlock> {
  const organizations = new Map((await listOrganizations(storage)).map((one) => [one.id, one]));
  const policies = await readPolicies(storage);
  const texts = events.map((event) => JSON.stringify(event));
  return new OwnEvents(config).encode(texts, (id) => {
    const found = organizations.get(id);
    if (found === undefined) return undefined;
    const policy = policies.get(id);
    const retentionDays =
      policy === undefined ? effectiveRetentionDays(found, config.retentionDays) : daysKept(policy);
    return { id, retentionDays };
  });
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
 * Among servers on one engine the command is a writer like them, of one segment (see storage/shared-order.ts). Where it
 * stands still in between the engine stores nothing, and it begins anew.
 */
async function storeBeside(on: Parameters<RecordEvents>[0], block: OwnBlock): Promise<void> {
  for (let attempt = 1; attempt <= recordTriesMax; attempt++) if (await storeOnceBeside(on, block)) return;
  throw new EngineError('timeout', 'the command stood still for too long, again and again');
}

/** False where nothing was stored, as it came too late. */
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
