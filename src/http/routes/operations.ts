import { Problem } from '../../base/errors/problem.ts';
import { limits } from '../../base/limits.ts';
import { askedGauge, metricsContentType, renderMetrics } from '../../base/observability/metrics.ts';
import { ocsfEventSchema, openApiDocument } from '../../contract/document.ts';
import type { EndpointDeps, HttpDeps } from '../deps.ts';
import type { RequestHead } from '../request.ts';
import { jsonLine, jsonReply } from '../response.ts';
import type { Handler } from '../router.ts';

export const healthHandler: Handler = () => ({ status: 200, body: jsonLine('{"status":"ok"}') });

/** All at once: a balancer waits for the answer, and each question may wait for an engine that is silent. */
async function neededChecks(readiness: EndpointDeps['readiness']) {
  const [isReachable, takesWrites, takesControlData] = await Promise.all([
    readiness.engineReachable(),
    readiness.engineTakesWrites(),
    readiness.controlDataTakesWrites(),
  ]);
  return {
    engine_reachable: isReachable,
    engine_takes_writes: takesWrites,
    log_takes_writes: readiness.logFailure() === undefined,
    control_data_takes_writes: takesControlData,
  };
}

/** 503 if a check fails that requests need (contract: Operations). */
export function readyHandler(readiness: EndpointDeps['readiness']): Handler {
  return async () => {
    const needed = await neededChecks(readiness);
    const known = readiness.damage();
    const limitsShared = readiness.limitsShared();
    const reported = {
      nothing_damaged: known.length === 0,
      ...(limitsShared !== undefined && { limits_shared: limitsShared }),
    };
    const members = {
      checks: { ...needed, ...reported },
      ...(known.length > 0 && { damage: known.slice(0, limits.damageShownMax) }),
    };
    if (Object.values(needed).every(Boolean))
      return jsonReply(200, 'Readiness', { status: 'ready', ...members });
    throw new Problem('unavailable', 'The service is not ready.', { retryAfterSeconds: 1, members });
  };
}

/** Behind a proxy every request comes from the proxy, so with trusted proxies or their headers nothing counts as local. */
export function metricsHandler({
  config: { metricsPublic, trustProxy },
}: Pick<EndpointDeps, 'config'>): Handler {
  return async (context) => {
    if (!metricsPublic && !(trustProxy === 0 && isLocal(context.head)))
      throw new Problem('not_found', 'No resource has this path.');
    return { status: 200, headers: { 'Content-Type': metricsContentType }, body: await renderMetrics() };
  };
}

/** Beside all that begin with `x-forwarded-`. */
const proxyHeaders = ['forwarded', 'via', 'x-real-ip', 'x-client-ip', 'true-client-ip', 'cf-connecting-ip'];

function isLocal({ ip, headers }: RequestHead): boolean {
  if (ip !== '::1' && !ip.startsWith('127.')) return false;
  return ![...headers.keys()].some((name) => name.startsWith('x-forwarded-') || proxyHeaders.includes(name));
}

export function openapiHandler(): Handler {
  let body: string | undefined;
  return () => {
    body ??= jsonLine(JSON.stringify(openApiDocument()));
    return { status: 200, body };
  };
}

export function ocsfSchemaHandler(): Handler {
  let body: string | undefined;
  return () => {
    body ??= ocsfEventSchema();
    return { status: 200, body };
  };
}

export function showReadiness(readiness: HttpDeps['readiness']): void {
  const ready = {
    name: 'auditlog_ready',
    help: '1 while a check of /readyz is passed',
    labelNames: ['check'],
    ageName: 'auditlog_ready_age_seconds',
  } as const;
  const ask = () => neededChecks(readiness);
  askedGauge(ready, ask, (it, known) => {
    const checks = { ...known, log_takes_writes: readiness.logFailure() === undefined };
    for (const [check, isPassed] of Object.entries(checks)) it.set({ check }, isPassed ? 1 : 0);
  });
}
