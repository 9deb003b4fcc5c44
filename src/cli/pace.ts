import type { Settings } from '../storage/storage.ts';
import { limits } from './limits.ts';
import type { Session } from './session.ts';

/**
 * For a query that reads all there is: how fast the engine may, beside servers that have pages to answer on the same
 * cores. So many events a second for each core of the engine, evenly and on one thread. No bounds where the command has
 * the engine for itself, or `isFullSpeed`. Rejects with EngineError.
 */
export async function paceOf(
  { storage, isShared }: Pick<Session, 'storage' | 'isShared'>,
  eventsPerSecondOfCore: number,
  isFullSpeed: boolean,
): Promise<Settings> {
  if (isFullSpeed || !isShared) return {};
  const [row] = await storage.rows<{ cores: number }>("SELECT toUInt32(getSetting('max_threads')) AS cores");
  return {
    max_threads: 1,
    // The engine rests between blocks: small ones, so that each is short.
    max_block_size: limits.paceBlockEvents,
    max_execution_speed: eventsPerSecondOfCore * (row?.cores ?? 1),
    // At once, and not when a query has taken so long.
    timeout_before_checking_execution_speed: 0,
  };
}

export const fullSpeedRow = [
  '--full-speed',
  'as fast as can be, also where a running server needs the machine for pages and batches',
] as const;
