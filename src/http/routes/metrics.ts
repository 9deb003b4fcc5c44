import { Problem } from '../../base/errors/problem.ts';
import { metricsContentType } from '../../base/observability/metrics.ts';
import type { EndpointDeps } from '../deps.ts';
import type { RequestHead } from '../request.ts';
import type { Handler } from '../router.ts';

/**
 * GET /metrics: Prometheus text; from loopback only unless METRICS_PUBLIC is set (contract: Operations). Behind a proxy
 * every request comes from where the proxy is, so where proxies are expected, and where one has left its mark, nothing
 * counts as local.
 */
export function metricsHandler({
  config: { metricsPublic, trustProxy },
  renderMetrics,
}: Pick<EndpointDeps, 'config' | 'renderMetrics'>): Handler {
  return async (context) => {
    if (!metricsPublic && !(trustProxy === 0 && isLocal(context.head)))
      throw new Problem('not_found', 'There is nothing at this address.');
    return {
      status: 200,
      headers: { 'Content-Type': metricsContentType },
      body: await renderMetrics(),
    };
  };
}

/** Headers that proxies add, beside all that begin with `x-forwarded-`. */
const proxyHeaders = ['forwarded', 'via', 'x-real-ip', 'x-client-ip', 'true-client-ip', 'cf-connecting-ip'];

function isLocal({ ip, headers }: RequestHead): boolean {
  if (ip !== '::1' && !ip.startsWith('127.')) return false;
  return ![...headers.keys()].some((name) => name.startsWith('x-forwarded-') || proxyHeaders.includes(name));
}
