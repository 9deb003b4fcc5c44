import { setTimeout as sleep } from 'node:timers/promises';
import { rowsPerSegmentMax, segmentAtTime, segmentTimeMs, writersMax } from '../base/events/sequence.ts';
import type { Config } from '../config/config.ts';
import { HeldLog } from '../ingest/log-copy.ts';
import { limits as storageLimits } from '../storage/limits.ts';
import type { Parameters, Storage } from '../storage/storage.ts';
import { readWriters } from '../storage/watermarks.ts';
import { orderThrough } from '../ingest/order-numbers.ts';
import { limits } from './limits.ts';
import { endOfOrder, type WhereLogIs } from './order-end.ts';
import { reading, type Scope } from './slices.ts';

/**
 * Which events of the table a backup has: those of segments up to a number, one for each writer, without some segments.
 * None of these can get a row any more, so whatever is asked about them at different moments has the same answer.
 */
export interface Snapshot {
  /** The last segment of each writer that may still write. */
  readonly writers: readonly (readonly [writer: number, segment: number])[];
  /** That of all others. */
  readonly others: number;
  /** Segments that are copied as they are in the log, and such as were being written. */
  readonly without: readonly number[];
}

/** A snapshot, the log whose segments it leaves out (undefined: none is here), and the moment (Unix milliseconds) before which nothing is left out. */
export interface Taken {
  readonly snapshot: Snapshot;
  readonly momentMs: number;
  readonly log: HeldLog | undefined;
  readonly notes: readonly string[];
}

const segmentOfRow = `bitShiftRight(seq, 20)`;

/** Rows that are in a snapshot, or those that are not; parameters have names that begin with `prefix`. */
function rowsOf({ writers, others, without }: Snapshot, prefix: string, which: 'in' | 'not in'): Scope {
  const branches = writers.map(
    (_, n) => `bitAnd(${segmentOfRow}, ${writersMax - 1}) = {${prefix}w${n}:UInt64}, {${prefix}s${n}:UInt64}`,
  );
  const last =
    branches.length === 0
      ? `{${prefix}o:UInt64}`
      : `multiIf(${[...branches, `{${prefix}o:UInt64}`].join(', ')})`;
  const parameters: Record<string, unknown> = { [`${prefix}o`]: others, [`${prefix}x`]: without };
  for (const [n, [writer, segment]] of writers.entries()) {
    parameters[`${prefix}w${n}`] = writer;
    parameters[`${prefix}s${n}`] = segment;
  }
  const isWithout = `has({${prefix}x:Array(UInt64)}, ${segmentOfRow})`;
  // No `NOT (… AND …)`: see storage/README.md, Conditions.
  const where =
    which === 'in'
      ? `(${segmentOfRow} <= ${last} AND NOT ${isWithout})`
      : `(${segmentOfRow} > ${last} OR ${isWithout})`;
  return { where, parameters };
}

const lowestOf = ({ writers, others, without }: Snapshot): number =>
  Math.min(others, ...writers.map(([, segment]) => segment), ...without);

/** The last segment that may be in a snapshot. */
export const highestOf = ({ writers, others, without }: Snapshot): number =>
  Math.max(others, ...writers.map(([, segment]) => segment), ...without);

/** Rows of a snapshot that an earlier one has not; undefined: all of them. The engine finds them by the bounds of `seq`. */
export function newIn(snapshot: Snapshot, base: Snapshot | undefined): Scope {
  const { where, parameters } = rowsOf(snapshot, 'snapshot_', 'in');
  const upper: Parameters = { ...parameters, snapshot_end: firstOf(highestOf(snapshot) + 1) };
  const bounded = `seq < {snapshot_end:UInt64} AND ${where}`;
  if (base === undefined) return { where: bounded, parameters: upper };
  const before = rowsOf(base, 'base_', 'not in');
  return {
    where: `seq >= {base_low:UInt64} AND ${bounded} AND ${before.where}`,
    parameters: { ...upper, ...before.parameters, base_low: firstOf(lowestOf(base)) },
  };
}

const firstOf = (segment: number): bigint => BigInt(segment) * BigInt(rowsPerSegmentMax);

/** Takes a snapshot that has all that `base` has. Whoever calls it closes the log. Rejects with EngineError. */
export async function takeSnapshot(
  storage: Storage,
  config: Config,
  base: Snapshot | undefined,
): Promise<Taken> {
  const { url } = config.clickhouse;
  const taken = await (url === undefined
    ? snapshotOfOwn(storage, config.dataDir)
    : snapshotOfShared(storage));
  return base === undefined ? taken : { ...taken, snapshot: withAllOf(base, taken.snapshot) };
}

/**
 * A snapshot, and what an earlier one has: that stays below the watermark, but where its newest rows were removed since, the table does not
 * tell so any more.
 */
function withAllOf(base: Snapshot, snapshot: Snapshot): Snapshot {
  const others = Math.max(base.others, snapshot.others);
  const [before, now] = [new Map(base.writers), new Map(snapshot.writers)];
  const writers = [...new Set([...before.keys(), ...now.keys()])].map((writer) => {
    const last = Math.max(before.get(writer) ?? base.others, now.get(writer) ?? snapshot.others);
    return [writer, last] as const;
  });
  return { writers, others, without: snapshot.without };
}

/**
 * With an own engine the log is here. A segment that is not in it when it is listed, and is not above its newest one, has
 * reached the table; any other is copied from the log.
 */
async function snapshotOfOwn(storage: Storage, dataDir: string): Promise<Taken> {
  const command = await orderThrough(dataDir);
  const momentMs = Date.now();
  const log = await HeldLog.open(dataDir);
  try {
    const newest = await newestInTable(storage, { dataDir, clickhouse: { url: undefined } });
    const last = log.segments.at(-1);
    const writers = [[writersMax - 1, command] as const, ...(last === undefined ? [] : [[0, last] as const])];
    const without = [...log.segments, ...log.unfinished];
    const snapshot = { writers, others: Math.max(newest, last ?? 0), without };
    return { snapshot, momentMs, log, notes: [] };
  } catch (error) {
    await log.close();
    throw error;
  }
}

/** Rejects where that is a place that no writer has come to: all that is recorded until then would count as taken. */
async function newestInTable(storage: Storage, place: WhereLogIs): Promise<number> {
  const [row] = await storage.rows<{ newest: string }>(
    `SELECT toString(bitShiftRight(max(seq), 20)) AS newest FROM events`,
    {},
    reading,
  );
  const newest = Number(row?.newest ?? 0);
  if (firstOf(newest) >= (await endOfOrder(storage, place)))
    throw new Error(
      'the table has events with order numbers that no writer has come to yet, which were put in: "doctor" names their organizations',
    );
  return newest;
}

/**
 * Logs of processes that share a ClickHouse server are on their machines. So it is waited until all have told that what
 * was acknowledged before this moment is in the table.
 */
async function snapshotOfShared(storage: Storage): Promise<Taken> {
  const deadline = performance.now() + limits.backupWatermarkMsMax;
  const begun = await engineMs(storage);
  for (;;) {
    const now = await engineMs(storage);
    const open = (await readWriters(storage)).filter(({ isOpen }) => isOpen);
    const elsewhere = Math.min(...open.map(({ low }) => low));
    // Who begins now begins there.
    const watermark = Math.min(elsewhere, segmentAtTime(now - storageLimits.clockSkewMsMax));
    const snapshot = { writers: [], others: watermark - 1, without: [] };
    if (watermark >= segmentAtTime(begun)) return { snapshot, momentMs: begun, log: undefined, notes: [] };
    if (performance.now() > deadline) {
      const momentMs = segmentTimeMs(watermark);
      const notes = [
        `a server has events in its log that the engine does not have, and tells nothing more: what was recorded since ${new Date(momentMs).toISOString()} is not in it. Start that server, or see "writers list"`,
      ];
      return { snapshot, momentMs, log: undefined, notes };
    }
    await sleep(storageLimits.watermarkPublishMs);
  }
}

async function engineMs(storage: Storage): Promise<number> {
  const [row] = await storage.rows<{ now: string }>(
    'SELECT toString(toUnixTimestamp64Milli(now64(3))) AS now',
  );
  return Number(row?.now ?? 0);
}
