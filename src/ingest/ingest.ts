import { join } from 'node:path';
import { limits } from './limits.ts';
import type { Logger } from '../base/log.ts';
import { counter, gauge } from '../base/metrics.ts';
import { type Accept, createAccept } from './accept.ts';
import { createArrivals } from './arrivals.ts';
import { type SegmentSink, startBatcher } from './batcher.ts';
import { openLogFiles } from './files.ts';
import { openIdempotency } from './idempotency.ts';
import { Throttle } from './throttle.ts';
import { WorkerPool } from './pool.ts';
import type { DamageReports } from './recovery.ts';
import { RejectionLog } from './rejections.ts';
import type { SharedDirectory } from './task.ts';
import { type Unsettled, Wal } from './wal.ts';

export interface IngestOptions {
  /** Holds the folders `wal` and `idempotency`; the caller makes sure that no other process uses it. */
  readonly dataDir: string;
  readonly log: Logger;
  readonly workers: number;
  readonly appName: string;
  readonly redactKeys: readonly string[];
  readonly bodyBytesMax: number;
  readonly flushIntervalMs: number;
  readonly segmentBytes: number;
  readonly walBytesMax: number;
  /** Bytes of the log's disk that are not for it. */
  readonly keepFreeBytes?: number;
  /** Number of this process among those that share the engine. */
  readonly writer: number;
  readonly sink: SegmentSink;
  readonly damage: DamageReports;
  directory(): SharedDirectory;
}

export interface Ingest {
  readonly accept: Accept;
  /** The lowest segment whose events may not be in the engine yet; nothing that comes later is below it. */
  lowestUnsettled(): Promise<number>;
  /** The same by organization: a large request of one holds back no other's. */
  unsettled(): Promise<Unsettled>;
  /** The last segment that may hold events of an organization; Infinity while some are being written. */
  lastSegmentOf(organization: string): number;
  /** Whether every event up to and in this segment is in the engine. */
  isStored(segment: number): boolean;
  /** Segments that wait for the engine. */
  unsent(): number;
  /** Undefined while appends to the log work. */
  logFailure(): string | undefined;
  /** Waits until everything acknowledged is in the engine; false when `timeoutMs` passed first. */
  flush(timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/** Opens the log in `dataDir`, begins to send what an earlier process left, and accepts batches. */
export async function openIngest(options: IngestOptions): Promise<Ingest> {
  const { dataDir, log } = options;
  const wal = await Wal.open({
    files: await openLogFiles(join(dataDir, 'wal')),
    log,
    segmentBytes: options.segmentBytes,
    bytesMax: options.walBytesMax,
    keepFreeBytes: options.keepFreeBytes ?? 0,
    writer: options.writer,
    nowMs: Date.now,
    damage: options.damage,
  });
  const idempotency = await openIdempotency(await openLogFiles(join(dataDir, 'idempotency')), Date.now, log);
  for (const segment of wal.sealed()) {
    const { frames } = await wal.read(segment);
    for (const { notes } of frames)
      if (notes.length > 0) idempotency.remember(Buffer.from(notes).toString('utf8'));
  }
  const { sink, flushIntervalMs } = options;
  const batcher = startBatcher({
    wal,
    sink,
    log,
    damage: options.damage,
    flushIntervalMs,
    stored: (rows, ms) => throttle.stored(rows, ms),
    keepNotes: idempotency.keep,
  });
  const throttle = new Throttle({
    backlog: batcher.backlog,
    behindMs: flushIntervalMs + limits.segmentWaitMsMax,
    behindBytes: Math.min(options.segmentBytes, limits.throttleBytesMin),
    nowMs: () => performance.now(),
  });
  const worker = { appName: options.appName, redactKeys: options.redactKeys };
  const pools = {
    // One thread is enough for small bodies: receiving them costs more than mapping them.
    small: new WorkerPool({ threads: 1, worker, log, throttle: throttle.small }),
    // Their threads cost a start and memory, and where all bodies are small nobody needs them.
    large: new WorkerPool({ threads: options.workers, worker, log, throttle: throttle.large, isLazy: true }),
  };
  const events = counter('auditlog_ingest_events_total', 'Events by what became of them', ['outcome']);
  const rejectedEvents = counter('auditlog_ingest_rejected_total', 'Rejected events by the kind of rule', [
    'reason',
  ]);
  const rejectionLog = new RejectionLog(log, () => performance.now());
  const arrivals = createArrivals(wal.lastRecovered);
  const accept = createAccept({
    pools,
    wal,
    arrivals,
    idempotency,
    bodyBytesMax: options.bodyBytesMax,
    directory: options.directory,
    accepted: (count) => events.inc({ outcome: 'accepted' }, count),
    rejected(apiKey, rejections) {
      for (const { reason, events: count } of rejections) {
        events.inc({ outcome: 'rejected' }, count);
        rejectedEvents.inc({ reason }, count);
      }
      rejectionLog.add(apiKey, rejections);
    },
  });
  gauge('auditlog_wal_bytes', 'Bytes in the write-ahead log', [], (metric) => metric.set(wal.bytes()));
  gauge(
    'auditlog_ingest_lag_seconds',
    'How long the oldest acknowledged event that is not in the engine has waited',
    [],
    (metric) => metric.set(wal.waitingMs() / 1000),
  );
  gauge('auditlog_wal_segments', 'Sealed segments that wait for the engine', [], (metric) =>
    metric.set(wal.sealed().length),
  );
  gauge('auditlog_segments', 'Segments by what became of them since the start', ['outcome'], (metric) => {
    const { stored, refused, retries } = batcher.counts();
    metric.set({ outcome: 'stored' }, stored);
    metric.set({ outcome: 'refused' }, refused);
    metric.set({ outcome: 'retried' }, retries);
  });
  gauge('auditlog_ingest_queued_tasks', 'Tasks that wait for a worker', [], (metric) =>
    metric.set(pools.small.queued() + pools.large.queued()),
  );
  gauge('auditlog_idempotency_keys', 'Idempotency keys remembered', [], (metric) =>
    metric.set(idempotency.size()),
  );
  return {
    accept,
    lowestUnsettled: () => wal.lowestUnsettled(),
    unsettled: () => wal.unsettled(),
    lastSegmentOf: arrivals.lastSegmentOf,
    isStored: (segment) => wal.isStored(segment),
    unsent: () => wal.sealed().length,
    logFailure: () => wal.failure(),
    flush: batcher.flush,
    async close() {
      batcher.stop();
      await Promise.all([pools.small.close(), pools.large.close()]);
      rejectionLog.close();
      await wal.close();
    },
  };
}
