import type { Role } from '../control/users.ts';
import type { EndpointDeps } from './deps.ts';
import type {
  Endpoint,
  EndpointOf,
  RateClass,
  ReadHandler,
  SessionHandler,
  SharedHandler,
  WriteHandler,
} from './endpoint.ts';
import { limits } from './limits.ts';
import type { Handler, Method } from './router.ts';
import {
  apiKeysHandler,
  createApiKeyHandler,
  revokeApiKeyHandler,
  rotateApiKeyHandler,
} from './routes/api-keys.ts';
import {
  auditHandler,
  feedHandler,
  histogramHandler,
  organizationEventsHandler,
  rowsHandler,
  sourceEventsHandler,
  topFilesHandler,
  topValuesHandler,
} from './routes/events.ts';
import { changeSettingsHandler, settingsHandler } from './routes/settings.ts';
import { changeUserHandler, createUserHandler, disableUserHandler, usersHandler } from './routes/users.ts';
import {
  evidenceCaseHandler,
  evidenceCheckpointHandler,
  evidenceKeyHandler,
  evidenceProofHandler,
  evidenceTileHandler,
} from './routes/evidence.ts';
import { exportHandler } from './routes/export.ts';
import {
  healthHandler,
  metricsHandler,
  ocsfSchemaHandler,
  openapiHandler,
  readyHandler,
} from './routes/operations.ts';
import { ingestHandler } from './routes/ingest.ts';
import { loginHandler } from './routes/login.ts';
import { logoutHandler, tokenHandler, whoamiHandler } from './routes/session.ts';
import {
  makePasswordLinkHandler,
  ownPasswordHandler,
  setPasswordHandler,
  usePasswordLinkHandler,
} from './routes/passwords.ts';
import { otlpLogsHandler, otlpStatus } from './routes/otlp-logs.ts';
import { pageFileHandler, pageHandler } from './routes/page.ts';
import { receiptsHandler } from './routes/receipts.ts';
import {
  scimConfigHandler,
  scimSchemaHandler,
  scimSchemasHandler,
  scimTypeHandler,
  scimTypesHandler,
} from './routes/scim-about.ts';
import {
  scimCreateHandler,
  scimDeleteHandler,
  scimListHandler,
  scimPatchHandler,
  scimReadHandler,
  scimReplaceHandler,
} from './routes/scim-users.ts';
import { signOnCallbackHandler } from './routes/sign-on-callback.ts';
import { signOnForm, signOnHandler, signOnOptionsHandler } from './routes/sign-on.ts';
import { scimError } from './scim/answers.ts';

const everyone = ['admin', 'auditor', 'member'] as const;
const readers = ['admin', 'auditor'] as const;
const admins = ['admin'] as const;

/**
 * Every endpoint with its access rule. Tests compare it with schema/openapi.yaml and try every credential on
 * each.
 */
export function endpointTable(deps: EndpointDeps): Endpoint[] {
  const { config, ingest, read } = deps;
  const endpoints: Endpoint[] = [
    // For programs, with an API key.
    keyRead('/api/v1/audit', 'audit', auditHandler(read.page)),
    keyRead('/api/v1/audit/feed', 'feed', feedHandler(read.feed)),
    keyRead('/api/v1/audit/export', 'export', exportHandler(deps)),
    ...countEndpoints(deps),
    ...evidenceEndpoints(deps),
    keyWrite('/api/v1/audit', 'ingest', ingestHandler(ingest.accept, config.mappings), config.maxBodyBytes),
    {
      ...keyWrite('/v1/logs', 'otlp logs', otlpLogsHandler(ingest.accept), config.maxBodyBytes),
      problemForm: otlpStatus,
    },

    // For people, with a session.
    login('/api/v1/auth/login-handler', 'login', loginHandler(deps)),
    login('/api/v1/auth/password', 'use password link', usePasswordLinkHandler(deps)),
    ...signOnEndpoints(deps),
    session('GET', '/api/v1/auth/token', 'token', everyone, tokenHandler),
    { ...session('POST', '/api/v1/auth/logout', 'logout', everyone, logoutHandler(deps)), changes: true },
    session('GET', '/api/v1/portal/whoami', 'whoami', everyone, whoamiHandler(deps)),
    session('GET', '/api/v1/portal/receipts', 'receipts', everyone, receiptsHandler(read.receipts)),
    session('GET', '/api/v1/portal/events', 'portal-events', readers, auditHandler(read.page)),
    session('GET', '/api/v1/portal/rows', 'rows', readers, rowsHandler(read.rows)),
    session('GET', '/api/v1/portal/feed', 'portal-feed', readers, feedHandler(read.feed)),
    session(
      'GET',
      '/api/v1/portal/source-events',
      'source-events',
      readers,
      sourceEventsHandler(read.sourceEvents),
    ),
    session('GET', '/api/v1/portal/export', 'portal-export', readers, exportHandler(deps)),
    session(
      'GET',
      '/api/v1/dashboard/organization/get-events-in-org',
      'organization-events',
      readers,
      organizationEventsHandler(read.legacy),
    ),

    ...scimEndpoints(deps),
    ...adminEndpoints(deps),
    ...openEndpoints(deps),
  ];
  const isSelfHosted = config.deployment === 'self-hosted';
  return isSelfHosted ? endpoints.filter(({ name }) => name !== 'organization-events') : endpoints;
}

function signOnEndpoints(deps: EndpointDeps): Endpoint[] {
  const callback = '/api/v1/auth/sign-on/callback/:provider';
  return [
    visitor('/api/v1/auth/sign-on-options', 'sign-on options', 'tenant', signOnOptionsHandler(deps)),
    { ...visitor('/api/v1/auth/sign-on', 'sign-on', 'tenant', signOnHandler(deps)), problemForm: signOnForm },
    {
      ...visitor(callback, 'sign-on callback', 'login', signOnCallbackHandler(deps)),
      problemForm: signOnForm,
    },
  ];
}

/** RFC 7644. */
function scimEndpoints(deps: EndpointDeps): Endpoint[] {
  const user = '/scim/v2/Users/:id';
  return [
    scim('GET', '/scim/v2/Users', 'scim users', scimListHandler(deps)),
    scim('POST', '/scim/v2/Users', 'scim create', scimCreateHandler(deps)),
    scim('GET', user, 'scim user', scimReadHandler(deps)),
    scim('PUT', user, 'scim replace', scimReplaceHandler(deps)),
    scim('PATCH', user, 'scim patch', scimPatchHandler(deps)),
    scim('DELETE', user, 'scim delete', scimDeleteHandler(deps)),
    scim('GET', '/scim/v2/ServiceProviderConfig', 'scim config', scimConfigHandler),
    scim('GET', '/scim/v2/ResourceTypes', 'scim types', scimTypesHandler),
    scim('GET', '/scim/v2/ResourceTypes/:name', 'scim type', scimTypeHandler),
    scim('GET', '/scim/v2/Schemas', 'scim schemas', scimSchemasHandler),
    scim('GET', '/scim/v2/Schemas/:id', 'scim schema', scimSchemaHandler),
  ];
}

function evidenceEndpoints(deps: EndpointDeps): Endpoint[] {
  const handlers: readonly (readonly [path: string, name: string, handler: SharedHandler])[] = [
    ['checkpoint', 'evidence-checkpoint', evidenceCheckpointHandler(deps)],
    ['tile/:path+', 'evidence-tile', evidenceTileHandler(deps)],
    ['key', 'evidence-key', evidenceKeyHandler(deps)],
    ['proof', 'evidence-proof', evidenceProofHandler(deps)],
    ['case', 'evidence-case', evidenceCaseHandler(deps)],
  ];
  return handlers.flatMap(([path, name, handler]) => [
    keyRead(`/api/v1/audit/evidence/${path}`, name, handler),
    session('GET', `/api/v1/portal/evidence/${path}`, `portal-${name}`, readers, handler),
  ]);
}

function countEndpoints({ read }: EndpointDeps): Endpoint[] {
  const handlers: readonly (readonly [name: string, handler: SharedHandler])[] = [
    ['histogram', histogramHandler(read.histogram)],
    ['top-values', topValuesHandler(read.topValues)],
    ['top-files', topFilesHandler(read.topFiles)],
  ];
  return handlers.flatMap(([name, handler]) => [
    keyRead(`/api/v1/audit/${name}`, `audit-${name}`, handler),
    session('GET', `/api/v1/portal/${name}`, name, readers, handler),
  ]);
}

function adminEndpoints(deps: EndpointDeps): Endpoint[] {
  const secret = (path: string, name: string, handler: SessionHandler): Endpoint => ({
    ...change('POST', path, name, admins, handler),
    makesSecret: true,
  });
  return [
    session('GET', '/api/v1/portal/settings', 'settings', admins, settingsHandler(deps)),
    change('PATCH', '/api/v1/portal/settings', 'change settings', admins, changeSettingsHandler(deps)),
    session('GET', '/api/v1/portal/api-keys', 'api keys', admins, apiKeysHandler(deps)),
    secret('/api/v1/portal/api-keys', 'create api key', createApiKeyHandler(deps)),
    secret('/api/v1/portal/api-keys/:id/rotate', 'rotate api key', rotateApiKeyHandler(deps)),
    change('POST', '/api/v1/portal/api-keys/:id/revoke', 'revoke api key', admins, revokeApiKeyHandler(deps)),
    session('GET', '/api/v1/portal/users', 'users', admins, usersHandler(deps)),
    change('POST', '/api/v1/portal/users', 'create user', admins, createUserHandler(deps)),
    change('PATCH', '/api/v1/portal/users/:id', 'change user', admins, changeUserHandler(deps)),
    change('POST', '/api/v1/portal/users/:id/disable', 'disable user', admins, disableUserHandler(deps)),
    change('POST', '/api/v1/portal/users/:id/password', 'set password', admins, setPasswordHandler(deps)),
    secret('/api/v1/portal/users/:id/password-link', 'make password link', makePasswordLinkHandler(deps)),
    {
      ...change('POST', '/api/v1/portal/password', 'own password', everyone, ownPasswordHandler(deps)),
      checksPassword: true,
    },
  ];
}

function openEndpoints(deps: EndpointDeps): Endpoint[] {
  const { readiness, page } = deps;
  return [
    { ...open('/healthz', 'health', healthHandler), head: true },
    { ...open('/readyz', 'ready', readyHandler(readiness)), head: true },
    open('/metrics', 'metrics', metricsHandler(deps)),
    { ...open('/openapi.json', 'openapi', openapiHandler()), head: true },
    { ...open('/ocsf-event.schema.json', 'ocsf schema', ocsfSchemaHandler()), head: true },

    { ...open('/', 'page', pageHandler(page)), head: true },
    { ...open('/docs', 'docs', pageHandler(page)), head: true },
    { ...open('/assets/:file', 'page-file', pageFileHandler(page)), head: true },
  ];
}

const jsonBody = { maxBytes: limits.jsonBodyBytesMax };

function keyRead(path: string, name: string, handler: ReadHandler): Endpoint {
  return { method: 'GET', path, name, access: 'read key', rate: 'audit', handler };
}

function keyWrite(path: string, name: string, handler: WriteHandler, maxBytes: number): Endpoint {
  const body = { maxBytes };
  return { method: 'POST', path, name, access: 'write key', rate: 'ingest', handler, body };
}

function login(path: string, name: string, handler: Handler): Endpoint {
  return { method: 'POST', path, name, access: 'login', handler, body: jsonBody };
}

function scim(method: Method, path: string, name: string, handler: ReadHandler): Endpoint {
  const body = method === 'GET' ? {} : { body: jsonBody };
  return { method, path, name, access: 'scim key', rate: 'audit', handler, ...body, problemForm: scimError };
}

function visitor(path: string, name: string, rate: RateClass, handler: Handler): EndpointOf<'visitor'> {
  return { method: 'GET', path, name, access: 'visitor', rate, handler };
}

function session(
  method: Method,
  path: string,
  name: string,
  roles: readonly Role[],
  handler: SessionHandler,
): EndpointOf<'session'> {
  return { method, path, name, access: 'session', roles, handler };
}

function change(...parameters: Parameters<typeof session>): EndpointOf<'session'> {
  return { ...session(...parameters), changes: true, body: jsonBody };
}

function open(path: string, name: string, handler: Handler): EndpointOf<'open'> {
  return { method: 'GET', path, name, access: 'open', handler };
}
