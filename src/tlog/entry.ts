import { hashBytes, sha256Text } from './hash.ts';

/**
 * A leaf of the tree, 53 bytes, big-endian:
 *
 *     0        8        16        20      21                  53
 *     | seq    | time   | expires | own   | hash of the event |
 *     | UInt64 | Int64  | UInt32  | UInt8 |                   |
 *
 * `time`: Unix microseconds. `expires`: the day since 1970 on which the event expires (65535: never). `own`: 1 for the service's
 * own events, which no producer can send. The hash (`eventHash`) covers the rest of the event, so the entry can be shown after
 * retention has removed the event.
 */
export const entryBytes = 53;
const ownAt = 20;
const hashAt = 21;
/** The highest day means never. */
const neverDay = 65_535;
const dayMicros = 86_400_000_000;

export interface Entry {
  readonly seq: bigint;
  readonly time: number;
  /** Days since 1970. */
  readonly expires: number;
  /** Only the service's own events are statements. */
  readonly own: boolean;
  readonly eventHash: Uint8Array;
}

export function encodeEntry({ seq, time, expires, own, eventHash }: Entry): Buffer {
  const bytes = Buffer.alloc(entryBytes);
  bytes.writeBigUInt64BE(seq, 0);
  bytes.writeBigInt64BE(BigInt(time), 8);
  bytes.writeUInt32BE(expires, 16);
  bytes.writeUInt8(own ? 1 : 0, ownAt);
  bytes.set(eventHash, hashAt);
  return bytes;
}

export function entryAt(bytes: Buffer, place: number): Entry {
  const at = place * entryBytes;
  return {
    seq: bytes.readBigUInt64BE(at),
    time: Number(bytes.readBigInt64BE(at + 8)),
    expires: bytes.readUInt32BE(at + 16),
    own: isOwnEntry(bytes, place),
    eventHash: bytes.subarray(at + hashAt, at + entryBytes),
  };
}

/**
 * Ranges of entries with order numbers rising above `after`: usually all, `[0, rows)`. Compares halves of
 * numbers, as a BigInt would take as long as a hash.
 */
export function risingRows(entries: Buffer, after: bigint): (readonly [from: number, to: number])[] {
  const rows: [number, number][] = [];
  let high = after < 0n ? -1 : Number(after >> 32n);
  let low = after < 0n ? -1 : Number(after & 0xff_ff_ff_ffn);
  let from = 0;
  const count = entries.length / entryBytes;
  for (let row = 0; row < count; row++) {
    const [rowHigh, rowLow] = [
      entries.readUInt32BE(row * entryBytes),
      entries.readUInt32BE(row * entryBytes + 4),
    ];
    if (rowHigh > high || (rowHigh === high && rowLow > low)) [high, low] = [rowHigh, rowLow];
    else {
      if (row > from) rows.push([from, row]);
      from = row + 1;
    }
  }
  if (count > from) rows.push([from, count]);
  return rows;
}

export function isOwnEntry(entries: Buffer, place: number): boolean {
  return entries[place * entryBytes + ownAt] === 1;
}

export interface EventContent {
  readonly source: Uint8Array;
  /** SHA-256 of the shown and filtered columns (storage/event-hash.ts). */
  readonly shown: Uint8Array;
}

const parts = Buffer.alloc(2 * hashBytes);

/**
 * The hash of two hashes, of the source event and of the shown columns, so that each can be verified alone.
 * One character a byte, as in `sha256Text`.
 */
function eventHashText({ source, shown }: EventContent): string {
  if (shown.length !== hashBytes) throw new RangeError(`a hash has ${hashBytes} bytes, not ${shown.length}`);
  parts.write(sha256Text(source), 'latin1');
  parts.set(shown, hashBytes);
  return sha256Text(parts);
}

export const eventHash = (content: EventContent): Buffer => Buffer.from(eventHashText(content), 'latin1');

export function isEntryOf(entries: Buffer, place: number, content: EventContent): boolean {
  const at = place * entryBytes;
  return eventHashText(content) === entries.toString('latin1', at + hashAt, at + entryBytes);
}

/** By then (Unix microseconds). */
export function hasExpired({ expires }: Pick<Entry, 'expires'>, nowMicros: number): boolean {
  return expires !== neverDay && expires * dayMicros <= nowMicros;
}

/** `2027-01-31`; undefined for never. */
export function expiryOf({ expires }: Pick<Entry, 'expires'>): string | undefined {
  return expires >= neverDay ? undefined : new Date(expires * 86_400_000).toISOString().slice(0, 10);
}

/** A bundle of entries (C2SP tlog-tiles): each with a 16-bit length. */
export function toBundle(entries: Buffer): Buffer {
  const count = entries.length / entryBytes;
  const bundle = Buffer.alloc(count * (entryBytes + 2));
  for (let place = 0; place < count; place++) {
    const at = bundle.writeUInt16BE(entryBytes, place * (entryBytes + 2));
    entries.copy(bundle, at, place * entryBytes, (place + 1) * entryBytes);
  }
  return bundle;
}

export function fromBundle(bundle: Buffer): Buffer {
  const count = Math.floor(bundle.length / (entryBytes + 2));
  const entries = Buffer.alloc(count * entryBytes);
  if (count * (entryBytes + 2) !== bundle.length) throw new RangeError('the bundle is cut short');
  for (let place = 0; place < count; place++) {
    const at = place * (entryBytes + 2);
    if (bundle.readUInt16BE(at) !== entryBytes)
      throw new RangeError('the bundle has an entry of another length');
    bundle.copy(entries, place * entryBytes, at + 2, at + 2 + entryBytes);
  }
  return entries;
}
