import { appendFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { segmentAtTime, writersMax } from '../base/events/sequence.ts';
import { ifThere } from '../base/errors/system-error.ts';
import type { Storage } from './storage.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import { endLostClaims } from './command-claims.ts';
import { limits } from './limits.ts';
import { orderOfWriters, othersWatermark } from './watermarks.ts';

/** What this process must know of those that write events beside it. */
export interface OtherWriters {
  /**
   * The lowest segment that another may still write; Infinity when nobody else is writing. Who begins after the call
   * takes a number that the clock has reached by then, or, beside an own engine, above the newest segment. Rejects
   * with EngineError.
   */
  watermark(): Promise<number>;
  /**
   * The last segment that others may have written by the time of the last watermark; Infinity while some are at it, or
   * when that cannot be told.
   */
  writtenThrough(): number;
}

/** Processes that share a ClickHouse server: the engine alone knows of them, and they write at any time. */
export function otherServers(storage: Storage, instance: string): OtherWriters {
  return {
    watermark: () => othersWatermark(storage, instance),
    writtenThrough: () => Number.POSITIVE_INFINITY,
  };
}

function announcements(dataDir: string): string {
  return join(dataDir, 'writes-of-commands');
}

/**
 * Commands beside a service with its own engine: each makes a file of the data directory longer, once its claim is
 * in the engine (see command-claims.ts) and before it takes its place in the order. While the file keeps the length at
 * which no claim was found, nobody has written, and the engine need not be asked.
 */
export function otherCommands(storage: Storage, dataDir: string): OtherWriters {
  const path = announcements(dataDir);
  let quietLength: number | undefined;
  let through = 0;
  let isQuiet = false;
  let lookedMs = Number.NEGATIVE_INFINITY;

  const length = async (): Promise<number> => (await ifThere(stat(path)))?.size ?? 0;

  /** A claim that cannot be ended yet holds, which FeedWatch tells of. */
  async function endIfPossible(): Promise<void> {
    try {
      await endLostClaims(storage);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
    }
  }

  async function watermark(): Promise<number> {
    const now = await length();
    if (now === quietLength) return Number.POSITIVE_INFINITY;
    if (performance.now() - lookedMs > limits.commandClaimLookMs) {
      lookedMs = performance.now();
      await endIfPossible();
    }
    const { lowest, last } = await orderOfWriters(storage);
    isQuiet = lowest === Number.POSITIVE_INFINITY;
    if (isQuiet) {
      quietLength = now;
      // What commands have written by now may lie below the watermark, and be looked for later.
      through = Math.max(through, last, segmentAtTime(Date.now()) + writersMax - 1);
    }
    return lowest;
  }

  return {
    watermark,
    writtenThrough: () => (isQuiet ? through : Number.POSITIVE_INFINITY),
  };
}

/** Tells a service on this data directory that a command is about to write; its claim must be in the engine. */
export async function announceCommand(dataDir: string): Promise<void> {
  await appendFile(announcements(dataDir), '.', { mode: 0o600 });
}
