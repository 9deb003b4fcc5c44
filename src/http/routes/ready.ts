import { limits } from '../../base/limits.ts';
import { Problem } from '../../base/errors/problem.ts';
import type { EndpointDeps } from '../deps.ts';
import { jsonReply } from '../response.ts';
import type { Handler } from '../router.ts';

/** GET /readyz: each check by its name; 503 where one fails that requests need (contract: Operations). */
export function readyHandler(readiness: EndpointDeps['readiness']): Handler {
  return async () => {
    const processesUp = await readiness.processesUp();
    const needed = {
      engine_reachable: await readiness.engineReachable(),
      engine_takes_writes: await readiness.engineTakesWrites(),
      log_takes_writes: readiness.logFailure() === undefined,
      ...(processesUp !== undefined && { processes_up: processesUp }),
    };
    const known = await readiness.damage();
    const [limitsShared, feedGoesOn] = [readiness.limitsShared(), readiness.feedGoesOn()];
    const doubt = readiness.clockDoubt();
    const told = {
      nothing_damaged: known.length === 0,
      ...(limitsShared !== undefined && { limits_shared: limitsShared }),
      feed_goes_on: feedGoesOn,
      ...(doubt !== undefined && { clock_trusted: false }),
    };
    const members = {
      checks: { ...needed, ...told },
      ...(known.length > 0 && { damage: known.slice(0, limits.damageShownMax) }),
      ...(doubt !== undefined && { clock: doubt }),
    };
    if (Object.values(needed).every(Boolean))
      return jsonReply(200, 'Readiness', { status: 'ready', ...members });
    throw new Problem('unavailable', 'The service is not ready.', { retryAfterSeconds: 1, members });
  };
}
