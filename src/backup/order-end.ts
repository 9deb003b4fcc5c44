import { firstSeqOf, segmentAtTime } from '../base/events/sequence.ts';
import type { Config } from '../config/config.ts';
import { orderThrough } from '../ingest/order-numbers.ts';
import type { Storage } from '../storage/storage.ts';
import { reachedBy, readWriters } from '../storage/watermarks.ts';
import { limits } from './limits.ts';

export type WhereLogIs = Pick<Config, 'dataDir'> & { readonly clickhouse: Pick<Config['clickhouse'], 'url'> };

/**
 * A `seq` that no running writer can have reached: an event from there on was added by someone with access to
 * the table. Writers follow the clock, or continue from their newest segment and the watermarks if it was
 * ahead. Rejects with EngineError.
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
