import { limits } from '../base/limits.ts';
import type { Storage } from './storage.ts';

/** Far enough for a process that runs: it withdraws its row when it stops with nothing left to send. */
const runningMs = 20 * 365 * 86_400_000;

async function put(storage: Storage, writer: string, low: number, untilMs: number): Promise<void> {
  const until = new Date(untilMs).toISOString().replace('T', ' ').replace('Z', '');
  const version = Date.now() * 1000 + Math.floor((performance.now() % 1) * 1000);
  await storage.insertRows('watermarks', [{ writer, low, until, version }]);
}

/**
 * Says that everything of this writer in segments below `low` is stored, and that whatever it stores later is not
 * below it. A process that dies with events in its log leaves its row, so readers of the feed wait for them.
 */
export async function publishWatermark(storage: Storage, writer: string, low: number): Promise<void> {
  await put(storage, writer, low, Date.now() + runningMs);
}

/**
 * The same for a command that writes once: to be called, and waited for, before it takes its place in the order. Its
 * claim ends by itself when the command dies.
 */
export async function claimWatermark(storage: Storage, writer: string, low: number): Promise<void> {
  await put(storage, writer, low, Date.now() + limits.watermarkClaimMsMax);
}

/** This writer will write no more. */
export async function withdrawWatermark(storage: Storage, writer: string): Promise<void> {
  await put(storage, writer, 0, 0);
}

/** The lowest segment that a writer other than `own` may still write; Infinity when there is no other. */
export async function lowestOfOthers(storage: Storage, own: string, signal: AbortSignal): Promise<number> {
  const [row] = await storage.rows<{ low: string; writers: string }>(
    'SELECT min(low) AS low, count() AS writers FROM watermarks FINAL WHERE until > now64(3) AND writer != {own:UUID}',
    { own },
    { signal },
  );
  return row === undefined || row.writers === '0' ? Number.POSITIVE_INFINITY : Number(row.low);
}

/** True when a writer other than `own` has published within the last `withinMs`: servers that run do each second. */
export async function othersWriting(storage: Storage, own: string, withinMs: number): Promise<boolean> {
  const [row] = await storage.rows<{ writers: string }>(
    `SELECT count() AS writers FROM watermarks FINAL
     WHERE until > now64(3) AND writer != {own:UUID} AND written > now() - toIntervalMillisecond({withinMs:UInt32})`,
    { own, withinMs },
  );
  return row !== undefined && row.writers !== '0';
}
