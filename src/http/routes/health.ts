import { Problem } from '../../base/problem.ts';
import type { Handler } from '../router.ts';

/** GET /healthz: the process is up. */
export const healthRoute: Handler = () => ({ status: 200, body: '{"status":"ok"}' });

/** What readiness depends on. */
export interface Readiness {
  engineReachable(): Promise<boolean>;
  /** Undefined while the log takes writes. */
  logFailure(): string | undefined;
}

/** GET /readyz: the engine is reachable and the log is writable; 503 naming what is not (contract: Operations). */
export function readyRoute(readiness: Readiness): Handler {
  return async () => {
    const checks = {
      engine: await readiness.engineReachable(),
      log: readiness.logFailure() === undefined,
    };
    if (Object.values(checks).every(Boolean))
      return { status: 200, body: JSON.stringify({ status: 'ready', checks }) };
    throw new Problem('unavailable', 'The service is not ready.', {
      retryAfterSeconds: 1,
      members: { checks },
    });
  };
}
