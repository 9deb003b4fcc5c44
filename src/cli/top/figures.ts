import type { Answer } from '../../contract/document.ts';
import type { EngineFigures } from './engine.ts';
import { Metrics, quantile } from './metrics-text.ts';

/** One interval, as `top --json` prints it. */
export type Figures = Answer<'CliTop'>;

/** What is known of one moment. */
export interface Sample {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly metrics: Metrics;
  readonly engine: EngineFigures;
}

const latency = 'auditlog_http_request_duration_seconds';
const writes = ['ingest', 'otlp logs'];
const queries = ['audit'];

/** What has happened between two moments, and what is so at the later one. */
export function figuresOf(earlier: Sample, later: Sample): Figures {
  const seconds = (later.atMs - earlier.atMs) / 1000;
  const { metrics, engine } = later;
  const events = (outcome: string): number => {
    const name = 'auditlog_ingest_events_total';
    return since(earlier.metrics.sum(name, { outcome }) ?? 0, metrics.sum(name, { outcome }) ?? 0);
  };
  const [accepted, rejected] = [events('accepted'), events('rejected')];
  return {
    at: new Date(later.atMs).toISOString(),
    seconds,
    accepted,
    accepted_per_second: accepted / seconds,
    rejected,
    rejected_per_second: rejected / seconds,
    acknowledgement: latencies(earlier.metrics, metrics, writes),
    query: latencies(earlier.metrics, metrics, queries),
    log: {
      bytes: metrics.sum('auditlog_wal_bytes') ?? null,
      segments: metrics.sum('auditlog_wal_segments') ?? null,
      lag_seconds: metrics.max('auditlog_ingest_lag_seconds') ?? null,
    },
    reads: {
      running: metrics.sum('auditlog_reads_running') ?? null,
      waiting: metrics.sum('auditlog_reads_waiting') ?? null,
    },
    engine: {
      memory_bytes: metrics.max('auditlog_engine_resident_memory_bytes') ?? engine.memory_bytes,
      parts: metrics.max('auditlog_engine_partition_parts') ?? null,
    },
    slow_queries: engine.slow_queries,
    organizations: engine.organizations,
  };
}

/** Of a counter; one that is lower than it was has begun anew with its process. */
function since(earlier: number, later: number): number {
  return later >= earlier ? later - earlier : later;
}

function latencies(
  earlier: Metrics,
  later: Metrics,
  routes: readonly string[],
): { p50_seconds: number | null; p99_seconds: number | null } {
  const now = later.buckets(latency, routes);
  const then = earlier.buckets(latency, routes);
  const all = Number.POSITIVE_INFINITY;
  // After a restart of the server its counts begin anew.
  const before = (then.get(all) ?? 0) > (now.get(all) ?? 0) ? new Map<number, number>() : then;
  return {
    p50_seconds: quantile(before, now, 0.5) ?? null,
    p99_seconds: quantile(before, now, 0.99) ?? null,
  };
}
