import { limits } from './limits.ts';
import { notFenced } from './fenced-writers.ts';
import type { Storage } from './storage.ts';

/** Far enough for a process that runs: it withdraws its row when it stops with nothing left to send. */
const runningMs = 20 * 365 * 86_400_000;

/** Long ago, so that what has ended does not begin again when the clock is set back; and not so long: nothing more may begin. */
const closedMs = -86_400_000;
const endedMs = -runningMs;

/** For the condition of a query: nobody has said that this writer has ended. It may have lapsed, and be writing still. */
export const isOpen = `until > now64(3) - toIntervalMillisecond(${runningMs / 2})`;

/** Above every version by the clock: whatever a writer says later does not count. */
const finalVersion = 2n ** 63n;

/** The engine's clock, not this process's, says until when, and versions rise even when that is set back. */
async function put(
  storage: Storage,
  writer: string,
  low: number,
  forMs: number,
  { condition = '1', versionMin = 0n } = {},
): Promise<void> {
  await storage.command(
    `INSERT INTO watermarks (writer, low, until, version)
     SELECT {writer:UUID}, {low:UInt64}, now64(3) + toIntervalMillisecond({forMs:Int64}),
       greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), {versionMin:UInt64}, last + 1)
     FROM (SELECT max(version) AS last, argMax(until, version) AS ends FROM watermarks WHERE writer = {writer:UUID})
     WHERE ${condition}`,
    { writer, low, forMs, versionMin },
  );
}

/**
 * Says that everything of this writer in segments below `low` is stored, and that whatever it stores later is not
 * below it. A process that dies with events in its log leaves its row, so readers of the feed wait for them.
 */
export async function publishWatermark(storage: Storage, writer: string, low: number): Promise<void> {
  await put(storage, writer, low, runningMs);
}

/** The same for a writer that is new, unless it has published one before; the one that holds. */
export async function publishFirstWatermark(storage: Storage, writer: string, low: number): Promise<number> {
  const [known] = await storage.rows<{ low: string }>(
    'SELECT toString(low) AS low FROM watermarks FINAL WHERE writer = {writer:UUID} LIMIT 1',
    { writer },
  );
  if (known !== undefined) return Number(known.low);
  await put(storage, writer, low, runningMs);
  return low;
}

/** The same for a command that writes once: to be called, and waited for, before it takes its place in the order. */
export async function claimWatermark(storage: Storage, writer: string, low: number): Promise<void> {
  await put(storage, writer, low, limits.watermarkClaimMsMax);
}

/** A sign of life of a command. A claim that has lapsed meanwhile stays so. */
export async function renewWatermark(storage: Storage, writer: string, low: number): Promise<void> {
  await put(storage, writer, low, limits.watermarkClaimMsMax, { condition: 'ends > now64(3)' });
}

/** Nothing of this writer may begin to be stored any more; what is under way is waited for still. */
export async function closeWatermark(storage: Storage, writer: string, low: number): Promise<void> {
  await put(storage, writer, low, closedMs, { versionMin: finalVersion });
}

/** This writer will write no more, and has written nothing above `last`. */
export async function withdrawWatermark(storage: Storage, writer: string, last = 0): Promise<void> {
  await put(storage, writer, last, endedMs);
}

/** What commands beside a service with its own engine have said. */
export interface CommandClaims {
  /** The lowest segment that one may still write; Infinity when none is at it. */
  readonly lowest: number;
  /** The last segment that any has written, of those of the last 30 days; 0 when there is none. */
  readonly last: number;
}

/** `servers`: instances of processes that write by a log, not as a command. */
export async function commandClaims(
  storage: Storage,
  servers: readonly string[] = [],
): Promise<CommandClaims> {
  const [row] = await storage.rows<{ lowest: string; writing: string; last: string }>(
    `SELECT minIf(low, ${isOpen}) AS lowest, countIf(${isOpen}) AS writing, max(low) AS last
     FROM watermarks FINAL WHERE NOT has({servers:Array(UUID)}, writer)`,
    { servers },
  );
  const isQuiet = row === undefined || row.writing === '0';
  return { lowest: isQuiet ? Number.POSITIVE_INFINITY : Number(row.lowest), last: Number(row?.last ?? 0) };
}

/** The lowest segment that a writer other than `own` may still write; Infinity when there is no other. */
export async function othersWatermark(storage: Storage, own: string): Promise<number> {
  const [row] = await storage.rows<{ low: string; writers: string }>(
    `SELECT min(low) AS low, count() AS writers FROM watermarks FINAL
     WHERE ${isOpen} AND writer != {own:UUID} AND ${notFenced}`,
    { own },
  );
  return row === undefined || row.writers === '0' ? Number.POSITIVE_INFINITY : Number(row.low);
}

/** The lowest segment that any writer may still write; 0 while none has said so. */
export async function lowestWatermark(storage: Storage): Promise<number> {
  const [row] = await storage.rows<{ low: string }>(
    `SELECT min(low) AS low FROM watermarks FINAL WHERE ${isOpen}`,
  );
  return Number(row?.low ?? 0);
}

/** The highest that any writer of the last 30 days has published; 0 when there is none. */
export async function highestPublished(storage: Storage): Promise<number> {
  const [row] = await storage.rows<{ low: string }>('SELECT max(low) AS low FROM watermarks FINAL');
  return Number(row?.low ?? 0);
}

/** True when a writer other than `own` has published within the last `withinMs`: servers that run do each second. */
export async function areOthersWriting(storage: Storage, own: string, withinMs: number): Promise<boolean> {
  const [row] = await storage.rows<{ writers: string }>(
    `SELECT count() AS writers FROM watermarks FINAL
     WHERE until > now64(3) AND writer != {own:UUID} AND written > now() - toIntervalMillisecond({withinMs:UInt32})`,
    { own, withinMs },
  );
  return row !== undefined && row.writers !== '0';
}
