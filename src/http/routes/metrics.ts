import { Problem } from '../../base/problem.ts';
import { metricsContentType, renderMetrics } from '../../base/metrics.ts';
import type { Handler, RequestContext } from '../router.ts';

/** GET /metrics: Prometheus text; from loopback only unless METRICS_PUBLIC is set (contract: Operations). */
export function metricsRoute(isPublic: boolean): Handler {
  return async (context) => {
    if (!isPublic && !isLocal(context)) throw new Problem('not_found', 'There is nothing at this address.');
    return {
      status: 200,
      headers: { 'Content-Type': metricsContentType },
      body: await renderMetrics(),
    };
  };
}

/** A request that a proxy passed on is not local, whatever address it names. */
function isLocal({ ip, headers }: RequestContext): boolean {
  const forwarded = headers.has('x-forwarded-for') || headers.has('forwarded');
  return !forwarded && (ip === '::1' || ip.startsWith('127.'));
}
