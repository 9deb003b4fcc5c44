import { serverNow, toRfc3339 } from '../api/instant.ts';
import { get, type Parameters } from '../api/request.ts';
import type { AuditPage, Histogram, TopValues } from '../api/types.ts';
import { startOfDay } from '../ui/format.ts';
import { type Day, daysUntil, rangesUntil } from './days.ts';
import { limits } from './limits.ts';
import { type Actor, findNew, type NewActors } from './new-actors.ts';

export interface OverviewData {
  readonly nowMs: number;
  readonly days: readonly Day[];
  readonly today: TopValues['data'];
  readonly failed: TopValues['data'];
  readonly newActors: NewActors;
}

/** Six requests; more with very many actors, or if midnight is not at a full hour of UTC. */
export async function readOverview(abort: AbortSignal): Promise<OverviewData> {
  const nowMs = serverNow();
  const ask = <T>(path: string, from: number, to: number, more: Parameters = {}) =>
    get<T>(
      `/api/v1/portal/${path}`,
      { startTime: toRfc3339(from), endTime: toRfc3339(to), ...more },
      { signal: abort },
    );
  const [first, today, now] = [startOfDay(nowMs, 1 - limits.days), startOfDay(nowMs), nowMs * 1000];
  const limit = limits.topValues;
  const [top, failed, before, ...histograms] = await Promise.all([
    ask<TopValues>('top-values', today, now, { limit }),
    ask<TopValues>('top-values', today, now, { limit, status: 'Failure' }),
    ask<TopValues>('top-values', first, today - 1, { limit }),
    ...rangesUntil(nowMs).map(({ from, to }) => ask<Histogram>('histogram', from, to)),
  ]);
  const wasThere = async ({ email_addr: actor }: Actor) =>
    (await ask<AuditPage>('events', first, today - 1, { actor, limit: 1 })).meta.total > 0;
  return {
    nowMs,
    days: daysUntil(nowMs, histograms),
    today: top.data,
    failed: failed.data,
    newActors: await findNew(top.data.actors, before.data.actors, wasThere),
  };
}
