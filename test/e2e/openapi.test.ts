import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { problemTable } from '../../src/base/errors/problem.ts';
import type { EndpointDeps } from '../../src/http/deps.ts';
import { endpointTable } from '../../src/http/routes.ts';
import { call, eventually, type HttpAnswer, problemOf } from '../support/http.ts';
import { at, conformance, type Conformance, type OpenApiDocument } from '../support/openapi.ts';
import {
  createKey,
  createTenant,
  sourceEvent,
  startServer,
  type Tenant,
  type TestServer,
} from '../support/server.ts';
import { createUser, jsonOf, login, password, signIn, type SignedIn } from './session-support.ts';

let server: TestServer;
let tenant: Tenant;
let document: OpenApiDocument;
let conform: Conformance;

before(async () => {
  const env = {
    MAX_BODY_BYTES: '2000000',
    RATE_LIMIT_TENANT: '1000/60s',
    RATE_LIMIT_LOGIN: '20/60s',
    EVIDENCE_INTERVAL: '100ms',
  };
  server = await startServer({ env });
  tenant = await createTenant(server, 'openapi');
  const answer = await call(`${server.url}/openapi.json`);
  assert.equal(answer.status, 200);
  assert.match(String(answer.headers['content-type']), /^application\/json\b/);
  document = JSON.parse(answer.text) as OpenApiDocument;
  conform = conformance(document);
});
after(() => server?.stop());

/** Calls `visit` with every object of a JSON value and the path to it. */
function walk(
  value: unknown,
  visit: (object: Record<string, unknown>, path: string) => void,
  path = '#',
): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) visit(value as Record<string, unknown>, path);
  for (const [key, inner] of Object.entries(value))
    walk(inner, visit, `${path}/${key.replaceAll('/', '~1')}`);
}

test('every endpoint is in it, with every parameter of the contract', () => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  const deps = { read: {}, readiness: {}, ingest: {}, config: {} } as unknown as EndpointDeps;
  const served = endpointTable(deps).map(
    ({ method, path }) => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)\+?/g, '{$1}')}`,
  );
  assert.deepEqual(operations.sort(), served.sort());
  const parameters = (document.paths['/api/v1/audit']?.['get']?.parameters ?? []).map((parameter) => {
    const reference = (parameter as { $ref?: string }).$ref;
    return ((reference === undefined ? parameter : at(document, reference)) as { name: string }).name;
  });
  for (const name of [
    'startTime',
    'endTime',
    'actor',
    'fileName',
    'flowId',
    'limit',
    'offset',
    'userId',
    'fileHash',
    'orgId',
  ]) {
    assert.ok(parameters.includes(name), name);
  }
});

test('every operation names its credential and the three rate-limit headers on success, or has neither', () => {
  const open = [
    'logIn',
    'usePasswordLink',
    'readSignOnOptions',
    'beginSignOn',
    'finishSignOn',
    'isAlive',
    'isReady',
    'readMetrics',
    'readOpenApi',
    'readOcsfSchema',
    'readPage',
    'readPageFile',
  ];
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const {
        operationId,
        responses,
        security = [],
      } = operation as typeof operation & {
        security?: readonly Record<string, unknown>[];
      };
      const schemes = security.flatMap((one) => Object.keys(one));
      const isOtlp = path === '/v1/logs';
      const isScim = path.startsWith('/scim/');
      const expected =
        path.startsWith('/api/v1/audit') || isOtlp || isScim
          ? ['apiKey', 'bearer']
          : open.includes(operationId)
            ? []
            : ['session'];
      assert.deepEqual(schemes, expected, operationId);
      const ok = Object.keys(responses).find((status) => /^[23]/.test(status)) ?? '';
      const headers = Object.keys(responses[ok]?.headers ?? {});
      const limited = headers.filter((name) => name.startsWith('RateLimit-')).length;
      assert.equal(limited, path.startsWith('/api/') || isOtlp || isScim ? 3 : 0, `${method} ${path}`);
      if (!path.startsWith('/api/') && !isOtlp && !isScim) continue;
      const statuses = Object.keys(responses);
      for (const status of operationId === 'readSignOnOptions' ? ['429'] : ['401', '429'])
        assert.ok(statuses.includes(status), `${method} ${path}: ${status}`);
      if (method !== 'get')
        assert.ok(statuses.includes('415') && statuses.includes('503'), `${method} ${path}`);
    }
  }
  for (const scheme of ['apiKey', 'session'])
    assert.ok(document.components['securitySchemes']?.[scheme], scheme);
  const session = document.components['securitySchemes']?.['session'];
  assert.deepEqual(
    [(session as { in: string }).in, (session as { name: string }).name],
    ['cookie', 'service'],
  );
});

test('every error of the service is in it, in the same words', () => {
  const documented = new Map<number, Set<string>>();
  walk(document.components['responses'], (object) => {
    const example = (object['example'] ?? object['value']) as { status?: number; title?: string } | undefined;
    if (typeof example?.status !== 'number') return;
    const titles = documented.get(example.status) ?? new Set();
    documented.set(example.status, titles.add(String(example.title)));
  });
  for (const [code, { status, title }] of Object.entries(problemTable)) {
    assert.ok(documented.get(status)?.has(title), `${code}: ${status} ${title} is not in the document`);
  }
});

test('types fit what is sent: integers, open objects, a body for every media type, no definitions inside', () => {
  const schemas = document.components['schemas'] as Record<string, Record<string, unknown>>;
  const parameters = document.components['parameters'] as Record<string, { schema: { type: string } }>;
  for (const name of ['limit', 'offset', 'rowLimit', 'topLimit'])
    assert.equal(parameters[name]?.schema.type, 'integer', name);
  const open = [
    at(document, '#/components/schemas/AuditEvent/properties/extra_map'),
    at(document, '#/components/schemas/SourceEvent/properties/message/properties/extra'),
    at(document, '#/components/schemas/StoredEvent/properties/message/properties/extra'),
  ];
  for (const schema of open)
    assert.equal((schema as { additionalProperties?: unknown }).additionalProperties, true);
  for (const [name, schema] of Object.entries(schemas)) assert.ok(!('$defs' in schema), name);
  walk(document.paths, (object, path) => {
    if (!path.endsWith('/content')) return;
    for (const [type, media] of Object.entries(object))
      assert.ok((media as { schema?: object }).schema, `${path} ${type}`);
  });
  const ingest = document.paths['/api/v1/audit']?.['post'];
  assert.ok(ingest !== undefined && !('409' in ingest.responses), 'nothing answers 409 to events');
});

test('live answers are as it says', async () => {
  const path = '/api/v1/audit';
  const flow = randomUUID();
  const full = {
    level: 'WARN',
    msg: 'said',
    message: {
      timestamp: '2024-05-06T07:08:09.123456Z',
      actor: { id: 'u', name: 'n', email: 'e@x.example', type: 'User' },
      action: { code: 2001, title: 't' },
      target: { name: 'x' },
      result: { title: 't', description: 'd', code: 500, detail: 'why' },
      remote: { ip: '::1', port: 1 },
      sender: { file: 'f' },
      extra: { a: 1, b: [null, { c: 'x' }], d: 'text' },
      flow_id: flow,
      log: { provider: 'p', version: 'v' },
    },
  };
  await tenant.record([full, sourceEvent({ flow_id: flow }), sourceEvent({ flow_id: flow, action: 9999 })]);
  await tenant.settled(3, { flowId: flow });
  const reader = await createKey(server, ['--org', 'openapi', '--scopes', 'read']);
  const otlp = (body: object, headers = {}) =>
    call(`${server.url}/v1/logs`, {
      method: 'POST',
      headers: { 'x-api-key': tenant.key, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const checks: readonly (readonly [
    method: string,
    path: string,
    status: number,
    answer: Promise<HttpAnswer>,
  ])[] = [
    ['GET', path, 200, tenant.get({ flowId: flow })],
    ['GET', path, 200, tenant.get('actor=nobody')],
    ['GET', path, 200, tenant.get('limit=0&offset=x')],
    ['GET', path, 401, call(`${server.url}${path}`)],
    ['POST', path, 202, tenant.post([sourceEvent()])],
    ['POST', path, 202, tenant.post([sourceEvent(), {}])],
    ['POST', path, 400, tenant.post('[{}]')],
    ['POST', path, 400, tenant.post('{')],
    ['POST', path, 401, call(`${server.url}${path}`, { method: 'POST', body: '{}' })],
    ['POST', path, 403, tenant.with({ key: reader.key }).post([sourceEvent()])],
    ['POST', path, 413, tenant.post(' '.repeat(2_000_001))],
    ['POST', path, 415, tenant.post('x', { 'content-type': 'text/css' })],
    ['POST', '/v1/logs', 200, otlp({ resourceLogs: [] })],
    ['POST', '/v1/logs', 200, otlp({ resourceLogs: [{ scopeLogs: [{ logRecords: [{}] }] }] })],
    ['POST', '/v1/logs', 400, otlp([])],
    ['POST', '/v1/logs', 401, call(`${server.url}/v1/logs`, { method: 'POST', body: '{}' })],
    ['POST', '/v1/logs', 415, otlp({}, { 'content-type': 'text/css' })],
    ['GET', '/healthz', 200, call(`${server.url}/healthz`)],
    ['GET', '/readyz', 200, call(`${server.url}/readyz`)],
    ['GET', '/metrics', 200, call(`${server.url}/metrics`)],
    ['GET', '/openapi.json', 200, call(`${server.url}/openapi.json`)],
    ['GET', '/ocsf-event.schema.json', 200, call(`${server.url}/ocsf-event.schema.json`)],
    ['GET', '/healthz', 405, call(`${server.url}/healthz`, { method: 'PUT' })],
    ['GET', '/healthz', 404, call(`${server.url}/nothing`)],
  ];
  for (const [method, template, status, pending] of checks) {
    const answer = await pending;
    assert.equal(answer.status, status, `${method} ${template}: ${answer.text.slice(0, 200)}`);
    conform.check(method, template, answer);
  }
  const headers = { 'idempotency-key': randomUUID() };
  conform.check('POST', path, await tenant.post([sourceEvent()], headers));
  const reused = await tenant.post([sourceEvent({ action: 7 })], headers);
  assert.equal(reused.status, 422);
  conform.check('POST', path, reused);
});

/** As `conform.check`, also for the answers that have no body. */
function checkAnswer(method: string, path: string, answer: HttpAnswer): void {
  if (answer.status !== 204) return conform.check(method, path, answer);
  const response = conform.responseOf(method, path, 204);
  assert.equal(response.content, undefined, `${method} ${path}: 204 with a body`);
  assert.equal(answer.raw.length, 0);
  for (const [name, { $ref }] of Object.entries(response.headers ?? {})) {
    const { required } = at(document, $ref ?? '') as { required?: boolean };
    if (required) assert.ok(answer.headers[name.toLowerCase()] !== undefined, `${method} ${path}: ${name}`);
  }
}

const portal = '/api/v1/portal';
type Check = readonly [method: string, path: string, status: number, answer: HttpAnswer];

/** Holds answers against the document; each must also count down the limit. */
function checkAll(checks: readonly Check[]): void {
  for (const [method, path, status, answer] of checks) {
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text.slice(0, 200)}`);
    checkAnswer(method, path, answer);
    assert.ok(answer.headers['ratelimit-remaining'] !== undefined, `${method} ${path} ${status}: no limit`);
  }
}

test('live answers to people are as it says', async () => {
  await createUser(server, 'openapi', 'admin', 'admin@openapi.example');
  const admin = await signIn(server, 'admin@openapi.example');
  await createUser(server, 'openapi', 'member', 'member@openapi.example');
  const member = await signIn(server, 'member@openapi.example');
  const flow = randomUUID();
  const more = {
    flow_id: flow,
    actor: { email: 'member@openapi.example', name: 'M' },
    sender: { file: 'f' },
  };
  await tenant.record([
    sourceEvent({ ...more, action: 2000, extra: { destination: 'd' } }),
    sourceEvent({ ...more, action: 2001, extra: { fileSize: 12.5 } }),
    sourceEvent({ action: 2020, actor: 'member@openapi.example' }),
  ]);
  await tenant.caughtUp();
  const path = '/api/v1/dashboard/organization/get-events-in-org';
  const checks: Check[] = [
    ['GET', path, 200, await admin.get(path)],
    ['GET', path, 401, await call(`${server.url}${path}`)],
    ['GET', path, 403, await member.get(path)],
    ['GET', `${portal}/receipts`, 200, await member.get(`${portal}/receipts`)],
    ['GET', `${portal}/receipts`, 200, await admin.get(`${portal}/receipts`)],
    ['GET', `${portal}/events`, 200, await admin.get(`${portal}/events`)],
    ['GET', `${portal}/events`, 200, await admin.get(`${portal}/events?limit=1&actor=nobody`)],
    ['GET', `${portal}/histogram`, 200, await admin.get(`${portal}/histogram`)],
    ['GET', `${portal}/histogram`, 200, await admin.get(`${portal}/histogram?actor=nobody`)],
    ['GET', `${portal}/top-values`, 200, await admin.get(`${portal}/top-values`)],
    ['GET', `${portal}/top-values`, 200, await admin.get(`${portal}/top-values?limit=1000`)],
    ['GET', `${portal}/top-values`, 403, await member.get(`${portal}/top-values`)],
    ['GET', `${portal}/whoami`, 200, await member.get(`${portal}/whoami`)],
    ['GET', '/api/v1/auth/token', 200, await member.get('/api/v1/auth/token')],
    ['GET', `${portal}/settings`, 200, await admin.get(`${portal}/settings`)],
    ['GET', `${portal}/api-keys`, 200, await admin.get(`${portal}/api-keys`)],
    ['GET', `${portal}/users`, 200, await admin.get(`${portal}/users`)],
    ['GET', `${portal}/users`, 403, await member.get(`${portal}/users`)],
    ...(await evidence(admin)),
  ];
  checkAll(checks);
  // The transfers above and the login are in them, so that the answers say something.
  for (const answer of [checks[0], checks[3], checks[5], checks[7], checks[9]])
    assert.ok((answer?.[3].text.length ?? 0) > 150, answer?.[1]);
  await changes(admin);
  await logins(admin, member);
});

/** Waits for a checkpoint, and asks for all that leads to it. */
async function evidence(admin: SignedIn): Promise<Check[]> {
  const get = (what: string) => admin.get(`${portal}/evidence/${what}`);
  const checkpoint = await eventually('a checkpoint', async () => {
    const answer = await get('checkpoint');
    return answer.status === 200 ? answer : undefined;
  });
  const check = async (path: string, status: number, query = ''): Promise<Check> => [
    'GET',
    `${portal}/evidence/${path}`,
    status,
    await get(`${path === 'tile/{path}' ? 'tile/' : path}${query}`),
  ];
  const organization = checkpoint.text.split('\n')[0]?.split('/')[1] ?? '';
  const { seq } = JSON.parse((await get('proof?position=0')).text) as { seq: string };
  return [
    ['GET', `${portal}/evidence/checkpoint`, 200, checkpoint],
    await check('checkpoint', 404, '?size=99999999'),
    await check('checkpoint', 400, '?size=-1'),
    await check('key', 200),
    await check('tile/{path}', 200, 'entries/000.p/1'),
    await check('tile/{path}', 404, '0/001'),
    await check('proof', 200, '?position=0'),
    await check('proof', 200, `?uid=${organization}-${seq}`),
    await check('proof', 400, `?uid=${seq}`),
    await check('proof', 200, '?older=1'),
    await check('proof', 400),
    await check('proof', 404, '?seq=1'),
  ];
}

/** Every changing endpoint, done and refused. */
async function changes(admin: SignedIn): Promise<void> {
  const post = (path: string, body: unknown = {}) => admin.send('POST', path, body);
  const keys = `${portal}/api-keys`;
  const users = `${portal}/users`;
  const newKey = { scopes: ['read', 'write'], name: 'k', expires: '90d', rate_limit: '300/15s' };
  const newUser = { email: 'new@openapi.example', name: 'New', role: 'auditor', password };
  for (const [schema, body] of [
    ['NewApiKey', newKey],
    ['NewUser', newUser],
  ] as const) {
    assert.deepEqual(conform.errorsOf(`#/components/schemas/${schema}`, body), []);
  }
  const key = await post(keys, newKey);
  const user = await post(users, newUser);
  const [keyId, userId] = [key, user].map((answer) => String(jsonOf(answer, 201)['id']));
  const rotate = (body: unknown) => post(`${keys}/${keyId}/rotate`, body);
  const revoke = (id = keyId) => post(`${keys}/${id}/revoke`);
  const [settings, adminId] = [
    `${portal}/settings`,
    jsonOf(await admin.get(`${portal}/whoami`))['user'] as { id: string },
  ];
  const patch = (body: unknown) => admin.send('PATCH', settings, body);
  const refused = await patch({ retention: '90d' });
  const confirm_removal = problemOf(refused, 409)['would_remove'];
  checkAll([
    ['POST', keys, 201, key],
    ['POST', keys, 400, await post(keys, { scopes: [] })],
    ['POST', keys, 415, await admin.send('POST', keys, '{}', { 'content-type': 'text/plain' })],
    ['POST', keys, 413, await post(keys, { name: 'x'.repeat(70_000) })],
    ['POST', keys, 403, await admin.send('POST', keys, newKey, { origin: 'http://evil.example' })],
    ['POST', `${keys}/{id}/rotate`, 200, await rotate({ grace: '1h' })],
    ['POST', `${keys}/{id}/rotate`, 400, await rotate({ grace: 'soon' })],
    ['GET', keys, 200, await admin.get(keys)],
    ['POST', `${keys}/{id}/revoke`, 200, await revoke()],
    ['POST', `${keys}/{id}/revoke`, 404, await revoke('0123456789abcdef')],
    ['POST', `${keys}/{id}/rotate`, 409, await rotate({})],
    ['GET', keys, 200, await admin.get(keys)],
    ['POST', users, 201, user],
    ['POST', users, 409, await post(users, newUser)],
    ['POST', users, 400, await post(users, { ...newUser, role: 'king' })],
    ['POST', `${users}/{id}/password`, 204, await post(`${users}/${userId}/password`, { password })],
    ['POST', `${users}/{id}/password`, 400, await post(`${users}/${userId}/password`, { password: 'short' })],
    ['POST', `${users}/{id}/password`, 403, await post(`${users}/${adminId.id}/password`, { password })],
    ['POST', `${users}/{id}/disable`, 200, await post(`${users}/${userId}/disable`)],
    ['POST', `${users}/{id}/disable`, 404, await post(`${users}/${randomUUID()}/disable`)],
    ['POST', `${users}/{id}/disable`, 409, await post(`${users}/${adminId.id}/disable`)],
    ['GET', users, 200, await admin.get(users)],
    ['PATCH', settings, 409, refused],
    ['PATCH', settings, 200, await patch({ receipts: 'off', retention: '90d', confirm_removal })],
    ['GET', `${portal}/receipts`, 403, await admin.get(`${portal}/receipts`)],
    ['GET', `${portal}/whoami`, 200, await admin.get(`${portal}/whoami`)],
    ['PATCH', settings, 400, await patch({})],
  ]);
}

/** Logins up to the limit, and what ends sessions. */
async function logins(admin: SignedIn, member: SignedIn): Promise<void> {
  const path = '/api/v1/auth/login-handler';
  const email = 'admin@openapi.example';
  const own = `${portal}/password`;
  const next = 'another horse battery staple';
  checkAll([
    ['POST', path, 200, await login(server, { email, password, organization: 'openapi' })],
    ['POST', path, 401, await login(server, { email, password: 'x' })],
    ['POST', path, 400, await login(server, '{')],
    ['POST', path, 415, await login(server, '{}', { 'content-type': 'text/plain' })],
    ['POST', own, 403, await member.send('POST', own, { current: 'x', new: next })],
    ['POST', own, 204, await member.send('POST', own, { current: password, new: next })],
    ['POST', own, 401, await member.send('POST', own, { current: password, new: next })],
    ['POST', '/api/v1/auth/logout', 204, await admin.send('POST', '/api/v1/auth/logout')],
    ['POST', '/api/v1/auth/logout', 401, await admin.send('POST', '/api/v1/auth/logout')],
  ]);
  const refused = await eventually('the limit of logins', async () => {
    const answer = await login(server, '{');
    return answer.status === 429 ? answer : undefined;
  });
  checkAll([['POST', path, 429, refused]]);
}
