import type { IngestDirectory } from '../control/ingest-directory.ts';
import { ErasureReconciler } from '../control/erasure-reconciler.ts';
import { limits } from '../control/limits.ts';
import { RetentionReconciler } from '../control/retention-reconciler.ts';
import { systemClock } from '../base/time/clock.ts';
import { readProgress, watermarkOf } from '../evidence/progress-table.ts';
import type { ServiceStorage } from '../storage/open-storage.ts';
import { EventRemoval } from '../storage/removal.ts';
import type { Base } from './base.ts';
import type { Writing } from './writing.ts';

/**
 * Removes what has expired, and carries out erasures: only of what is in its tree, where trees are built, as nothing would
 * tell of it otherwise.
 */
export function startRetention(
  { config, log, stops, trust }: Base,
  { storage, instance }: ServiceStorage,
  { ingest, order }: Writing,
  organizations: IngestDirectory,
): void {
  const { retentionDays, retentionIntervalMs: intervalMs, evidenceIntervalMs } = config;
  const watermarks = async (): Promise<(organization: string) => bigint> => {
    const { ofAll } = await order.watermarks();
    if (evidenceIntervalMs === undefined) return () => ofAll;
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
  const own = { storage, removal, instance, retentionDays, intervalMs };
  const reconciler = new RetentionReconciler({ ...own, watermarks, record, clock: systemClock, trust, log });
  stops.add(() => reconciler.stop());
  const { erasurePollMs } = limits;
  const eraser = new ErasureReconciler({
    storage,
    instance,
    watermarks,
    record,
    clock: systemClock,
    log,
    intervalMs: Math.min(intervalMs, erasurePollMs),
  });
  stops.add(() => eraser.stop());
}
