import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { MappingDefinition } from '../adapters/definition.ts';
import type { RedactionSettings } from '../ocsf/redact.ts';
import type { Logger } from '../base/observability/log.ts';
import type { OrganizationFacts, SharedDirectory } from '../base/events/organization-facts.ts';
import type { SegmentSink } from '../base/events/segment-insert.ts';
import { ifThere } from '../base/errors/system-error.ts';
import { counter, gauge, tally } from '../base/observability/metrics.ts';
import { type Accept, type AcceptOptions, createAccept } from './accept.ts';
import { Arrivals, SettledSegments } from './arrivals.ts';
import { Batcher, type BatcherOptions } from './batcher.ts';
import { openLogFiles } from './files.ts';
import { Idempotency } from './idempotency.ts';
import type { EventsOf, KeptFree } from './log-room.ts';
import { OrderNumbers, type Permit, type Watermarks } from './order-numbers.ts';
import { OwnEventRecorder } from './own-events.ts';
import { Throttle } from './throttle.ts';
import { WorkerPool } from './pool.ts';
import type { DamageReports } from './recovery.ts';
import { RejectionLog } from './rejections.ts';
import { Wal } from './wal.ts';

/**
 * The engine is behind when rows wait this long beyond FLUSH_INTERVAL: a third of the second that readers are
 * promised, as INSERTs take time, too.
 */
const segmentWaitMsMax = 350;
/** Below this backlog the engine is slow for reasons other than load, so throttling would not help. */
const throttleBytesMin = 32 * 1024 * 1024;

export interface IngestOptions extends RedactionSettings {
  /** Has the folders `wal` and `idempotency`; the caller holds the lock of the directory. */
  readonly dataDir: string;
  readonly log: Logger;
  readonly workers: number;
  readonly workerFile?: string | undefined;
  readonly appName: string;
  readonly mappings?: readonly MappingDefinition[];
  readonly bodyBytesMax: number;
  readonly flushIntervalMs: number;
  readonly segmentBytes: number;
  readonly walBytesMax: number;
  readonly keepFreeBytes?: KeptFree;
  readonly writer?: () => number;
  readonly permit?: Permit | undefined;
  /** Clock that expires answers, in Unix ms; default `Date.now`. */
  readonly answersNowMs?: () => number;
  readonly sink: SegmentSink;
  /** The newest number in the table, asked if the log has none; default 0. */
  readonly newestStored?: () => Promise<number>;
  readonly damage: DamageReports;
  readonly sharedAnswers?: AcceptOptions['sharedAnswers'];
  directory(): SharedDirectory;
}

export interface Ingest {
  readonly accept: Accept;
  /** Stores an event of the service itself (own-events.ts). */
  recordOwn(organization: OrganizationFacts, event: string): Promise<void>;
  readonly recordOnce: OwnEventRecorder['recordOnce'];
  watermarks(): Watermarks;
  /** No accepted event of the organization is above this number; undefined while some are on their way. */
  lastNumberOf(organization: string): number | undefined;
  waitingMs(): number;
  raise(number: number): void;
  isInFlight(): boolean;
  unsent(): number;
  /** Undefined while the log takes such events (default: those of producers). */
  logFailure(of?: EventsOf): string | undefined;
  flush(timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}

type Pools = AcceptOptions['pools'];

/** Opens the log in `dataDir`, resumes sending what an earlier process left, and accepts batches. */
export async function openIngest(options: IngestOptions): Promise<Ingest> {
  const { log, flushIntervalMs, segmentBytes, damage, bodyBytesMax, directory } = options;
  const { wal, order } = await openLog(options);
  const idempotency = await openAnswers(options, wal);
  const settled = new SettledSegments(wal.lastRecovered, order.last);
  const batcher = new Batcher({
    wal,
    order: settling(order, settled),
    sink: options.sink,
    log,
    damage,
    flushIntervalMs,
    stored: (rows, ms) => throttle.stored(rows, ms),
    keepNotes: (notes) => idempotency.keep(notes),
  });
  const throttle = new Throttle({
    backlog: (of) => batcher.backlog(of),
    behindMs: flushIntervalMs + segmentWaitMsMax,
    behindBytes: Math.min(segmentBytes, throttleBytesMin),
    nowMs: () => performance.now(),
  });
  batcher.start();
  const pools = startPools(options, throttle);
  const arrivals = new Arrivals(wal.lastRecovered);
  const rejectionLog = new RejectionLog(log, () => performance.now());
  const outcomes = countOutcomes(rejectionLog);
  const own = new OwnEventRecorder({ settings: options, wal, arrivals, idempotency, ...outcomes });
  const { sharedAnswers } = options;
  const remembered = { idempotency, sharedAnswers };
  const accept = createAccept({ pools, wal, arrivals, ...remembered, bodyBytesMax, directory, ...outcomes });
  showLog(wal, batcher, options.walBytesMax, idempotency);
  showWorkers(pools);
  return {
    accept,
    recordOwn: (organization, event) => own.record(organization, event),
    recordOnce: (name, events, organizationOf) => own.recordOnce(name, events, organizationOf),
    watermarks: () => order.watermarks(),
    lastNumberOf(organization) {
      const segment = arrivals.lastSegmentOf(organization);
      if (segment === undefined || wal.isWaiting(segment)) return undefined;
      return settled.lastOf(segment);
    },
    waitingMs: () => wal.waitingMs(),
    raise: (number) => order.raise(number),
    isInFlight: () => order.isInFlight,
    unsent: () => wal.sealed().length,
    logFailure: (of) => wal.failure(of),
    flush: (timeoutMs) => batcher.flush(timeoutMs),
    async close() {
      batcher.stop();
      await Promise.all([pools.small.close(), pools.large.close()]);
      rejectionLog.close();
      await order.close();
      await wal.close();
    },
  };
}

function settling(order: OrderNumbers, settled: SettledSegments): BatcherOptions['order'] {
  return {
    numbersOf: (segment) => order.numbersOf(segment),
    take: (...segment) => order.take(...segment),
    settle(segment) {
      order.settle(segment);
      settled.settle(segment, order.last);
    },
  };
}

async function openLog(options: IngestOptions): Promise<{ readonly wal: Wal; readonly order: OrderNumbers }> {
  const { dataDir, log, segmentBytes, walBytesMax, keepFreeBytes, damage, permit } = options;
  const { newestStored = () => Promise.resolve(0), writer = () => 0 } = options;
  const files = await openLogFiles(join(dataDir, 'wal'));
  const bounds = { segmentBytes, bytesMax: walBytesMax, ...(keepFreeBytes && { keepFreeBytes }) };
  // The folder is made after the first segment, so if it exists there was a log.
  const isExpected = (await ifThere(stat(join(dataDir, 'idempotency')))) !== undefined;
  const wal = await Wal.open({ files, log, ...bounds, nowMs: Date.now, damage, isExpected });
  const recovered = wal.sealed().map(({ number }) => number);
  const hasFile = (segment: number): boolean => wal.hasFile(segment);
  const own = { file: files.order, writer, permit, nowMs: Date.now, log, damage };
  try {
    return { wal, order: await OrderNumbers.open({ ...own, newestStored, hasFile, recovered }) };
  } catch (error) {
    await wal.close();
    throw error;
  }
}

async function openAnswers(
  { dataDir, log, answersNowMs = Date.now }: IngestOptions,
  wal: Wal,
): Promise<Idempotency> {
  const files = await openLogFiles(join(dataDir, 'idempotency'));
  const idempotency = await Idempotency.open(files, answersNowMs, log);
  await idempotency.rememberLogged(wal);
  return idempotency;
}

function startPools(options: IngestOptions, throttle: Throttle): Pools {
  const { appName, redactKeys, redactValues, mappings, workers, log, workerFile: filename } = options;
  const worker = { appName, redactKeys, redactValues, mappings };
  return {
    small: new WorkerPool({ name: 'small', threads: 1, worker, log, filename, throttle: throttle.small }),
    // Lazy, as threads cost start time and memory, and many installations send only small bodies.
    large: new WorkerPool({
      name: 'large',
      threads: workers,
      worker,
      log,
      filename,
      throttle: throttle.large,
      isLazy: true,
    }),
  };
}

function countOutcomes(rejectionLog: RejectionLog): Pick<AcceptOptions, 'accepted' | 'rejected'> {
  const events = counter('auditlog_ingest_events_total', 'Events by outcome', ['outcome']);
  const help = 'Rejected events by the kind of rule';
  const rejectedEvents = counter('auditlog_ingest_rejected_total', help, ['reason']);
  return {
    accepted: tally(events.labels('accepted')),
    rejected(apiKey, rejections) {
      for (const { reason, events: count } of rejections) {
        events.inc({ outcome: 'rejected' }, count);
        rejectedEvents.inc({ reason }, count);
      }
      rejectionLog.add(apiKey, rejections);
    },
  };
}

function showLog(wal: Wal, batcher: Batcher, bytesMax: number, keys: Idempotency): void {
  show('auditlog_idempotency_keys', 'Idempotency keys remembered', () => keys.size);
  show('auditlog_wal_max_bytes', 'WAL_MAX_BYTES: writes are refused at this size', () => bytesMax);
  const lag = 'Age of the oldest acknowledged event that is not in the engine';
  show('auditlog_wal_bytes', 'Bytes in the write-ahead log', () => wal.bytes());
  show('auditlog_ingest_lag_seconds', lag, () => wal.waitingMs() / 1000);
  show('auditlog_wal_segments', 'Sealed segments that wait for the engine', () => wal.sealed().length);
  gauge('auditlog_segments', 'Segments by outcome since the start', ['outcome'], (metric) => {
    const { stored, refused, retries } = batcher.counts();
    metric.set({ outcome: 'stored' }, stored);
    metric.set({ outcome: 'refused' }, refused);
    metric.set({ outcome: 'retried' }, retries);
  });
}

function showWorkers(pools: Pools): void {
  gauge('auditlog_worker_threads', 'Threads that map events, by the size of bodies', ['pool'], (it) => {
    for (const [pool, { threads }] of Object.entries(pools)) it.set({ pool }, threads);
  });
  const queued = (): number => pools.small.queued() + pools.large.queued();
  show('auditlog_ingest_queued_tasks', 'Tasks that wait for a worker', queued);
}

function show(name: string, help: string, value: () => number): void {
  gauge(name, help, [], (metric) => metric.set(value()));
}
