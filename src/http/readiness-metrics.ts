import { gauge } from '../base/metrics.ts';
import type { FrontEndDeps } from './deps.ts';

/** The checks of /readyz as metrics. */
export function showReadiness(readiness: FrontEndDeps['readiness']): void {
  gauge('auditlog_ready', '1 while a check of /readyz is passed', ['check'], async (it) => {
    const [reachable, takesWrites] = await Promise.all([
      readiness.engineReachable(),
      readiness.engineTakesWrites(),
    ]);
    const checks = {
      engine_reachable: reachable,
      engine_takes_writes: takesWrites,
      log_takes_writes: readiness.logFailure() === undefined,
    };
    for (const [check, isPassed] of Object.entries(checks)) it.set({ check }, isPassed ? 1 : 0);
  });
}
