import { firstSeqOf, segmentAtTime } from '../../base/sequence.ts';
import { shortMessage } from '../../storage/exception.ts';
import type { Storage } from '../../storage/storage.ts';
import { limits } from '../limits.ts';

export interface SlowQuery {
  readonly id: string;
  readonly seconds: number;
  readonly memory_bytes: number;
  readonly query: string;
}

export interface BusyOrganization {
  readonly slug: string;
  readonly events_per_second: number;
}

/** What of the engine is shown. A part that it does not tell is null. */
export interface EngineFigures {
  readonly slow_queries: readonly SlowQuery[] | null;
  readonly organizations: readonly BusyOrganization[] | null;
  readonly memory_bytes: number | null;
}

const bounded = { timeoutMs: limits.topAskMsMax, settings: { max_threads: 1 } };

export async function askEngine(storage: Storage): Promise<EngineFigures> {
  const [slow, organizations, memory] = await Promise.all([
    orNull(slowQueries(storage)),
    orNull(busiest(storage)),
    orNull(memoryBytes(storage)),
  ]);
  return { slow_queries: slow, organizations, memory_bytes: memory };
}

/** The user of a ClickHouse server may be refused one, and the engine be too busy for another: the rest is shown. */
async function orNull<T>(question: Promise<T>): Promise<T | null> {
  try {
    return await question;
  } catch {
    return null;
  }
}

/** Also those that wait for memory or a lock: whoever asks is not among them. */
async function slowQueries(storage: Storage): Promise<SlowQuery[]> {
  const rows = await storage.rows<{ id: string; seconds: number; memory: string; query: string }>(
    `SELECT query_id AS id, elapsed AS seconds, toString(memory_usage) AS memory, query FROM system.processes
     WHERE elapsed > {seconds:Float64} AND query NOT LIKE 'SELECT sleepEachRow%'
     ORDER BY elapsed DESC LIMIT {rows:UInt8}`,
    { seconds: limits.topSlowQuerySeconds, rows: limits.topRows },
    bounded,
  );
  return rows.map(({ id, seconds, memory, query }) => ({
    id,
    seconds,
    memory_bytes: Number(memory),
    query: shortMessage(query),
  }));
}

/** By the order of ingest, which each organization has sorted: so only the newest events are looked at. */
async function busiest(storage: Storage): Promise<BusyOrganization[]> {
  const seconds = limits.topOrganizationsSeconds;
  const low = String(firstSeqOf(segmentAtTime(Date.now() - seconds * 1000)));
  const rows = await storage.rows<{ slug: string; events: string }>(
    `SELECT o.slug AS slug, toString(e.events) AS events FROM (
       SELECT org, count() AS events FROM events
       WHERE org IN (SELECT id FROM organizations FINAL) AND seq >= {low:UInt64} GROUP BY org
       ORDER BY events DESC LIMIT {rows:UInt8}) AS e
     INNER JOIN (SELECT id, slug FROM organizations FINAL) AS o ON o.id = e.org ORDER BY e.events DESC, o.slug`,
    { low, rows: limits.topRows },
    bounded,
  );
  return rows.map(({ slug, events }) => ({ slug, events_per_second: Number(events) / seconds }));
}

async function memoryBytes(storage: Storage): Promise<number> {
  const query = "SELECT toString(value) AS bytes FROM system.metrics WHERE metric = 'MemoryTracking'";
  const [row] = await storage.rows<{ bytes: string }>(query, {}, bounded);
  return Number(row?.bytes ?? Number.NaN);
}
