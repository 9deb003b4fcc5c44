import { commandLeases } from './command-claims.ts';
import { notFenced } from './fenced-writers.ts';
import type { Storage } from './storage.ts';

/** For the FROM of a query: servers, and commands that write past their logs. */
export const writers = `(
  SELECT writer, low, is_open, false AS is_command FROM watermarks FINAL
  UNION ALL
  SELECT owner, number, toBool(lasts > 0), true FROM leases FINAL WHERE startsWith(name, '${commandLeases}'))`;

/** Versions rise even when the engine's clock is set back. */
async function put(storage: Storage, writer: string, low: number, isOpen: boolean): Promise<void> {
  await storage.command(
    `INSERT INTO watermarks (writer, low, is_open, version)
     SELECT {writer:UUID}, {low:UInt64}, {isOpen:Bool}, greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), last + 1)
     FROM (SELECT max(version) AS last FROM watermarks WHERE writer = {writer:UUID})`,
    { writer, low, isOpen },
  );
}

/**
 * Says that everything of this writer in segments below `low` is stored, and that whatever it stores later is not
 * below it. A process that dies with events in its log leaves its row, so readers of the feed wait for them.
 */
export async function publishWatermark(storage: Storage, writer: string, low: number): Promise<void> {
  await put(storage, writer, low, true);
}

/** The same for a writer that is new, unless it has published one before; the one that holds. */
export async function publishFirstWatermark(storage: Storage, writer: string, low: number): Promise<number> {
  const [known] = await storage.rows<{ low: string }>(
    'SELECT toString(low) AS low FROM watermarks FINAL WHERE writer = {writer:UUID} LIMIT 1',
    { writer },
  );
  if (known !== undefined) return Number(known.low);
  await put(storage, writer, low, true);
  return low;
}

/** This writer will write no more. */
export async function withdrawWatermark(storage: Storage, writer: string): Promise<void> {
  await put(storage, writer, 0, false);
}

/** How far writers have come. */
interface Order {
  /** The lowest segment that one may still write; Infinity when none is at it. */
  readonly lowest: number;
  /** The last segment that any of the last 30 days has published; 0 when there is none. */
  readonly last: number;
}

async function orderOf(storage: Storage, condition: string, parameters = {}): Promise<Order> {
  const [row] = await storage.rows<{ lowest: string; writing: string; last: string }>(
    `SELECT minIf(low, is_open) AS lowest, countIf(is_open) AS writing, max(low) AS last
     FROM ${writers} WHERE ${condition}`,
    parameters,
  );
  const isQuiet = row === undefined || row.writing === '0';
  return { lowest: isQuiet ? Number.POSITIVE_INFINITY : Number(row.lowest), last: Number(row?.last ?? 0) };
}

export const orderOfWriters = (storage: Storage): Promise<Order> => orderOf(storage, '1');

export const orderOfCommands = (storage: Storage): Promise<Order> => orderOf(storage, 'is_command');

/** The lowest segment that a writer other than `own` may still write; Infinity when there is no other. */
export async function othersWatermark(storage: Storage, own: string): Promise<number> {
  return (await orderOf(storage, `writer != {own:UUID} AND ${notFenced}`, { own })).lowest;
}

/** True when a server has published within the last `withinMs`: those that run do each second. */
export async function areServersWriting(storage: Storage, withinMs: number): Promise<boolean> {
  const [row] = await storage.rows<{ servers: string }>(
    `SELECT count() AS servers FROM watermarks FINAL
     WHERE is_open AND written > now() - toIntervalMillisecond({withinMs:UInt32})`,
    { withinMs },
  );
  return row !== undefined && row.servers !== '0';
}
