import type { Accept } from '../ingest/accept.ts';
import type { PageReader } from '../read/page.ts';
import type { Endpoint } from './access.ts';
import { auditHandler } from './routes/audit.ts';
import { type AuthParts, authEndpoints } from './routes/auth.ts';
import { healthRoute, type Readiness, readyRoute } from './routes/health.ts';
import { ingestHandler, type OrganizationLookup } from './routes/ingest.ts';
import { metricsRoute } from './routes/metrics.ts';
import { openapiRoute } from './routes/openapi.ts';

export interface EndpointParts {
  readonly accept: Accept;
  readonly organizationOf: OrganizationLookup;
  readonly readPage: PageReader;
  readonly auth: AuthParts;
  readonly readiness: Readiness;
  readonly bodyBytesMax: number;
  readonly metricsPublic: boolean;
}

/**
 * Every endpoint of the service, with who may use it; schema/openapi.yaml describes the same ones, and tests hold the
 * two together and try every credential on each.
 */
export function endpointTable(parts: EndpointParts): Endpoint[] {
  const audit = auditHandler(parts.readPage);
  const ingest = ingestHandler(parts.accept, parts.organizationOf);
  const body = { maxBytes: parts.bodyBytesMax };
  const at = '/api/v1/audit';
  return [
    { method: 'GET', path: at, name: 'audit', access: 'key', scope: 'read', rate: 'audit', handler: audit },
    {
      method: 'POST',
      path: at,
      name: 'ingest',
      access: 'key',
      scope: 'write',
      rate: 'ingest',
      handler: ingest,
      body,
    },
    ...authEndpoints(parts.auth),
    { method: 'GET', path: '/healthz', name: 'health', access: 'open', handler: healthRoute },
    { method: 'GET', path: '/readyz', name: 'ready', access: 'open', handler: readyRoute(parts.readiness) },
    {
      method: 'GET',
      path: '/metrics',
      name: 'metrics',
      access: 'open',
      handler: metricsRoute(parts.metricsPublic),
    },
    { method: 'GET', path: '/openapi.json', name: 'openapi', access: 'open', handler: openapiRoute() },
  ];
}
