import { Problem } from '../../base/problem.ts';
import { metricsContentType, renderMetrics } from '../../base/metrics.ts';
import type { Handler, RequestContext } from '../router.ts';

/** GET /metrics: Prometheus text; from loopback only unless METRICS_PUBLIC is set (contract: Operations). */
export function metricsRoute(isPublic: boolean, trustProxy: number): Handler {
  return async (context) => {
    if (!isPublic && !isLocal(context, trustProxy))
      throw new Problem('not_found', 'There is nothing at this address.');
    return {
      status: 200,
      headers: { 'Content-Type': metricsContentType },
      body: await renderMetrics(),
    };
  };
}

/** Where proxies are believed, a request that one passed on is not local, whatever address it names. */
function isLocal({ ip, headers }: RequestContext, trustProxy: number): boolean {
  const forwarded = trustProxy > 0 && (headers.has('x-forwarded-for') || headers.has('forwarded'));
  return !forwarded && (ip === '::1' || ip.startsWith('127.'));
}
