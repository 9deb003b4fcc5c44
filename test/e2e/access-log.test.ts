import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { call, eventually, type HttpAnswer } from '../support/http.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';

interface Line {
  readonly timestamp: string;
  readonly status: number;
  readonly latency: string;
  readonly method: string;
  readonly path: string;
  readonly ip: string;
  readonly port: string;
  readonly bytesSent: number;
  readonly bytesReceived: number;
}

let server: TestServer;
let tenant: Tenant;

before(async () => {
  server = await startServer();
  tenant = await createTenant(server, 'access');
  await tenant.record(Array.from({ length: 40 }, () => sourceEvent()));
  await tenant.settled(40);
});
after(() => server?.stop());

/** The lines that `act` causes; `act` makes exactly `count` requests and nothing else runs beside it. */
async function linesOf(on: TestServer, count: number, act: () => Promise<unknown>): Promise<Line[]> {
  // Lines may come a moment late: first let those of earlier requests arrive.
  let before = -1;
  await eventually(
    'the access log to be quiet',
    async () => {
      const now = on.stdoutLines().length;
      const quiet = now === before;
      before = now;
      return quiet || undefined;
    },
    10_000,
    300,
  );
  await act();
  await eventually(`${count} access-log lines`, async () =>
    on.stdoutLines().length >= before + count ? true : undefined,
  );
  return on
    .stdoutLines()
    .slice(before)
    .map((line) => JSON.parse(line) as Line);
}

test('one JSON object a line with exactly the nine fields', async () => {
  const from = Date.now();
  let answer: HttpAnswer | undefined;
  const lines = await linesOf(server, 1, async () => {
    answer = await tenant.get('limit=3&actor=secret%40x.example');
  });
  assert.equal(lines.length, 1);
  const [line] = lines;
  assert.ok(line && answer);
  assert.deepEqual(Object.keys(line).sort(), [
    'bytesReceived',
    'bytesSent',
    'ip',
    'latency',
    'method',
    'path',
    'port',
    'status',
    'timestamp',
  ]);
  assert.match(line.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  const at = Date.parse(line.timestamp);
  assert.ok(at >= from - 1000 && at <= Date.now() + 1000, line.timestamp);
  assert.equal(line.status, 200);
  assert.match(line.latency, /^\d+(\.\d+)?ms$/);
  assert.ok(Number.parseFloat(line.latency) < 10_000);
  assert.equal(line.method, 'GET');
  assert.equal(line.path, '/api/v1/audit');
  assert.equal(line.ip, '127.0.0.1');
  assert.match(line.port, /^\d+$/);
  assert.equal(line.bytesSent, answer.raw.length);
  assert.equal(line.bytesReceived, 0);
});

test('sizes are body bytes on the wire, compressed as they went', async () => {
  const body = gzipSync(JSON.stringify(Array.from({ length: 20 }, () => sourceEvent())));
  let sent: HttpAnswer | undefined;
  let posted: HttpAnswer | undefined;
  const lines = await linesOf(server, 2, async () => {
    sent = await tenant.get('limit=40', { 'accept-encoding': 'gzip' });
    posted = await tenant.post(body, { 'content-encoding': 'gzip' });
  });
  assert.equal(sent?.headers['content-encoding'], 'gzip');
  const get = lines.find((line) => line.method === 'GET');
  const post = lines.find((line) => line.method === 'POST');
  assert.equal(get?.bytesSent, sent?.raw.length);
  assert.equal(post?.bytesReceived, body.length);
  assert.equal(post?.bytesSent, posted?.raw.length);
  assert.equal(post?.status, 202);
});

test('errors are logged like anything else', async () => {
  const statuses: Record<string, number> = {};
  const lines = await linesOf(server, 4, async () => {
    await call(`${server.url}/api/v1/audit`);
    await call(`${server.url}/nothing/"here"%20\\?q=1`);
    await call(`${server.url}/healthz`, { method: 'DELETE' });
    await tenant.post('{');
  });
  for (const line of lines) statuses[`${line.method} ${line.path}`] = line.status;
  assert.equal(statuses['GET /api/v1/audit'], 401);
  assert.equal(statuses['DELETE /healthz'], 405);
  assert.equal(statuses['POST /api/v1/audit'], 400);
  const odd = lines.find((line) => line.status === 404);
  assert.ok(odd?.path.startsWith('/nothing/') && !odd.path.includes('?'), odd?.path);
});

test('forwarded headers are not believed unless a proxy is configured', async () => {
  const lines = await linesOf(server, 1, () =>
    call(`${server.url}/healthz`, {
      headers: { 'x-forwarded-for': '203.0.113.7:4711', forwarded: 'for="203.0.113.8:4712"' },
    }),
  );
  assert.equal(lines[0]?.ip, '127.0.0.1');
  assert.ok(!['4711', '4712'].includes(lines[0]?.port ?? ''));
});

test('TRUST_PROXY=n takes the address that the outermost trusted proxy saw', async () => {
  const cases: readonly [
    hops: string,
    headers: Record<string, string>,
    ip: string,
    port: string | undefined,
  ][] = [
    ['1', { 'x-forwarded-for': '203.0.113.7' }, '203.0.113.7', '0'],
    ['1', { 'x-forwarded-for': '203.0.113.7:4711' }, '203.0.113.7', '4711'],
    ['1', { 'x-forwarded-for': '198.51.100.1, 203.0.113.9:99' }, '203.0.113.9', '99'],
    ['1', { 'x-forwarded-for': '[2001:db8::1]:4711' }, '2001:db8::1', '4711'],
    ['1', { 'x-forwarded-for': '2001:db8::1' }, '2001:db8::1', '0'],
    ['1', { forwarded: 'for="[2001:db8::2]:4712";proto=https' }, '2001:db8::2', '4712'],
    ['1', { forwarded: 'for=198.51.100.1, For="203.0.113.9:98"' }, '203.0.113.9', '98'],
    ['1', {}, '127.0.0.1', undefined],
    ['2', { 'x-forwarded-for': '192.0.2.1, 198.51.100.1:77, 203.0.113.9' }, '198.51.100.1', '77'],
  ];
  for (const hops of ['1', '2']) {
    const proxied = await startServer({ env: { TRUST_PROXY: hops } });
    try {
      for (const [, headers, ip, port] of cases.filter(([n]) => n === hops)) {
        const lines = await linesOf(proxied, 1, () => call(`${proxied.url}/healthz`, { headers }));
        const what = JSON.stringify(headers);
        assert.equal(lines[0]?.ip, ip, what);
        if (port !== undefined) assert.equal(lines[0]?.port, port, what);
      }
    } finally {
      await proxied.stop();
    }
  }
});

test('standard output carries access-log lines only, whole after a stop', async () => {
  const short = await startServer();
  for (let n = 0; n < 50; n++) await call(`${short.url}/healthz`);
  assert.equal(await short.stop(), 0);
  const lines = short.stdoutLines().map((line) => JSON.parse(line) as Line);
  assert.equal(lines.length, 50);
  for (const line of lines) assert.equal(Object.keys(line).length, 9);
  for (const line of short.stderrLines()) assert.equal(typeof JSON.parse(line), 'object');
});
