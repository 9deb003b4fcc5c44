import { askedGauge } from '../base/observability/metrics.ts';
import type { FrontEndDeps } from './deps.ts';

/** The checks of /readyz as metrics. */
export function showReadiness(readiness: FrontEndDeps['readiness']): void {
  const ask = async () => ({
    engine_reachable: await readiness.engineReachable(),
    engine_takes_writes: await readiness.engineTakesWrites(),
  });
  const ready = {
    name: 'auditlog_ready',
    help: '1 while a check of /readyz is passed',
    labelNames: ['check'],
    ageName: 'auditlog_ready_age_seconds',
  } as const;
  askedGauge(ready, ask, (it, engine) => {
    const checks = { ...engine, log_takes_writes: readiness.logFailure() === undefined };
    for (const [check, isPassed] of Object.entries(checks)) it.set({ check }, isPassed ? 1 : 0);
  });
}
