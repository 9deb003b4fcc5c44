import { Problem } from '../../base/problem.ts';
import { metricsContentType, renderMetrics } from '../../base/metrics.ts';
import type { Handler } from '../router.ts';

/** GET /metrics: Prometheus text; from loopback only unless METRICS_PUBLIC is set (contract: Operations). */
export function metricsRoute(isPublic: boolean): Handler {
  return async (context) => {
    if (!isPublic && !isLoopback(context.ip))
      throw new Problem('not_found', 'There is nothing at this address.');
    return {
      status: 200,
      headers: { 'Content-Type': metricsContentType },
      body: await renderMetrics(),
    };
  };
}

function isLoopback(ip: string): boolean {
  return ip === '::1' || ip.startsWith('127.');
}
