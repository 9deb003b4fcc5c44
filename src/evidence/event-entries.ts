import { eventsInOrder, onReplicas } from '../storage/replica-reads.ts';
import { eventHashNow } from '../storage/event-hash.ts';
import type { QueryOptions, Settings, Storage } from '../storage/storage.ts';
import { entryBytes } from '../tlog/entry.ts';
import { hashBytes } from '../tlog/hash.ts';
import { limits } from './limits.ts';
import { uuidBytes } from './tile-table.ts';

const sliceBytesMax = 32 * 1024 * 1024;
const sliceMsMax = 120_000;

/**
 * The engine computes entry and leaf hash (src/tlog/entry.ts) from the columns, so ingest pays nothing. A test compares the two
 * implementations.
 */
const bigEndian = (value: string): string => `reinterpretAsFixedString(byteSwap(${value}))`;
const entryWith = (hash: string): string => `toFixedString(concat(${bigEndian('seq')},
  ${bigEndian('toUInt64(toUnixTimestamp64Micro(time))')},
  ${bigEndian('toUInt32(toUInt16(expires))')}, ${bigEndian('toUInt8(own)')}, ${hash}), ${entryBytes})`;
const columnsWith = (hash: string): string =>
  `org, ${entryWith(hash)} AS entry, SHA256(concat(unhex('00'), entry)) AS leaf`;
/** Trees use the hash at recording; verification uses the hash of what is stored now. */
const recordedColumns = columnsWith('event_hash');
const presentColumns = columnsWith(eventHashNow);

const orgBytes = 16;
const columnBytes = [orgBytes, entryBytes, hashBytes] as const;

/** One thread, as it is not urgent. By default the engine would sort texts rather than hashes, with all of a read's memory. */
const settings: Settings = {
  max_threads: 1,
  query_plan_execute_functions_after_sorting: 0,
  optimize_use_projection_filtering: 0,
};

/**
 * For a range with few of an organization's events. The primary key would read all its events in a part, which a throttle counts,
 * too.
 */
const bySequence: Settings = {
  optimize_use_projection_filtering: 1,
  min_table_rows_to_use_projection_index: 0,
  // Granules of the projection count whole.
  max_projection_rows_to_use_projection_index: 2 * limits.sliceEventsMax,
};

/** Straight from the projection, a granule at a time. */
const inOrder: Settings = {
  max_threads: 1,
  max_block_size: 1024,
  read_in_order_use_buffering: 0,
  optimize_use_projection_filtering: 0,
};

export interface Stretch {
  readonly from: bigint;
  readonly before: bigint;
}

/** Concatenated, in order. */
export interface Run {
  readonly organization: string;
  readonly entries: Buffer;
  readonly leaves: Buffer;
}

type HowFast = Pick<QueryOptions, 'settings' | 'timeoutMs'>;

/** More events than trees ever have in a range. */
export class TooManyEventsError extends Error {}

/** More where several replicas are read together. */
export async function countEvents(storage: Storage, { from, before }: Stretch): Promise<Map<string, number>> {
  const each =
    'SELECT org, count() AS n FROM events WHERE seq >= {from:UInt64} AND seq < {before:UInt64} GROUP BY org';
  const rows = await storage.readRows<{ org: string; events: string }>(
    `SELECT org, sum(n) AS events FROM (${await onReplicas(storage, each, 'all')}) GROUP BY org ORDER BY org`,
    { from, before },
    { settings: { ...settings }, timeoutMs: sliceMsMax },
  );
  return new Map(rows.map(({ org, events }) => [org, Number(events)]));
}

/** The end of the organization's next slice, at most `before`. */
export async function endOfSlice(
  storage: Storage,
  organization: string,
  { from, before }: Stretch,
): Promise<bigint> {
  const where = 'org = {org:UUID} AND seq >= {from:UInt64} AND seq < {before:UInt64}';
  const first = await eventsInOrder(storage, { columns: 'seq', where, limit: '{rows:UInt64}' });
  const [row] = await storage.readRows<{ last: string; events: string }>(
    `SELECT max(seq) AS last, count() AS events FROM (${first})`,
    { org: organization, from, before, rows: limits.sliceEventsMax },
    { settings: inOrder, timeoutMs: sliceMsMax },
  );
  const isFull = Number(row?.events ?? 0) === limits.sliceEventsMax;
  return isFull ? BigInt(row?.last ?? 0) + 1n : before;
}

/** Entries of events as stored now, with their leaves. Rejects with EngineError. */
export async function readEntries(
  storage: Storage,
  organization: string,
  stretch: Stretch,
  { settings: more, timeoutMs = sliceMsMax }: HowFast = {},
): Promise<Run> {
  const how = { settings: { ...bySequence, ...more }, timeoutMs };
  const runs = await readRuns(storage, [organization], stretch, { ...how, columns: presentColumns });
  const [first] = runs;
  if (runs.length === 1 && first !== undefined) return first;
  const entries = Buffer.concat(runs.map((run) => run.entries));
  return { organization, entries, leaves: Buffer.concat(runs.map((run) => run.leaves)) };
}

/**
 * Entries as recorded, by organization and order; an organization may have several runs. Rejects with
 * EngineError.
 */
export function readRecordedRuns(
  storage: Storage,
  organizations: readonly string[],
  stretch: Stretch,
): Promise<Run[]> {
  return readRuns(storage, organizations, stretch, { columns: recordedColumns });
}

/** Columnar, so that there is no work per event. */
async function readRuns(
  storage: Storage,
  organizations: readonly string[],
  stretch: Stretch,
  { columns, settings: more, timeoutMs = sliceMsMax }: HowFast & { readonly columns: string },
): Promise<Run[]> {
  const where = 'org IN {organizations:Array(UUID)} AND seq >= {from:UInt64} AND seq < {before:UInt64}';
  const [org = ''] = organizations;
  const scope = organizations.length === 1 ? 'organization' : 'all';
  const rows = await eventsInOrder(storage, { columns, where, scope });
  const result = await storage.bytes(
    `${rows} FORMAT Native`,
    { org, organizations, ...stretch },
    { settings: { ...settings, ...more }, timeoutMs, headroom: 0, tailroom: 0, bytesMax: sliceBytesMax },
  );
  if (!('release' in result)) {
    result.destroy();
    throw new TooManyEventsError(`More than ${sliceBytesMax} bytes of entries in a slice`);
  }
  // A copy, as the memory is reused.
  const bytes = Buffer.from(Buffer.from(result.buffer.buffer, result.start, result.end - result.start));
  result.release();
  const names = new Map(organizations.map((one) => [uuidBytes(one).toString('latin1'), one]));
  return blocksIn(bytes).flatMap((block) => runsIn(block, names));
}

type Block = readonly [orgs: Buffer, entries: Buffer, leaves: Buffer];

/** Native format: numbers of columns and rows, then name, type and values of each column. */
function blocksIn(bytes: Buffer): Block[] {
  const blocks: Block[] = [];
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const group = bytes.readUInt8(at++);
      value += (group & 127) * factor;
      if (group < 128) return value;
    }
  };
  const column = (length: number): Buffer => {
    for (const _ of ['name', 'type']) {
      const characters = number();
      at += characters;
    }
    at += length;
    if (at > bytes.length) throw new Error('A block of entries is truncated');
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const [count, rows] = [number(), number()];
    if (count !== columnBytes.length) throw new Error(`A block of entries has ${count} columns`);
    const [orgs, entries, leaves] = columnBytes.map((each) => column(rows * each));
    if (rows > 0 && orgs && entries && leaves) blocks.push([orgs, entries, leaves]);
  }
  return blocks;
}

function runsIn([orgs, entries, leaves]: Block, names: ReadonlyMap<string, string>): Run[] {
  const runs: Run[] = [];
  const rows = orgs.length / orgBytes;
  const nameAt = (row: number): string => orgs.toString('latin1', row * orgBytes, (row + 1) * orgBytes);
  for (let row = 0; row < rows; ) {
    const name = nameAt(row);
    const organization = names.get(name);
    if (organization === undefined) throw new Error('An event of an unexpected organization');
    // Rows of an organization are adjacent, so a binary search finds the end.
    let [own, end] = [row, rows];
    while (end - own > 1) {
      const middle = Math.floor((own + end) / 2);
      if (nameAt(middle) === name) own = middle;
      else end = middle;
    }
    runs.push({
      organization,
      entries: entries.subarray(row * entryBytes, end * entryBytes),
      leaves: leaves.subarray(row * hashBytes, end * hashBytes),
    });
    row = end;
  }
  return runs;
}
