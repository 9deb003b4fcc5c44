import { EngineError } from '../base/errors/engine-error.ts';
import { segmentTimeMs, seqTimeMs } from '../base/events/sequence.ts';
import { limits } from './limits.ts';
import type { Storage } from './storage.ts';

/**
 * The newest moment (Unix milliseconds) that what is stored tells of: by the newest segment of the log, the newest order
 * number and the newest checkpoint. Undefined where nothing is stored, or the engine cannot tell.
 */
export async function newestStoredMs(storage: Storage, newestSegment: number): Promise<number | undefined> {
  const moments = newestSegment > 0 ? [segmentTimeMs(newestSegment)] : [];
  try {
    const [row] = await storage.rows<Record<'seq' | 'signed', string>>(
      `SELECT toString((SELECT max(seq) FROM events)) AS seq,
         toString((SELECT toUnixTimestamp64Milli(max(signed)) FROM evidence_checkpoints)) AS signed`,
      {},
      { timeoutMs: limits.removalCountMsMax },
    );
    const seq = BigInt(row?.seq ?? 0);
    if (seq > 0n) moments.push(seqTimeMs(seq));
    if (Number(row?.signed) > 0) moments.push(Number(row?.signed));
  } catch (error) {
    // A damaged part must not keep the service from its start.
    if (!(error instanceof EngineError)) throw error;
  }
  return moments.length === 0 ? undefined : Math.max(...moments);
}
