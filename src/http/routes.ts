import type { Accept } from '../ingest/accept.ts';
import type { PageReader } from '../read/page.ts';
import type { KeyCheck } from './authenticate.ts';
import type { Route } from './router.ts';
import { auditRoute } from './routes/audit.ts';
import { healthRoute, type Readiness, readyRoute } from './routes/health.ts';
import { ingestRoute, type OrganizationLookup } from './routes/ingest.ts';
import { metricsRoute } from './routes/metrics.ts';
import { openapiRoute } from './routes/openapi.ts';

export interface RouteParts {
  readonly checkKey: KeyCheck;
  readonly accept: Accept;
  readonly organizationOf: OrganizationLookup;
  readonly readPage: PageReader;
  readonly readiness: Readiness;
  readonly bodyBytesMax: number;
  readonly metricsPublic: boolean;
}

/** Every endpoint of the service; schema/openapi.yaml describes the same ones, and a test holds the two together. */
export function routeTable(parts: RouteParts): Route[] {
  const { checkKey, bodyBytesMax } = parts;
  const ingest = ingestRoute(checkKey, parts.accept, parts.organizationOf);
  return [
    { method: 'GET', path: '/api/v1/audit', name: 'audit', handler: auditRoute(checkKey, parts.readPage) },
    {
      method: 'POST',
      path: '/api/v1/audit',
      name: 'ingest',
      handler: ingest,
      body: { maxBytes: bodyBytesMax },
    },
    { method: 'GET', path: '/healthz', name: 'health', handler: healthRoute },
    { method: 'GET', path: '/readyz', name: 'ready', handler: readyRoute(parts.readiness) },
    { method: 'GET', path: '/metrics', name: 'metrics', handler: metricsRoute(parts.metricsPublic) },
    { method: 'GET', path: '/openapi.json', name: 'openapi', handler: openapiRoute() },
  ];
}
