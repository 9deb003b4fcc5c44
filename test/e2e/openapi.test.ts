import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { problemTable } from '../../src/base/problem.ts';
import { call, type HttpAnswer } from '../support/http.ts';
import { at, conformance, type Conformance, type OpenApiDocument } from '../support/openapi.ts';
import {
  createKey,
  createTenant,
  sourceEvent,
  startServer,
  type Tenant,
  type TestServer,
} from '../support/server.ts';

let server: TestServer;
let tenant: Tenant;
let document: OpenApiDocument;
let conform: Conformance;

before(async () => {
  server = await startServer({ env: { MAX_BODY_BYTES: '2000000' } });
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

test('the document is whole: version, unique operations, every reference inside it', () => {
  assert.match(document.openapi, /^3\.1\.\d+$/);
  assert.ok(document.info.title && document.info.version);
  const ids = Object.values(document.paths).flatMap((path) =>
    Object.values(path).map((operation) => operation.operationId),
  );
  assert.equal(new Set(ids).size, ids.length);
  let references = 0;
  walk(document, (object, path) => {
    const reference = object['$ref'];
    if (typeof reference !== 'string') return;
    references++;
    assert.match(reference, /^#\//, `${path} points outside`);
    assert.ok(at(document, reference) !== undefined, `${path} points to nothing: ${reference}`);
  });
  assert.ok(references > 40);
});

test('every endpoint is in it, with every parameter of the contract', () => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  for (const one of [
    'get /api/v1/audit',
    'post /api/v1/audit',
    'get /healthz',
    'get /readyz',
    'get /metrics',
    'get /openapi.json',
  ]) {
    assert.ok(operations.includes(one), one);
  }
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

test('whatever the document names is served: no path of it is unknown', async () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const method of Object.keys(methods)) {
      const answer = await call(`${server.url}${path}`, { method: method.toUpperCase() });
      assert.ok(![404, 405].includes(answer.status), `${method} ${path}: ${answer.status}`);
    }
  }
});

test('every error of the service is in it, in the same words', () => {
  const documented = new Map<number, Set<string>>();
  walk(document.components['responses'], (object) => {
    const example = object['example'] as { status?: number; title?: string } | undefined;
    if (typeof example?.status !== 'number') return;
    const titles = documented.get(example.status) ?? new Set();
    documented.set(example.status, titles.add(String(example.title)));
  });
  for (const [code, { status, title }] of Object.entries(problemTable)) {
    assert.ok(documented.get(status)?.has(title), `${code}: ${status} ${title} is not in the document`);
  }
});

test('the examples are true to their schemas', () => {
  let examples = 0;
  walk(document, (object, path) => {
    const schema = object['schema'];
    if (schema === undefined || !path.includes('/content/')) return;
    const values: unknown[] = 'example' in object ? [object['example']] : [];
    for (const example of Object.values(
      (object['examples'] ?? {}) as Record<string, { $ref?: string; value?: unknown }>,
    )) {
      const target =
        example.$ref === undefined ? example : (at(document, example.$ref) as { value: unknown });
      values.push(target.value);
    }
    for (const value of values) {
      examples++;
      const pointer = `${path.replaceAll(/[{}]/g, encodeURIComponent)}/schema`;
      assert.deepEqual(conform.errorsOf(pointer, value), [], path);
    }
  });
  assert.ok(examples > 15);
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
    ['GET', '/healthz', 200, call(`${server.url}/healthz`)],
    ['GET', '/readyz', 200, call(`${server.url}/readyz`)],
    ['GET', '/metrics', 200, call(`${server.url}/metrics`)],
    ['GET', '/openapi.json', 200, call(`${server.url}/openapi.json`)],
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
