import type { Accept } from '../ingest/accept.ts';
import type { Readers } from '../read/readers.ts';
import type { Endpoint } from './endpoint.ts';
import { type ApiKeyDeps, apiKeyEndpoints } from './routes/api-keys.ts';
import { auditHandler } from './routes/audit.ts';
import { feedHandler } from './routes/feed.ts';
import { type AuthDeps, authEndpoints } from './routes/auth.ts';
import { exportHandlers } from './routes/export.ts';
import { healthRoute, type Readiness, readyRoute } from './routes/health.ts';
import { histogramHandler } from './routes/histogram.ts';
import { ingestHandler, type OrganizationLookup } from './routes/ingest.ts';
import { metricsRoute } from './routes/metrics.ts';
import { openapiRoute } from './routes/openapi.ts';
import { organizationEventsHandler } from './routes/organization-events.ts';
import { portalEventsHandler } from './routes/portal-events.ts';
import { receiptsHandler } from './routes/receipts.ts';
import { type SettingsDeps, settingsEndpoints } from './routes/settings.ts';
import { topValuesHandler } from './routes/top-values.ts';
import { type UserDeps, userEndpoints } from './routes/users.ts';
import { whoamiEndpoints } from './routes/whoami.ts';

export type EndpointDeps = AuthDeps &
  ApiKeyDeps &
  UserDeps &
  SettingsDeps & {
    readonly accept: Accept;
    readonly organizationOf: OrganizationLookup;
    readonly read: Readers;
    readonly readiness: Readiness;
    readonly bodyBytesMax: number;
    readonly selfHosted: boolean;
    readonly metricsPublic: boolean;
    readonly trustProxy: number;
  };

/**
 * Every endpoint of the service, with who may use it; schema/openapi.yaml describes the same ones, and tests hold the
 * two together and try every credential on each.
 */
export function endpointTable(deps: EndpointDeps): Endpoint[] {
  return [
    ...keyEndpoints(deps),
    ...exportEndpoints(deps),
    ...authEndpoints(deps),
    ...tenantEndpoints(deps),
    ...operatorEndpoints(deps),
  ];
}

/** For programs, with an API key. */
function keyEndpoints({ read, accept, organizationOf, bodyBytesMax }: EndpointDeps): Endpoint[] {
  const audit = auditHandler(read.page, organizationOf);
  const ingest = ingestHandler(accept, organizationOf);
  const body = { maxBytes: bodyBytesMax };
  const at = '/api/v1/audit';
  return [
    { method: 'GET', path: at, name: 'audit', access: 'key', scope: 'read', rate: 'audit', handler: audit },
    {
      method: 'GET',
      path: `${at}/feed`,
      name: 'feed',
      access: 'key',
      scope: 'read',
      rate: 'audit',
      handler: feedHandler(read.feed, organizationOf),
    },
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
  ];
}

/** The whole log as a file, for either; both count against the same number of exports at once. */
function exportEndpoints(deps: EndpointDeps): Endpoint[] {
  const { byKey, bySession } = exportHandlers(deps);
  return [
    {
      method: 'GET',
      path: '/api/v1/audit/export',
      name: 'export',
      access: 'key',
      scope: 'read',
      rate: 'audit',
      handler: byKey,
    },
    {
      method: 'GET',
      path: '/api/v1/portal/export',
      name: 'portal-export',
      access: 'session',
      roles: ['admin', 'auditor'],
      handler: bySession,
    },
  ];
}

/** For people, with a session. */
function tenantEndpoints(deps: EndpointDeps): Endpoint[] {
  const { read } = deps;
  const everyone = ['admin', 'auditor', 'member'] as const;
  const readers = ['admin', 'auditor'] as const;
  const get = { method: 'GET', access: 'session' } as const;
  const portal = '/api/v1/portal';
  return [
    ...(deps.selfHosted
      ? []
      : [
          {
            ...get,
            path: '/api/v1/dashboard/organization/get-events-in-org',
            name: 'organization-events',
            roles: readers,
            handler: organizationEventsHandler(read.legacy),
          },
        ]),
    {
      ...get,
      path: `${portal}/receipts`,
      name: 'receipts',
      roles: everyone,
      handler: receiptsHandler(read.receipts),
    },
    {
      ...get,
      path: `${portal}/events`,
      name: 'portal-events',
      roles: readers,
      handler: portalEventsHandler(read.page),
    },
    {
      ...get,
      path: `${portal}/histogram`,
      name: 'histogram',
      roles: readers,
      handler: histogramHandler(read.histogram),
    },
    {
      ...get,
      path: `${portal}/top-values`,
      name: 'top-values',
      roles: readers,
      handler: topValuesHandler(read.topValues),
    },
    ...whoamiEndpoints(deps),
    ...settingsEndpoints(deps),
    ...apiKeyEndpoints(deps),
    ...userEndpoints(deps),
  ];
}

/** For operators and tools, without a credential. */
function operatorEndpoints({ readiness, metricsPublic, trustProxy }: EndpointDeps): Endpoint[] {
  const get = { method: 'GET', access: 'open' } as const;
  return [
    { ...get, head: true, path: '/healthz', name: 'health', handler: healthRoute },
    { ...get, head: true, path: '/readyz', name: 'ready', handler: readyRoute(readiness) },
    { ...get, path: '/metrics', name: 'metrics', handler: metricsRoute(metricsPublic, trustProxy) },
    { ...get, head: true, path: '/openapi.json', name: 'openapi', handler: openapiRoute() },
  ];
}
