import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { decompress } from 'fzstd';
import { EngineError } from '../../src/base/errors/engine-error.ts';
import { renderMetrics } from '../../src/base/observability/metrics.ts';
import { httpPackage } from '../../src/base/platform.js';
import { Problem } from '../../src/base/errors/problem.ts';
import type { RequestContext } from '../../src/http/request-context.ts';
import type { Route } from '../../src/http/router.ts';
import { exchangeRaw, startTestServer, type TestServer } from './support.ts';

const text = JSON.stringify({ data: Array.from({ length: 200 }, (_, i) => ({ i, name: `event ${i}` })) });

const show = (context: RequestContext) => ({
  status: 200,
  body: JSON.stringify({
    method: context.head.method,
    path: context.head.path,
    rawPath: context.head.rawPath,
    limit: context.first('limit') ?? null,
    time: context.first('time') ?? null,
    header: context.header('x-thing') ?? null,
    ip: context.head.ip,
    port: context.head.port,
    secure: context.head.secure,
  }),
});

const routes: readonly Route[] = [
  { method: 'GET', path: '/show', name: 'show', handler: show },
  { method: 'GET', path: '/files/:id/:name', name: 'files', handler: show },
  { method: 'POST', path: '/show', name: 'show', handler: () => ({ status: 204 }) },
  { method: 'GET', path: '/text', name: 'text', handler: () => ({ status: 200, body: text }) },
  {
    method: 'GET',
    path: '/large',
    name: 'large',
    handler: () => ({
      status: 200,
      body: Buffer.concat([Buffer.alloc(5_000_000, 'a'), Buffer.alloc(5_000_000, 'b')]),
    }),
  },
  {
    method: 'GET',
    path: '/cookies',
    name: 'cookies',
    handler: () => ({
      status: 200,
      headers: { 'Set-Cookie': ['a=1', 'b=2'], 'Cache-Control': 'private' },
      body: '{}',
    }),
  },
  {
    method: 'GET',
    path: '/problem',
    name: 'problem',
    handler: () => {
      throw new Problem('rate_limited', 'Slow down.', {
        retryAfterSeconds: 1.2,
        headers: { 'RateLimit-Limit': '30' },
        members: { errors: [{ index: 1, error: 'bad' }], status: 200 },
      });
    },
  },
  {
    method: 'GET',
    path: '/unsayable',
    name: 'unsayable',
    handler: () => {
      throw new Problem('malformed', 'Members against the schema.', { members: { errors: [1] } });
    },
  },
  {
    method: 'GET',
    path: '/bug',
    name: 'bug',
    handler: async () => {
      await delay(1);
      throw new Error('secret SQL');
    },
  },
  {
    method: 'GET',
    path: '/lower',
    name: 'lower',
    handler: () => {
      throw new EngineError('unreachable', 'engine text');
    },
  },
  {
    method: 'GET',
    path: '/bad-header',
    name: 'bad',
    handler: () => ({ status: 200, headers: { 'X-A': 'a\r\nX-B: b' }, body: '{}' }),
  },
  {
    method: 'GET',
    path: '/slow',
    name: 'slow',
    handler: async () => {
      await delay(300);
      return { status: 200, body: '{}' };
    },
  },
];

let it: TestServer;
before(async () => {
  it = await startTestServer(routes);
});
after(() => it.close());

test('a request is answered with its id and the headers of an API', async () => {
  const answer = await fetch(`${it.url}/show?limit=5&limit=6&time=%zz%41`, { headers: { 'X-Thing': 'one' } });
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(answer.headers.get('content-type'), 'application/json');
  assert.equal(answer.headers.get('uwebsockets'), null);
  const { port, ...body } = (await answer.json()) as Record<string, unknown>;
  assert.match(String(port), httpPackage.package === 'uwebsockets' ? /^[1-9]\d*$/ : /^0$/);
  assert.deepEqual(body, {
    method: 'GET',
    path: '/show',
    rawPath: '/show',
    limit: '5',
    time: '%zzA',
    header: 'one',
    ip: '127.0.0.1',
    secure: false,
  });
});

test('a usable request id of the client is kept, any other replaced', async () => {
  const idFor = async (sent: string): Promise<string | null> =>
    (await fetch(`${it.url}/show`, { headers: { 'X-Request-Id': sent } })).headers.get('x-request-id');
  assert.equal(await idFor('abc-1.2_3'), 'abc-1.2_3');
  assert.notEqual(await idFor('abc def'), 'abc def');
  assert.notEqual(await idFor('a'.repeat(129)), 'a'.repeat(129));
});

test('unknown paths are 404, other methods 405 with Allow, OPTIONS 204', async () => {
  const missing = await fetch(`${it.url}/nothing`);
  assert.equal(missing.status, 404);
  assert.equal(missing.headers.get('content-type'), 'application/problem+json');
  const problem = (await missing.json()) as Record<string, unknown>;
  assert.equal(problem['type'], 'about:blank');
  assert.equal(problem['request_id'], missing.headers.get('x-request-id'));
  const wrong = await fetch(`${it.url}/show`, { method: 'DELETE' });
  assert.equal(wrong.status, 405);
  assert.equal(wrong.headers.get('allow'), 'GET, POST, OPTIONS');
  const head = await fetch(`${it.url}/show`, { method: 'HEAD' });
  assert.equal(head.status, 405);
  const options = await fetch(`${it.url}/show`, { method: 'OPTIONS' });
  assert.equal(options.status, 204);
  assert.equal(options.headers.get('content-length'), null);
  assert.equal((await fetch(`${it.url}/files/a/b%20c`)).status, 200);
  assert.equal((await fetch(`${it.url}/files/a/b%2Fc`)).status, 404, 'a slash in a segment');
  assert.equal((await fetch(`${it.url}/sho%77`)).status, 200);
});

test('problems carry their members and headers, and cannot change the standard ones', async () => {
  const answer = await fetch(`${it.url}/problem`);
  assert.equal(answer.status, 429);
  assert.equal(answer.headers.get('retry-after'), '2');
  assert.equal(answer.headers.get('ratelimit-limit'), '30');
  const { request_id: id, ...rest } = (await answer.json()) as Record<string, unknown>;
  assert.equal(id, answer.headers.get('x-request-id'));
  assert.deepEqual(rest, {
    type: 'about:blank',
    title: 'Too Many Requests',
    status: 429,
    detail: 'Slow down.',
    errors: [{ index: 1, error: 'bad' }],
  });
});

test('a problem that cannot be written breaks the connection: its client is not left waiting', async () => {
  await assert.rejects(fetch(`${it.url}/unsayable`));
  assert.ok(it.logged.some(({ words }) => words === 'An error answer could not be written'));
});

test('an unknown error is a 500 without details, logged under the request id', async () => {
  const answer = await fetch(`${it.url}/bug`, { headers: { 'X-Request-Id': 'bug-1' } });
  assert.equal(answer.status, 500);
  assert.ok(!(await answer.text()).includes('secret'));
  const line = it.logged.find(({ facts }) => facts['request_id'] === 'bug-1');
  assert.equal(line?.level, 'error');
  assert.equal(line?.facts['error'], 'secret SQL');
  const lower = await fetch(`${it.url}/lower`);
  assert.equal(lower.headers.get('retry-after'), '2');
  assert.ok(!(await lower.text()).includes('engine text'));
  assert.equal((await fetch(`${it.url}/bad-header`)).status, 500);
});

test('bodies over the threshold are compressed as the client asks', async () => {
  const get = async (encoding: string): Promise<{ encoding: string | undefined; body: Buffer }> => {
    const raw = await exchangeRaw(
      it.server.port,
      [`GET /text HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept-Encoding: ${encoding}\r\n\r\n`],
      5000,
    );
    const [head = '', ...rest] = raw.split('\r\n\r\n');
    assert.match(head, /^Vary: Accept-Encoding$/m);
    return {
      encoding: /^Content-Encoding: (.*)$/m.exec(head)?.[1],
      body: Buffer.from(rest.join('\r\n\r\n'), 'latin1'),
    };
  };
  const br = await get('gzip;q=0.5, br');
  assert.equal(br.encoding, 'br');
  assert.equal(brotliDecompressSync(br.body).toString(), text);
  const gzip = await get('gzip');
  assert.equal(gunzipSync(gzip.body).toString(), text);
  const zstd = await get('zstd, br;q=0.1');
  assert.equal(zstd.encoding, 'zstd');
  assert.equal(Buffer.from(decompress(zstd.body)).toString(), text);
  assert.equal((await get('identity')).body.toString(), text);
  const small = await fetch(`${it.url}/show`);
  assert.equal(small.headers.get('content-encoding'), null);
});

test('X-Forwarded-For is not believed without a trusted proxy, and as configured with one', async () => {
  const headers = { 'X-Forwarded-For': '9.9.9.9, 8.8.8.8:443', 'X-Forwarded-Proto': 'https' };
  const plain = (await (await fetch(`${it.url}/show`, { headers })).json()) as Record<string, unknown>;
  assert.equal(plain['ip'], '127.0.0.1');
  assert.equal(plain['secure'], false);
  const proxied = await startTestServer(routes, { trustProxy: 1 });
  try {
    const seen = (await (await fetch(`${proxied.url}/show`, { headers })).json()) as Record<string, unknown>;
    assert.deepEqual([seen['ip'], seen['port'], seen['secure']], ['8.8.8.8', '443', true]);
    const [line] = await proxied.accessLines();
    assert.deepEqual([line?.['ip'], line?.['port']], ['8.8.8.8', '443']);
  } finally {
    await proxied.close();
  }
});

test('the access log has one line of exactly nine fields for each request', async () => {
  await (await fetch(`${it.url}/nothing%20"here?secret=1`)).text();
  const lines = await it.accessLines();
  const line = lines.findLast(({ path }) => String(path).startsWith('/nothing%20'));
  assert.deepEqual(Object.keys(line ?? {}), [
    'timestamp',
    'status',
    'latency',
    'method',
    'path',
    'ip',
    'port',
    'bytesSent',
    'bytesReceived',
  ]);
  assert.match(String(line?.['timestamp']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.match(String(line?.['latency']), /^\d+\.\d{3}ms$/);
  assert.equal(line?.['status'], 404);
  assert.equal(line?.['path'], '/nothing%20%22here');
  assert.ok(Number(line?.['bytesSent']) > 50);
});

test('metrics count requests by route, method and status, unknown methods together', async () => {
  await exchangeRaw(it.server.port, ['BREW /show HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n']);
  const metrics = await renderMetrics();
  assert.match(metrics, /auditlog_http_requests_total\{route="show",method="GET",status="200"\} [1-9]/);
  assert.match(metrics, /auditlog_http_requests_total\{route="other_method",method="other",status="405"\} 1/);
  assert.match(metrics, /auditlog_http_request_duration_seconds_bucket\{le="0.001",route="show"\}/);
});

test('a port in use is refused in words', async () => {
  await assert.rejects(
    startTestServer(routes, { port: it.server.port }),
    /cannot listen on 127\.0\.0\.1 port \d+: the port is in use/,
  );
});
