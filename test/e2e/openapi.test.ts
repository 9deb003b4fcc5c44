import { strict as assert } from 'node:assert';
import { before, test } from 'node:test';
import { problemTable } from '../../src/base/errors/problem.ts';
import type { EndpointDeps } from '../../src/http/deps.ts';
import { endpointTable } from '../../src/http/routes.ts';
import { call } from '../support/http.ts';
import { at, type OpenApiDocument } from '../support/openapi.ts';
import { sharedServer } from '../support/shared.ts';

let document: OpenApiDocument;

// `call` compares answers with the document in all tests.
before(async () => {
  const answer = await call(`${(await sharedServer()).url}/openapi.json`);
  assert.equal(answer.status, 200);
  assert.match(String(answer.headers['content-type']), /^application\/json\b/);
  document = JSON.parse(answer.text) as OpenApiDocument;
});

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
    'readDocs',
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

test('types match requests: integers, open objects, a body for every media type, no definitions inside', () => {
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
