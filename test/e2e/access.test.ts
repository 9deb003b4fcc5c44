import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { call, eventually, type HttpAnswer, problemOf } from '../support/http.ts';
import { createKey, createTenant, sourceEvent, type Tenant, type SharedServer } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';
import { endpointNames } from './endpoint-names.ts';
import { createUser, jsonOf, password, signIn, type SignedIn } from './session-support.ts';

/**
 * Every endpoint with every credential. The endpoints are the service's own list, so a new one cannot be
 * forgotten; the expected statuses stand here.
 */

/** Part of everything of organization A; no answer to anybody else may have it. */
const marker = `marker${randomUUID().slice(0, 8)}`;
const flow = randomUUID();

interface World {
  readonly server: SharedServer;
  readonly a: Tenant;
  readonly b: Tenant;
  /** Ids in organization A. */
  readonly userId: string;
  readonly keyId: string;
}

let world: World;
let credentials: Map<string, Record<string, string>>;

/** Callers with a useful session or key. All others are strangers. */
const people = ['admin of A', 'auditor of A', 'member of A', 'admin of B'] as const;
const keys = [
  'key of A: read',
  'key of A: write',
  'key of A: both',
  'key of A: scim',
  'key of B',
  'key of all',
] as const;
const nobody = [
  'nothing',
  'garbage key',
  'expired key',
  'revoked key',
  'logged-out session',
  'session of a disabled user',
  'garbage cookie',
  'key in place of the cookie',
  'session in place of the key',
  'session under another name',
  'session as a bearer token',
] as const;
const ofA = new Set<string>([...people.slice(0, 3), ...keys.slice(0, 4)]);

interface Try {
  readonly path: string;
  /** A function makes a new body for each request. */
  readonly body?: unknown;
  /** Status for callers that are not refused; all others get 401. */
  readonly expected: Readonly<Record<string, number>>;
  /** Organization A must see its marker in the answer; otherwise the search proves nothing. */
  readonly shows?: true;
}

const sessions = (admin: number, auditor: number, member: number, adminB = admin) => ({
  'admin of A': admin,
  'auditor of A': auditor,
  'member of A': member,
  'admin of B': adminB,
});
const everyone = sessions(200, 200, 200);
const readers = sessions(200, 200, 403);
const admins = (status: number, adminB = status) => sessions(status, 403, 403, adminB);
const all = (status: number) =>
  Object.fromEntries([...people, ...keys, ...nobody].map((name) => [name, status]));
/** SCIM: all keys are known, and one may use it. */
const scimKey = (status: number) => ({
  ...Object.fromEntries(keys.map((name) => [name, 403])),
  'key of A: scim': status,
});
const readKeys = { 'key of A: read': 200, 'key of A: both': 200, 'key of B': 200 };

/** Without queries that name the marker: exported filters are in the caller's own self-audit. */
const unnamed = (path: string, now: World) =>
  lookups(path, now).filter(
    (one) => ![marker, flow, now.a.organization.id].some((name) => one.includes(name)),
  );

/** Every filter that could find the marker, and the other organization by name. */
function lookups(path: string, { a }: World): string[] {
  const queries = [
    '',
    `flowId=${flow}`,
    `actor=${marker}@a.example`,
    `fileName=${marker}.txt`,
    `userId=${marker}`,
    `fileHash=${marker}`,
    `orgId=${a.organization.id}`,
    'limit=1000',
  ];
  return queries.map((query) => (query === '' ? path : `${path}?${query}`));
}

const portal = '/api/v1/portal';
const event = (slug: string) => sourceEvent({ org: slug, flow_id: randomUUID() });
const unknownKey = '0123456789abcdef';

/** Counts of events. */
function counts(path: string, expected: Readonly<Record<string, number>>): typeof tries {
  const all = (what: string, shows?: true) => (now: World) =>
    lookups(`${path}/${what}`, now).map((one) => ({ path: one, expected, ...(shows && { shows }) }));
  return {
    [`GET ${path}/histogram`]: all('histogram'),
    [`GET ${path}/top-values`]: all('top-values', true),
    [`GET ${path}/top-files`]: all('top-files', true),
  };
}

/** Evidence; only a proof has parts of an event. */
function evidence(path: string, expected: Readonly<Record<string, number>>): typeof tries {
  const of = (what: string) => ({ path: `${path}/${what}`, expected });
  return {
    [`GET ${path}/checkpoint`]: () => [of('checkpoint')],
    [`GET ${path}/tile/:path+`]: () => [of('tile/0/000.p/1'), of('tile/entries/000.p/1')],
    [`GET ${path}/key`]: () => [of('key')],
    [`GET ${path}/proof`]: () => [of('proof?position=0'), of('proof?older=1')],
    [`GET ${path}/case`]: () => [of('case?endTime=2020-01-01T00:00:00Z')],
  };
}

/** Method and path as in the table of routes → what to try there. */
const tries: Readonly<Record<string, (now: World) => Try[]>> = {
  'GET /api/v1/audit': (now) =>
    lookups('/api/v1/audit', now).map((path) => ({ path, expected: readKeys, shows: true })),
  'GET /api/v1/audit/feed': (now) =>
    lookups('/api/v1/audit/feed', now).map((path) => ({ path, expected: readKeys, shows: true })),
  'GET /api/v1/audit/export': (now) =>
    unnamed('/api/v1/audit/export', now).map((path) => ({ path, expected: readKeys, shows: true })),
  ...counts('/api/v1/audit', readKeys),
  ...counts(portal, readers),
  ...evidence('/api/v1/audit/evidence', readKeys),
  ...evidence(`${portal}/evidence`, readers),
  'POST /v1/logs': () => [
    {
      path: '/v1/logs',
      body: { resourceLogs: [] },
      expected: {
        'key of A: read': 403,
        'key of A: scim': 403,
        'key of A: write': 200,
        'key of A: both': 200,
        'key of B': 200,
        'key of all': 200,
      },
    },
  ],
  'POST /api/v1/audit': ({ a }) => [
    {
      path: '/api/v1/audit',
      body: [event(a.organization.slug)],
      expected: {
        'key of A: read': 403,
        'key of A: scim': 403,
        'key of A: write': 202,
        'key of A: both': 202,
        // Another organization's event alone.
        'key of B': 400,
        'key of all': 202,
      },
    },
  ],
  ...Object.fromEntries(
    ['Users', 'ServiceProviderConfig', 'ResourceTypes', 'Schemas'].map((name) => [
      `GET /scim/v2/${name}`,
      () => [{ path: `/scim/v2/${name}`, expected: scimKey(200), ...(name === 'Users' && { shows: true }) }],
    ]),
  ),
  'GET /scim/v2/ResourceTypes/:name': () => [{ path: '/scim/v2/ResourceTypes/User', expected: scimKey(200) }],
  'GET /scim/v2/Schemas/:id': () => [
    { path: '/scim/v2/Schemas/urn:ietf:params:scim:schemas:core:2.0:User', expected: scimKey(200) },
  ],
  'POST /scim/v2/Users': () => [{ path: '/scim/v2/Users', body: {}, expected: scimKey(400) }],
  'GET /scim/v2/Users/:id': ({ userId }) => [
    { path: `/scim/v2/Users/${userId}`, expected: scimKey(200), shows: true },
  ],
  'PUT /scim/v2/Users/:id': ({ userId }) => [
    { path: `/scim/v2/Users/${userId}`, body: {}, expected: scimKey(400) },
  ],
  'PATCH /scim/v2/Users/:id': ({ userId }) => [
    { path: `/scim/v2/Users/${userId}`, body: {}, expected: scimKey(400) },
  ],
  'DELETE /scim/v2/Users/:id': () => [{ path: `/scim/v2/Users/${randomUUID()}`, expected: scimKey(404) }],
  'POST /api/v1/auth/login-handler': () => [
    { path: '/api/v1/auth/login-handler', body: {}, expected: all(400) },
    {
      path: '/api/v1/auth/login-handler',
      // A new account each, or they would delay each other.
      body: () => ({ email: `${randomUUID()}@a.example`, password: 'a wrong password' }),
      expected: all(401),
    },
  ],
  'POST /api/v1/auth/password': () => [
    { path: '/api/v1/auth/password', body: {}, expected: all(400) },
    { path: '/api/v1/auth/password', body: { token: 'none', new: password }, expected: all(401) },
  ],
  'GET /api/v1/auth/sign-on-options': () => [{ path: '/api/v1/auth/sign-on-options', expected: all(200) }],
  'GET /api/v1/auth/sign-on': () => [
    { path: '/api/v1/auth/sign-on?organization=nobody', expected: all(401) },
  ],
  'GET /api/v1/auth/sign-on/callback/:provider': () => [
    { path: '/api/v1/auth/sign-on/callback/_service?code=x&state=y', expected: all(401) },
  ],
  'GET /api/v1/auth/token': () => [{ path: '/api/v1/auth/token', expected: everyone }],
  // Without JSON, so that no session ends: 415 follows authentication.
  'POST /api/v1/auth/logout': () => [{ path: '/api/v1/auth/logout', expected: sessions(415, 415, 415) }],
  'GET /api/v1/dashboard/organization/get-events-in-org': () =>
    ['', '?limit=1000', '?startTime=2024-01-01T00:00:00Z'].map((query) => ({
      path: `/api/v1/dashboard/organization/get-events-in-org${query}`,
      expected: readers,
      shows: true,
    })),
  [`GET ${portal}/receipts`]: () => [{ path: `${portal}/receipts`, expected: everyone }],
  [`GET ${portal}/events`]: (now) =>
    lookups(`${portal}/events`, now).map((path) => ({ path, expected: readers, shows: true })),
  [`GET ${portal}/export`]: (now) =>
    unnamed(`${portal}/export`, now).map((path) => ({ path, expected: readers, shows: true })),
  [`GET ${portal}/feed`]: (now) =>
    lookups(`${portal}/feed`, now).map((path) => ({ path, expected: readers, shows: true })),
  [`GET ${portal}/rows`]: (now) =>
    lookups(`${portal}/rows`, now).map((path) => ({ path, expected: readers, shows: true })),
  [`GET ${portal}/source-events`]: (now) =>
    lookups(`${portal}/source-events`, now).map((path) => ({ path, expected: readers, shows: true })),
  [`GET ${portal}/whoami`]: () => [{ path: `${portal}/whoami`, expected: everyone, shows: true }],
  [`GET ${portal}/settings`]: () => [{ path: `${portal}/settings`, expected: admins(200), shows: true }],
  [`PATCH ${portal}/settings`]: () => [{ path: `${portal}/settings`, body: {}, expected: admins(400) }],
  [`GET ${portal}/api-keys`]: () => [{ path: `${portal}/api-keys`, expected: admins(200), shows: true }],
  [`POST ${portal}/api-keys`]: () => [
    { path: `${portal}/api-keys`, body: { scopes: [] }, expected: admins(400) },
    { path: `${portal}/api-keys`, body: { scopes: ['read'], name: 'by the test' }, expected: admins(201) },
  ],
  [`POST ${portal}/api-keys/:id/rotate`]: ({ keyId }) => [
    { path: `${portal}/api-keys/${keyId}/rotate`, body: {}, expected: admins(200, 404), shows: true },
  ],
  [`POST ${portal}/api-keys/:id/revoke`]: ({ keyId }) => [
    { path: `${portal}/api-keys/${keyId}/revoke`, body: {}, expected: admins(200, 404), shows: true },
    { path: `${portal}/api-keys/${unknownKey}/revoke`, body: {}, expected: admins(404) },
  ],
  [`GET ${portal}/users`]: () => [{ path: `${portal}/users`, expected: admins(200), shows: true }],
  [`POST ${portal}/users`]: () => [
    { path: `${portal}/users`, body: { email: 'x@x.example' }, expected: admins(400) },
    {
      path: `${portal}/users`,
      body: { email: 'new@x.example', name: 'New', role: 'member', password },
      expected: admins(201),
    },
  ],
  [`PATCH ${portal}/users/:id`]: ({ userId }) => [
    { path: `${portal}/users/${userId}`, body: { role: 'none' }, expected: admins(400) },
    {
      path: `${portal}/users/${userId}`,
      body: { role: 'auditor' },
      expected: admins(200, 404),
      shows: true,
    },
  ],
  [`POST ${portal}/users/:id/password-link`]: ({ userId }) => [
    { path: `${portal}/users/${userId}/password-link`, body: {}, expected: admins(201, 404) },
  ],
  [`POST ${portal}/users/:id/password`]: ({ userId }) => [
    {
      path: `${portal}/users/${userId}/password`,
      body: { password: 'another good password' },
      expected: admins(204, 404),
    },
  ],
  [`POST ${portal}/users/:id/disable`]: ({ userId }) => [
    { path: `${portal}/users/${userId}/disable`, body: {}, expected: admins(200, 404), shows: true },
    { path: `${portal}/users/${randomUUID()}/disable`, body: {}, expected: admins(404) },
  ],
  [`POST ${portal}/password`]: () => [
    { path: `${portal}/password`, body: {}, expected: sessions(400, 400, 400) },
    {
      path: `${portal}/password`,
      body: { current: 'not the right one', new: 'another good password' },
      expected: sessions(403, 403, 403),
    },
  ],
  'GET /healthz': () => [{ path: '/healthz', expected: all(200) }],
  'GET /readyz': () => [{ path: '/readyz', expected: all(200) }],
  'GET /metrics': () => [{ path: '/metrics', expected: all(200) }],
  'GET /openapi.json': () => [{ path: '/openapi.json', expected: all(200) }],
  'GET /ocsf-event.schema.json': () => [{ path: '/ocsf-event.schema.json', expected: all(200) }],
  // The same for all, with or without a built page; test/http/page.test.ts tests its content.
  'GET /': () => [{ path: '/', expected: all(existsSync('dist/web/index.html') ? 200 : 404) }],
  'GET /docs': () => [{ path: '/docs', expected: all(existsSync('dist/web/index.html') ? 200 : 404) }],
  'GET /assets/:file': () => [{ path: '/assets/none.js', expected: all(404) }],
};

async function addUser(admin: SignedIn, email: string, role: string): Promise<string> {
  const body = { email, name: `${role} ${marker}`, role, password };
  return String(jsonOf(await admin.send('POST', `${portal}/users`, body), 201)['id']);
}

before(async () => {
  const server = await sharedServer();
  const [a, b] = await Promise.all([createTenant(server, marker), createTenant(server, 'other')]);
  const [all] = await Promise.all([
    createKey(server, ['--all-organizations', '--scopes', 'write']),
    createUser(server, marker, 'admin', `admin-${marker}@a.example`),
    createUser(server, 'other', 'admin', 'admin@b.example'),
  ]);
  const [adminA, adminB] = await Promise.all([
    signIn(server, `admin-${marker}@a.example`),
    signIn(server, 'admin@b.example'),
  ]);
  for (const role of ['auditor', 'member'] as const) await addUser(adminA, `${role}@a.example`, role);
  const disabledId = await addUser(adminA, 'disabled@a.example', 'admin');
  const userId = await addUser(adminA, `victim-${marker}@a.example`, 'member');
  const newKey = async (scopes: readonly string[], more: object = {}) => {
    const body = { scopes, name: marker, ...more };
    return jsonOf(await adminA.send('POST', `${portal}/api-keys`, body), 201);
  };
  const both = ['read', 'write'];
  const expired = await newKey(both, { expires: '1s' });
  const revoked = await newKey(both);
  const [read, write, scim] = [await newKey(['read']), await newKey(['write']), await newKey(['scim'])];
  const keyId = String((await newKey(both))['id']);
  const [auditor, member, out, disabled] = await Promise.all([
    signIn(server, 'auditor@a.example'),
    signIn(server, 'member@a.example'),
    signIn(server, 'auditor@a.example'),
    signIn(server, 'disabled@a.example'),
  ]);
  for (const session of [out, disabled]) jsonOf(await session.get(`${portal}/whoami`));
  assert.equal((await out.send('POST', '/api/v1/auth/logout')).status, 204);
  jsonOf(await adminA.send('POST', `${portal}/users/${disabledId}/disable`));
  jsonOf(await adminA.send('POST', `${portal}/api-keys/${String(revoked['id'])}/revoke`));
  await a.record([
    sourceEvent({
      flow_id: flow,
      actor: { id: marker, name: marker, email: `${marker}@a.example` },
      action: { code: 2001, title: marker },
      target: { name: `${marker}.txt` },
      sender: { file: `${marker}.txt`, hash: marker },
      extra: { marker },
    }),
  ]);
  await a.settled(1, { flowId: flow });
  await eventually('the event to be in the feed', async () => {
    const headers = { 'x-api-key': a.key };
    const { text } = await call(`${server.url}/api/v1/audit/feed?flowId=${flow}`, { headers });
    return text.includes(flow) ? true : undefined;
  });

  for (const { key } of [a, b])
    await eventually('a checkpoint', async () => {
      const headers = { 'x-api-key': key };
      const { status } = await call(`${server.url}/api/v1/audit/evidence/checkpoint`, { headers });
      return status === 200 ? true : undefined;
    });
  await eventually('a key to expire', async () =>
    Date.now() > Date.parse(String(expired['expires_at'])) ? true : undefined,
  );
  world = { server, a, b, userId, keyId };
  const key = (text: unknown) => ({ 'x-api-key': String(text) });
  credentials = new Map<string, Record<string, string>>([
    ['admin of A', { cookie: adminA.cookie }],
    ['auditor of A', { cookie: auditor.cookie }],
    ['member of A', { cookie: member.cookie }],
    ['admin of B', { cookie: adminB.cookie }],
    ['key of A: read', key(read['key'])],
    ['key of A: write', key(write['key'])],
    ['key of A: both', key(a.key)],
    ['key of A: scim', key(scim['key'])],
    ['key of B', key(b.key)],
    ['key of all', key(all.key)],
    ['nothing', {}],
    ['garbage key', key(`ak_${unknownKey}_${'x'.repeat(43)}`)],
    ['expired key', key(expired['key'])],
    ['revoked key', key(revoked['key'])],
    ['logged-out session', { cookie: out.cookie }],
    ['session of a disabled user', { cookie: disabled.cookie }],
    ['garbage cookie', { cookie: 'service=eyJhbGciOiJub25lIn0.e30.' }],
    ['key in place of the cookie', { cookie: `service=${a.key}` }],
    ['session in place of the key', key(adminA.token)],
    ['session under another name', { cookie: `session=${adminA.token}; Service=${adminA.token}` }],
    ['session as a bearer token', { authorization: `Bearer ${adminA.token}` }],
  ]);
});

function request(method: string, { path, body }: Try, headers: Record<string, string>): Promise<HttpAnswer> {
  const json: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
  const value: unknown = typeof body === 'function' ? (body as () => unknown)() : body;
  const text = value === undefined ? {} : { body: JSON.stringify(value) };
  return call(`${world.server.url}${path}`, { method, headers: { ...json, ...headers }, ...text });
}

test('every endpoint is in the table of this test, and nothing else', () => {
  assert.deepEqual(Object.keys(tries).sort(), endpointNames().sort());
});

test('every credential of this test exists', () => {
  assert.deepEqual([...credentials.keys()].sort(), [...people, ...keys, ...nobody].sort());
});

describe('each endpoint, with each credential', () => {
  for (const [endpoint, make] of Object.entries(tries)) {
    test(endpoint, async () => {
      const method = endpoint.split(' ')[0] ?? '';
      for (const one of make(world)) {
        let shown = 0;
        // Refused callers first, so that no earlier change hides theirs.
        for (const [name, headers] of [...credentials].toReversed()) {
          // The query is read after authentication: one refusal is enough.
          if (one.path.includes('?') && !(name in one.expected)) continue;
          const answer = await request(method, one, headers);
          const what = `${method} ${one.path} with ${name}`;
          assert.equal(answer.status, one.expected[name] ?? 401, `${what}: ${answer.text.slice(0, 300)}`);
          // Errors of OTLP and SCIM have their own forms, which `call` checks.
          if (answer.status >= 400 && !/ \/(v1|scim)\//.test(endpoint)) problemOf(answer, answer.status);
          if (ofA.has(name)) shown += answer.status < 300 && answer.text.includes(marker) ? 1 : 0;
          else if (!endpoint.includes('/metrics')) assertNothingOfA(answer, what);
        }
        if (one.shows && !one.path.includes('fileHash')) assert.ok(shown > 0, `${one.path} shows A its own`);
      }
    });
  }

  test('nothing that B tried on A has had an effect', async () => {
    const admin = { cookie: credentials.get('admin of A')?.['cookie'] ?? '' };
    const of = async (path: string) =>
      JSON.parse((await call(`${world.server.url}${portal}/${path}`, { headers: admin })).text) as {
        data: { id: string; email?: string }[];
      };
    const users = (await of('users')).data.map(({ email }) => email);
    assert.ok(users.includes('new@x.example'), 'the list is that of A');
    assert.ok(!users.includes('admin@b.example'), 'a user of B is in A');
    // The event that B tried to write into A is neither in A nor in B.
    await world.b.caughtUp();
    assertNothingOfA(await world.b.get('limit=1000'), 'the events of B');
  });
});

function assertNothingOfA(answer: HttpAnswer, what: string): void {
  // Links to other pages repeat the sent query.
  const text = `${answer.text}\n${JSON.stringify({ ...answer.headers, link: undefined })}`;
  for (const secret of [marker, world.a.organization.id, world.userId, world.keyId, flow]) {
    assert.ok(!text.includes(secret), `${what} shows ${secret}`);
  }
}

describe('two credentials at once', () => {
  test('a key does not open a session endpoint, nor a session a key endpoint', async () => {
    const { server, a, b } = world;
    const cookieA = credentials.get('admin of A')?.['cookie'] ?? '';
    const cookieB = credentials.get('admin of B')?.['cookie'] ?? '';
    const get = (path: string, headers: Record<string, string>) => call(`${server.url}${path}`, { headers });
    problemOf(await get(`${portal}/events`, { 'x-api-key': a.key, cookie: 'service=x' }), 401);
    problemOf(await get('/api/v1/audit', { 'x-api-key': 'x', cookie: cookieA }), 401);
    // Each endpoint uses its own kind of credential.
    const page = await get('/api/v1/audit', { 'x-api-key': b.key, cookie: cookieA });
    assertNothingOfA(page, 'key of B with the cookie of A');
    const whoami = jsonOf(await get(`${portal}/whoami`, { 'x-api-key': a.key, cookie: cookieB }));
    assert.equal((whoami['user'] as { email: string }).email, 'admin@b.example');
  });
});

describe('methods that an endpoint does not have', () => {
  test('405 with Allow, and no handler runs', async () => {
    const paths = [...new Set(endpointNames().map((name) => name.split(' ')[1] ?? ''))];
    for (const path of paths) {
      for (const method of ['PUT', 'DELETE']) {
        if (endpointNames().includes(`${method} ${path}`)) continue;
        const answer = await call(`${world.server.url}${path}`, {
          method,
          headers: credentials.get('admin of A') ?? {},
        });
        problemOf(answer, 405);
        assert.match(String(answer.headers['allow']), /^[A-Z]+(, [A-Z]+)*$/);
      }
    }
  });

  test('404 for everybody where the path below a list is no endpoint', async () => {
    for (const path of [`${portal}/api-keys/${unknownKey}`, `${portal}/users/${randomUUID()}/delete`]) {
      for (const headers of [...credentials.values(), {}]) {
        problemOf(await call(`${world.server.url}${path}`, { method: 'POST', headers, body: '{}' }), 404);
      }
    }
  });
});
