import type { Settings, Storage } from '../storage/storage.ts';
import { entryBytes } from '../tlog/entry.ts';
import { hashBytes } from '../tlog/hash.ts';
import { limits } from './limits.ts';
import { uuidBytes } from './tile-table.ts';

/**
 * The entry of an event and the hash of its leaf (src/tlog/entry.ts), as the engine makes them of the columns: ingest
 * pays nothing, and no event comes to this process. A test holds the two to each other.
 */
const bigEndian = (value: string): string => `reinterpretAsFixedString(byteSwap(${value}))`;
const entryOfRow = `toFixedString(concat(${bigEndian('seq')},
  ${bigEndian('toUInt64(toUnixTimestamp64Micro(time))')},
  ${bigEndian('toUInt32(toUInt16(expires))')}, SHA256(source)), ${entryBytes})`;
const columns = `org, ${entryOfRow} AS entry, SHA256(concat(unhex('00'), entry)) AS leaf`;

const orgBytes = 16;
const rowBytes = orgBytes + entryBytes + hashBytes;

/**
 * One thread, as nobody waits. The engine would sort source events rather than their hashes, which takes all the
 * memory that a read may have.
 */
const settings: Settings = {
  max_threads: 1,
  query_plan_execute_functions_after_sorting: 0,
  optimize_use_projection_filtering: 0,
};

/** Straight from the projection of the order of ingest, a granule at a time. */
const inOrder: Settings = {
  max_threads: 1,
  max_block_size: 1024,
  read_in_order_use_buffering: 0,
  optimize_use_projection_filtering: 0,
};

/** Events of a stretch of the order of ingest, `from` and those up to, and without, `before`. */
export interface Stretch {
  readonly from: bigint;
  readonly before: bigint;
}

/** An event of an organization in the order of ingest; both are parts of memory that is used again. */
export interface EventEntry {
  readonly organization: string;
  readonly entry: Buffer;
  readonly leaf: Buffer;
}

/** How many events each organization has in a stretch. Rejects with EngineError. */
export async function countEvents(storage: Storage, { from, before }: Stretch): Promise<Map<string, number>> {
  const rows = await storage.readRows<{ org: string; events: string }>(
    `SELECT org, count() AS events FROM events WHERE seq >= {from:UInt64} AND seq < {before:UInt64}
     GROUP BY org ORDER BY org`,
    { from, before },
    { settings: { ...settings }, timeoutMs: limits.sliceMsMax },
  );
  return new Map(rows.map(({ org, events }) => [org, Number(events)]));
}

/** Where the next slice of an organization's events ends: so many of them, or all up to `before`. */
export async function endOfSlice(
  storage: Storage,
  organization: string,
  { from, before }: Stretch,
): Promise<bigint> {
  const [row] = await storage.readRows<{ last: string; events: string }>(
    `SELECT max(seq) AS last, count() AS events FROM (SELECT seq FROM events
     WHERE org = {organization:UUID} AND seq >= {from:UInt64} AND seq < {before:UInt64}
     ORDER BY org, seq LIMIT {rows:UInt64})`,
    { organization, from, before, rows: limits.sliceEventsMax },
    { settings: inOrder, timeoutMs: limits.sliceMsMax },
  );
  const isFull = Number(row?.events ?? 0) === limits.sliceEventsMax;
  return isFull ? BigInt(row?.last ?? 0) + 1n : before;
}

/** The entries of an organization's events in a stretch, one behind the other. Rejects with EngineError. */
export async function entriesOf(storage: Storage, organization: string, stretch: Stretch): Promise<Buffer> {
  const held = await storage.bytes(
    `SELECT entry FROM (SELECT seq, ${entryOfRow} AS entry FROM events
     WHERE org = {organization:UUID} AND seq >= {from:UInt64} AND seq < {before:UInt64}) ORDER BY seq FORMAT RowBinary`,
    { organization, ...stretch },
    { settings, timeoutMs: limits.sliceMsMax, headroom: 0, tailroom: 0, bytesMax: limits.sliceBytesMax },
  );
  if (!('release' in held)) {
    held.destroy();
    throw new Error(`more than ${limits.sliceBytesMax / entryBytes} events where the tree has a tenth of it`);
  }
  const bytes = Buffer.from(Buffer.from(held.buffer.buffer, held.start, held.end - held.start));
  held.release();
  return bytes;
}

/** The entries of a stretch, of each organization in the order of ingest. Rejects with EngineError. */
export async function eachEntry(
  storage: Storage,
  organizations: readonly string[],
  stretch: Stretch,
  each: (event: EventEntry) => void,
): Promise<void> {
  const held = await storage.bytes(
    `SELECT ${columns} FROM events WHERE org IN {organizations:Array(UUID)} AND seq >= {from:UInt64}
     AND seq < {before:UInt64} ORDER BY org, seq FORMAT RowBinary`,
    { organizations, ...stretch },
    { settings, timeoutMs: limits.sliceMsMax, headroom: 0, tailroom: 0, bytesMax: limits.sliceBytesMax },
  );
  if (!('release' in held)) {
    held.destroy();
    throw new Error(`more than ${limits.sliceBytesMax} bytes of entries in a slice`);
  }
  const names = new Map(organizations.map((one) => [uuidBytes(one).toString('latin1'), one]));
  const rows = Buffer.from(held.buffer.buffer, held.start, held.end - held.start);
  try {
    for (let at = 0; at < rows.length; at += rowBytes) {
      const organization = names.get(rows.toString('latin1', at, at + orgBytes));
      if (organization === undefined) throw new Error('an event of an organization that was not asked for');
      const leafAt = at + orgBytes + entryBytes;
      const entry = rows.subarray(at + orgBytes, leafAt);
      each({ organization, entry, leaf: rows.subarray(leafAt, leafAt + hashBytes) });
    }
  } finally {
    held.release();
  }
}
