import type { Logger } from '../base/observability/log.ts';
import { setTracer } from '../base/observability/trace.ts';
import type { StopStack } from '../base/processes/stop-stack.ts';
import { systemClock } from '../base/time/clock.ts';
import type { Config } from '../config/config.ts';
import { evidenceKeys } from '../config/secrets.ts';
import type { Account } from '../control/account-checks.ts';
import type { Directory } from '../control/directory.ts';
import { ErasureReconciler } from '../control/erasure-reconciler.ts';
import type { IngestDirectory } from '../control/ingest-directory.ts';
import { limits } from '../control/limits.ts';
import { OwnAccounts } from '../control/own-accounts.ts';
import { RetentionReconciler } from '../control/retention-reconciler.ts';
import type { EvidenceReader } from '../evidence/evidence-reader.ts';
import { newEvidenceKey, openEvidence } from '../evidence/evidence.ts';
import { MissingWatch } from '../evidence/missing-events.ts';
import { readProgress, watermarkOf } from '../evidence/progress-table.ts';
import { RateLimiter } from '../http/rate-limit.ts';
import type { BatchAnswer } from '../ingest/answer-records.ts';
import type { IngestOrder } from '../ingest/ingest-order.ts';
import type { Base } from './base.ts';
import type { Writing } from './writing.ts';
import type { ServiceStorage } from '../storage/open-storage.ts';
import { EventRemoval } from '../storage/removal.ts';

/** Time between turns of retention: a 144th of the grace period, within these. */
const retentionMsMin = 200;
const retentionMsMax = 600_000;

/** Rate-limit and password counters, own or shared through Redis. */
export async function openCounts({ config, log, stops }: Base, secret: string) {
  const own = new RateLimiter(() => performance.now());
  const { redisUrl: url } = config;
  if (url === undefined) {
    const words = 'Each process counts limits and failed passwords alone; REDIS_URL shares them';
    if (config.clickhouse.url !== undefined) log.info({}, words);
    return {
      rateCounter: own,
      accounts: new OwnAccounts(),
      limitsShared: () => undefined,
      answers: () => undefined,
    };
  }
  if (config.sessionSecret === undefined) {
    const words = 'Without SESSION_SECRET, only processes on this DATA_DIR share limits through Redis';
    log.warn({}, words);
  }
  const { SharedCounts } = await import('../redis/shared-counts.ts');
  const shared = await SharedCounts.open({ url, secret, log });
  stops.add(() => shared.stop());
  return {
    rateCounter: shared.rates(own),
    accounts: shared.records<Account>('account', (nowMs) => new OwnAccounts({ nowMs })),
    limitsShared: () => shared.isReachable,
    answers: (instance: string) => shared.answers<BatchAnswer>(instance),
  };
}

/** Started after, and stopped before, everything that writes events. */
export async function startEvidence(
  { config, intervals, log, damage, stops, steadyMs }: Base,
  stored: ServiceStorage,
  order: IngestOrder,
  retentionCutOff: (organization: string) => number | undefined,
): Promise<EvidenceReader> {
  const { serviceName } = config;
  const { storage, instance } = stored;
  const keys = await evidenceKeys(config, log, () => newEvidenceKey(serviceName));
  const watermark = async () => order.watermarks().ofAll;
  const own = { storage, instance, serviceName, keys, intervalMs: intervals.evidenceMs };
  const evidence = openEvidence({ ...own, watermark, retentionCutOff, damage, log });
  stops.add(() => evidence.stop());
  // A ClickHouse server has replicas and monitoring of its own.
  if (stored.held !== undefined) {
    const { engine } = stored.held;
    const watch = new MissingWatch({
      storage,
      damage,
      log,
      nowMs: steadyMs,
      engineStarts: () => engine.restarts(),
    });
    stops.add(() => watch.stop());
  }
  return evidence.reader;
}

/** Only of events that are in their tree, as losses would go unnoticed otherwise. */
export function startRetention(
  { config, intervals, log, stops }: Base,
  { storage, instance }: ServiceStorage,
  { ingest, order }: Writing,
  directory: Directory,
  organizations: IngestDirectory,
): void {
  const { retentionDays } = config;
  const { retentionGraceMs: graceMs } = intervals;
  // Every ten minutes for a grace period of a day, more often for a shorter one.
  const intervalMs = Math.min(retentionMsMax, Math.max(retentionMsMin, graceMs / 144));
  const watermarks = async (): Promise<(organization: string) => bigint> => {
    const { ofAll } = order.watermarks();
    const progress = await readProgress(storage);
    return (organization) => {
      const inTree = watermarkOf(progress, organization);
      return inTree < ofAll ? inTree : ofAll;
    };
  };
  const record = async (id: string, event: object): Promise<void> => {
    const organization = organizations.organization(id);
    if (organization !== undefined) await ingest.recordOwn(organization, JSON.stringify(event));
  };
  const removal = new EventRemoval(storage);
  const own = { storage, directory, removal, instance, retentionDays, graceMs, intervalMs };
  const reconciler = new RetentionReconciler({ ...own, watermarks, record, clock: systemClock, log });
  stops.add(() => reconciler.stop());
  const { erasurePollMs } = limits;
  const eraser = new ErasureReconciler({
    storage,
    directory,
    instance,
    watermarks,
    record,
    clock: systemClock,
    log,
    intervalMs: Math.min(intervalMs, erasurePollMs),
  });
  stops.add(() => eraser.stop());
}

export async function startTracing(
  { tracesUrl: url, serviceName }: Config,
  log: Logger,
  stops: StopStack,
): Promise<void> {
  if (url === undefined) return;
  const { OtlpTracer } = await import('../base/observability/otlp-tracer.ts');
  const tracer = new OtlpTracer({ url, serviceName, log });
  setTracer(tracer);
  stops.add(() => tracer.stop());
}
