import { firstSeqOf, segmentAtTime } from '../base/events/sequence.ts';
import type { Config } from '../config/config.ts';
import { orderThrough } from '../ingest/order-numbers.ts';
import type { Storage } from '../storage/storage.ts';
import { reachedBy, readWriters } from '../storage/watermarks.ts';
import { limits } from './limits.ts';

/** The part of the configuration that tells where the log is. */
export type WhereLogIs = Pick<Config, 'dataDir'> & {
  readonly clickhouse: Pick<Config['clickhouse'], 'url'>;
};

/**
 * A place in the order that no live writer can have come to: an event at it, or above, was put in by somebody who writes to the
 * table. Writers go by the clock, or, where that was once ahead, from their newest segment and the watermarks on. Numbers rise by
 * the moment at which they are given out, so what lies within the slack is in a tree, or found out, before long. Rejects with
 * EngineError.
 */
export async function endOfOrder(storage: Storage, { dataDir, clickhouse }: WhereLogIs): Promise<bigint> {
  const [row] = await storage.rows<{ now: string }>(
    'SELECT toString(toUnixTimestamp64Milli(now64(3))) AS now',
  );
  const nowMs = Math.max(Date.now(), Number(row?.now ?? 0));
  const inLog = clickhouse.url === undefined ? await orderThrough(dataDir) : 0;
  const last = reachedBy(await readWriters(storage));
  const newest = Math.max(segmentAtTime(nowMs), inLog, last);
  return firstSeqOf(newest + limits.orderSlackSegments);
}
