import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import {
  acceptedOf,
  call,
  eventually,
  type HttpAnswer,
  pageOf,
  problemOf,
  retryAfterOf,
} from '../support/http.ts';
import { neededGrants } from '../../src/storage/rights.ts';
import { type PlainEngine, startPlainEngine } from '../support/plain-engine.ts';
import { rounds } from '../support/rounds.ts';
import {
  createKey,
  createTenant,
  sourceEvent,
  startServer,
  type Tenant,
  type TestServer,
} from '../support/server.ts';
import { patience } from '../support/patience.ts';
import { endpointNames } from './endpoint-names.ts';
import { createUser, jsonOf, password, signIn } from './session-support.ts';

/** The result of a request without an engine; requests that need none have their usual status. */
type Expected = 'read' | 'change' | number;

interface Ask {
  /** Default: the route's path. */
  readonly path?: string;
  readonly body?: unknown;
  readonly expected: Expected;
}

/** Every route, with a request that only the engine's state can refuse. */
function withoutEngine(ids: {
  readonly otherId: string;
  readonly keyId: string;
  readonly email: string;
  readonly token: string;
}): Readonly<Record<string, Ask>> {
  const { otherId, keyId, email, token } = ids;
  const portal = '/api/v1/portal';
  const read: Ask = { expected: 'read' };
  const evidence = (base: string): Readonly<Record<string, Ask>> => ({
    [`GET ${base}/checkpoint`]: read,
    [`GET ${base}/tile/:path+`]: { path: `${base}/tile/0/000.p/1`, expected: 'read' },
    [`GET ${base}/key`]: read,
    [`GET ${base}/proof`]: { path: `${base}/proof?position=0`, expected: 'read' },
    [`GET ${base}/case`]: read,
  });
  const user = { schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'], userName: 'new@cut-off.example' };
  const patch = {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
    Operations: [{ op: 'replace', path: 'displayName', value: 'Other' }],
  };
  return {
    'GET /api/v1/audit': read,
    'GET /api/v1/audit/feed': read,
    'GET /api/v1/audit/export': read,
    'GET /api/v1/audit/histogram': read,
    'GET /api/v1/audit/top-values': read,
    'GET /api/v1/audit/top-files': read,
    ...evidence('/api/v1/audit/evidence'),
    ...evidence(`${portal}/evidence`),
    // The log accepts events.
    'POST /api/v1/audit': { body: sourceEvent(), expected: 202 },
    'POST /v1/logs': { body: { resourceLogs: [] }, expected: 200 },
    'POST /api/v1/auth/login-handler': { body: { email, password }, expected: 200 },
    'POST /api/v1/auth/password': { body: { token, new: 'another good password' }, expected: 'change' },
    'GET /api/v1/auth/sign-on-options': { expected: 200 },
    'GET /api/v1/auth/sign-on': { expected: 401 },
    'GET /api/v1/auth/sign-on/callback/:provider': {
      path: '/api/v1/auth/sign-on/callback/_service?code=x&state=y',
      expected: 401,
    },
    'GET /api/v1/auth/token': { expected: 200 },
    [`GET ${portal}/whoami`]: { expected: 200 },
    [`GET ${portal}/receipts`]: read,
    [`GET ${portal}/events`]: read,
    [`GET ${portal}/rows`]: read,
    [`GET ${portal}/feed`]: read,
    [`GET ${portal}/source-events`]: {
      path: `${portal}/source-events?flowId=${randomUUID()}`,
      expected: 'read',
    },
    [`GET ${portal}/export`]: read,
    [`GET ${portal}/histogram`]: read,
    [`GET ${portal}/top-values`]: read,
    [`GET ${portal}/top-files`]: read,
    'GET /api/v1/dashboard/organization/get-events-in-org': read,
    // Users are in memory.
    'GET /scim/v2/Users': { expected: 200 },
    'POST /scim/v2/Users': { body: user, expected: 'change' },
    'GET /scim/v2/Users/:id': { path: `/scim/v2/Users/${otherId}`, expected: 200 },
    'PUT /scim/v2/Users/:id': {
      path: `/scim/v2/Users/${otherId}`,
      body: { ...user, userName: 'member@cut-off.example' },
      expected: 'change',
    },
    'PATCH /scim/v2/Users/:id': { path: `/scim/v2/Users/${otherId}`, body: patch, expected: 'change' },
    'DELETE /scim/v2/Users/:id': { path: `/scim/v2/Users/${otherId}`, expected: 'change' },
    'GET /scim/v2/ServiceProviderConfig': { expected: 200 },
    'GET /scim/v2/ResourceTypes': { expected: 200 },
    'GET /scim/v2/ResourceTypes/:name': { path: '/scim/v2/ResourceTypes/User', expected: 200 },
    'GET /scim/v2/Schemas': { expected: 200 },
    'GET /scim/v2/Schemas/:id': {
      path: '/scim/v2/Schemas/urn:ietf:params:scim:schemas:core:2.0:User',
      expected: 200,
    },
    [`GET ${portal}/settings`]: read,
    [`PATCH ${portal}/settings`]: { body: { receipts: 'off' }, expected: 'change' },
    [`GET ${portal}/api-keys`]: read,
    [`POST ${portal}/api-keys`]: { body: { scopes: ['read'], name: 'x' }, expected: 'change' },
    [`POST ${portal}/api-keys/:id/rotate`]: {
      path: `${portal}/api-keys/${keyId}/rotate`,
      body: {},
      expected: 'change',
    },
    [`POST ${portal}/api-keys/:id/revoke`]: {
      path: `${portal}/api-keys/${keyId}/revoke`,
      body: {},
      expected: 'change',
    },
    [`GET ${portal}/users`]: { expected: 200 },
    [`POST ${portal}/users`]: {
      body: { email: 'x@cut-off.example', name: 'X', role: 'member', password },
      expected: 'change',
    },
    [`PATCH ${portal}/users/:id`]: {
      path: `${portal}/users/${otherId}`,
      body: { role: 'auditor' },
      expected: 'change',
    },
    [`POST ${portal}/users/:id/disable`]: {
      path: `${portal}/users/${otherId}/disable`,
      body: {},
      expected: 'change',
    },
    [`POST ${portal}/users/:id/password`]: {
      path: `${portal}/users/${otherId}/password`,
      body: { password: 'another good password' },
      expected: 'change',
    },
    [`POST ${portal}/users/:id/password-link`]: {
      path: `${portal}/users/${otherId}/password-link`,
      body: {},
      expected: 'change',
    },
    [`POST ${portal}/password`]: {
      body: { current: password, new: 'another good password' },
      expected: 'change',
    },
    'GET /healthz': { expected: 200 },
    'GET /readyz': { expected: 503 },
    'GET /metrics': { expected: 200 },
    'GET /openapi.json': { expected: 200 },
    'GET /ocsf-event.schema.json': { expected: 200 },
    'GET /': { expected: existsSync('dist/web/index.html') ? 200 : 404 },
    'GET /docs': { expected: existsSync('dist/web/index.html') ? 200 : 404 },
    'GET /assets/:file': { path: '/assets/none.js', expected: 404 },
    // Last, as it ends the session.
    'POST /api/v1/auth/logout': { body: {}, expected: 'change' },
  };
}

/** Status, message and header of an answer without an engine, by the kind of request. */
function answerWithoutEngine(answer: HttpAnswer): string {
  const { detail = '' } = answer.status < 500 ? {} : (JSON.parse(answer.text) as { detail?: string });
  const retries = answer.headers['retry-after'] === undefined ? '' : ', Retry-After';
  return `${answer.status}${retries} ${detail.replace(/ \(request .*\)$/, '')}`.trim();
}

/** A change that was sent before the server knew of the loss has an unknown result. */
const answers = {
  read: /^500, Retry-After The audit records could not be retrieved; try again later\.$/,
  change:
    /^503, Retry-After (The change could not be stored; try again later|It cannot be told yet whether this was done: a repeat will tell)\.$/,
};

const flowBatch = (flow: string, count: number, pad = '') =>
  Array.from({ length: count }, (_, n) => sourceEvent({ flow_id: flow, extra: { n, pad } }));

/** The one error of a read without an engine (contract: Errors). */
function notRetrieved(answer: HttpAnswer): void {
  problemOf(answer, 500);
  assert.ok(retryAfterOf(answer) >= 0);
}

describe('the connection to the engine fails', () => {
  let engine: PlainEngine;
  let proxy: FaultProxy;
  let server: TestServer;
  let tenant: Tenant;
  const kept = randomUUID();
  before(async () => {
    // With only the documented rights, because statements after a crash need some of their own.
    engine = await startPlainEngine({ databases: ['audit'], grants: neededGrants('audit', 'audit') });
    proxy = await startFaultProxy(engine.port);
    server = await startServer({
      env: {
        ...engine.env,
        CLICKHOUSE_URL: proxy.url,
        SEGMENT_BYTES: '262144',
        WAL_MAX_BYTES: '2097152',
        // Errors must have the same status with and without a route's limit.
        RATE_LIMIT_TENANT: 'off',
        RATE_LIMIT_LOGIN: 'off',
      },
    });
    tenant = await createTenant(server, 'cut-off');
    await tenant.record(flowBatch(kept, 1000, 'x'.repeat(300)));
    await tenant.settled(1000, { flowId: kept });
  });
  after(async () => {
    await server?.stop();
    await proxy?.stop();
    await engine?.stop();
  });

  test('refused: every read is a 500 with Retry-After', async () => {
    proxy.set('refuse');
    try {
      for (const query of [
        '',
        'limit=1',
        'limit=1000',
        `flowId=${kept}`,
        'actor=x',
        'offset=100000',
        'orgId=other',
      ]) {
        const answer = await tenant.get(query);
        // A filter that cannot match needs no engine.
        if (query === 'orgId=other' && answer.status === 200) assert.equal(pageOf(answer).meta.total, 0);
        else notRetrieved(answer);
      }
      // Unauthenticated callers still get 401.
      problemOf(await tenant.with({ key: 'wrong' }).get(), 401);
      assert.equal((await call(`${server.url}/healthz`)).status, 200);
      const ready = await call(`${server.url}/readyz`);
      problemOf(ready, 503);
      assert.ok(retryAfterOf(ready) >= 0);
    } finally {
      proxy.set('none');
    }
    await eventually('reads to work again', async () =>
      (await tenant.get()).status === 200 ? true : undefined,
    );
    assert.equal((await call(`${server.url}/readyz`)).status, 200);
  });

  test('every route: 500 for reads and 503 for changes, with or without a rate limit', async () => {
    const email = 'admin@cut-off.example';
    await createUser(server, 'cut-off', 'admin', email);
    const other = await createUser(server, 'cut-off', 'member', 'member@cut-off.example');
    const scim = await createKey(server, ['--org', 'cut-off', '--scopes', 'scim']);
    const limited = ['--org', 'cut-off', '--scopes', 'scim', '--rate-limit', '1000/1s'];
    const scimLimited = await createKey(server, limited);
    const admin = await signIn(server, email);
    const made = await admin.send('POST', `/api/v1/portal/users/${other.id}/password-link`);
    const { token } = jsonOf(made, 201) as { token: string };
    const keyId = tenant.key.slice(3, 19);
    const keyed = { 'x-api-key': tenant.key };
    const asks = withoutEngine({ otherId: other.id, keyId, email, token });
    assert.deepEqual(Object.keys(asks).sort(), endpointNames().sort());
    const wrong: string[] = [];
    proxy.set('refuse');
    try {
      for (const [endpoint, { path, body, expected }] of Object.entries(asks)) {
        const [method = '', route = ''] = endpoint.split(' ');
        const credentials = route.startsWith('/scim/')
          ? [{ 'x-api-key': scim.key }, { 'x-api-key': scimLimited.key }]
          : [{ ...keyed, cookie: admin.cookie }];
        for (const headers of credentials) {
          const answer = await call(`${server.url}${path ?? route}`, {
            method,
            headers: { ...headers, ...(method === 'GET' ? {} : { 'content-type': 'application/json' }) },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          });
          const text = typeof expected === 'number' ? String(answer.status) : answerWithoutEngine(answer);
          const isRight =
            typeof expected === 'number' ? text === String(expected) : answers[expected].test(text);
          if (!isRight) wrong.push(`${endpoint}: ${text} in place of ${expected}`);
        }
      }
    } finally {
      proxy.set('none');
    }
    assert.deepEqual(wrong, []);
    await eventually('reads to work again', async () =>
      (await tenant.get()).status === 200 ? true : undefined,
    );
  });

  test('hanging: metrics do not wait for it, and report that', async () => {
    const metrics = async () => (await call(`${server.url}/metrics`)).text;
    await eventually('the metric to be 1', async () =>
      /^auditlog_ready\{check="engine_reachable"\} 1$/m.test(await metrics()) ? true : undefined,
    );
    proxy.set('hang');
    try {
      const answered: string[] = [];
      const ready = call(`${server.url}/readyz`).then((answer) => {
        answered.push('readyz');
        problemOf(answer, 503);
      });
      const text = await metrics();
      answered.push('metrics');
      await ready;
      assert.deepEqual(answered, ['metrics', 'readyz']);
      assert.match(text, /^auditlog_ready_age_seconds (?!0$)\d/m);
      await eventually('the metric to be 0', async () =>
        /^auditlog_ready\{check="engine_reachable"\} 0$/m.test(await metrics()) ? true : undefined,
      );
    } finally {
      proxy.set('none');
    }
    await eventually('figures of now', async () => {
      const text = await metrics();
      return /^auditlog_ready\{check="engine_reachable"\} 1$/m.test(text) &&
        /^auditlog_ready_age_seconds 0$/m.test(text) &&
        /^auditlog_engine_partition_parts_age_seconds 0$/m.test(text)
        ? true
        : undefined;
    });
  });

  test('cut in the middle of an answer: a 500, never a part of a page', async () => {
    for (const cutAfterBytes of [0, 200, 30_000, 1, 1000, 300_000].slice(0, rounds(3, 6))) {
      proxy.set({ cutAfterBytes });
      try {
        for (let n = 0; n < 2; n++) notRetrieved(await tenant.get('limit=1000'));
        const compressed = await tenant.get('limit=1000', { 'accept-encoding': 'gzip' });
        notRetrieved(compressed);
      } finally {
        proxy.set('none');
      }
    }
    const page = await eventually('reads to work again', async () => {
      const answer = await tenant.get({ flowId: kept, limit: '1000' });
      return answer.status === 200 ? pageOf(answer) : undefined;
    });
    assert.equal(page.data.length, 1000);
  });

  test('writes are accepted until the log is full, then 503, and all accepted events are stored once', {
    timeout: patience(60_000),
  }, async () => {
    const flow = randomUUID();
    const batch = flowBatch(flow, 100, 'x'.repeat(1000));
    let taken = 0;
    let full: HttpAnswer | undefined;
    proxy.set('refuse');
    try {
      for (let n = 0; n < 400 && full === undefined; n++) {
        const answer = await tenant.post(batch);
        if (answer.status === 202) taken += 100;
        else full = answer;
      }
      assert.ok(taken > 0, 'nothing was taken while the engine was away');
      assert.ok(full, 'the log never filled up');
      problemOf(full, 503);
      assert.ok(retryAfterOf(full) >= 0);
    } finally {
      proxy.set('none');
    }
    await eventually('writes to be taken again', async () => {
      const answer = await tenant.post([sourceEvent()]);
      return answer.status === 202 ? true : undefined;
    });
    await tenant.settled(taken, { flowId: flow });
    await tenant.caughtUp();
    await tenant.settled(taken, { flowId: flow });
  });

  test('the server stops cleanly without the engine, and sends its log after a restart', async () => {
    const flow = randomUUID();
    proxy.set('refuse');
    let second: TestServer | undefined;
    try {
      assert.equal(acceptedOf(await tenant.post(flowBatch(flow, 7))).accepted, 7);
      server.kill('SIGTERM').catch(() => undefined);
      assert.equal(await server.exited(), 0);
      proxy.set('none');
      second = await startServer({
        dataDir: server.dataDir,
        env: { ...engine.env, CLICKHOUSE_URL: proxy.url },
      });
      await tenant.with({ server: second }).settled(7, { flowId: flow });
    } finally {
      proxy.set('none');
      await second?.stop();
    }
  });
});
