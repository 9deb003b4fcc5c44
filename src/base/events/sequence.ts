/**
 * `seq`, the ingest order of an event: unique, ascending, and naming its segment.
 *
 *     63                     26 25      20 19                    0
 *     | ticks of 10 ms since  | writer     | row within the       |
 *     | 2020-01-01, 38 bits   | 6 bits     | segment, 20 bits     |
 *
 * A segment's number is the upper 44 bits (a safe integer), so its rows are one range of `seq`. The ticks last until 2107;
 * the writer separates processes that share an engine.
 */
const epochMs = Date.UTC(2020, 0, 1);
const tickMs = 10;
export const writersMax = 64;
export const rowsPerSegmentMax = 1 << 20;

const ticksMax = 2 ** 38;
export const segmentNumberMax = ticksMax * writersMax - 1;
/**
 * A clock that is wrong by decades gets numbers up to September 2105; the four billion above continue in
 * order.
 */
const ticksByClockMax = ticksMax - 2 ** 32;
export const segmentNumberByClockMax = ticksByClockMax * writersMax + writersMax - 1;

function ticksAt(nowMs: number): number {
  return Math.min(ticksByClockMax, Math.max(0, Math.floor((nowMs - epochMs) / tickMs)));
}

/** The lowest number of `writer` above `after` and not before the clock. Throws if none is left. */
export function nextSegmentNumber(nowMs: number, writer: number, after: number): number {
  const byOrder = Math.floor(after / writersMax) + 1;
  const number = Math.max(ticksAt(nowMs), byOrder) * writersMax + writer;
  if (number > segmentNumberMax) throw new Error(`no segment number remains above ${after}`);
  return number;
}

export const firstSeqOf = (segment: number): bigint => BigInt(segment) * BigInt(rowsPerSegmentMax);

/** First and last `seq` of a segment, as decimal text (they exceed 2^53). */
export function segmentSeqRange(segment: number): { first: string; last: string } {
  return { first: String(firstSeqOf(segment)), last: String(firstSeqOf(segment + 1) - 1n) };
}

/** The `seq` values of `rows` rows from `firstRow` on, as a little-endian UInt64 column. */
export function encodeSeqColumn(segment: number, firstRow: number, rows: number): Uint8Array {
  const values = new Uint32Array(rows * 2);
  const low = (segment % 4096) * rowsPerSegmentMax;
  const high = Math.floor(segment / 4096);
  for (let i = 0; i < rows; i++) {
    values[i * 2] = low + firstRow + i;
    values[i * 2 + 1] = high;
  }
  return new Uint8Array(values.buffer);
}

export const segmentAtTime = (nowMs: number): number => ticksAt(nowMs) * writersMax;

export const segmentTimeMs = (segment: number): number => epochMs + Math.floor(segment / writersMax) * tickMs;

/** When the event's segment began, Unix milliseconds. */
export const seqTimeMs = (seq: bigint): number => segmentTimeMs(segmentOf(seq));

const segmentOf = (seq: bigint): number => Number(seq / BigInt(rowsPerSegmentMax));
