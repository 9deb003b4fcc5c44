import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type Line, linesOf } from '../support/access-log.ts';
import { call, type HttpAnswer } from '../support/http.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';

let server: TestServer;
let tenant: Tenant;

before(async () => {
  server = await startServer();
  tenant = await createTenant(server, 'access');
  await tenant.record(Array.from({ length: 40 }, () => sourceEvent()));
  await tenant.settled(40);
});
after(() => server?.stop());

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

// Last, because it stops the shared server.
test('standard output carries access-log lines only, whole after a stop', async () => {
  const lines = await linesOf(server, 50, async () => {
    for (let n = 0; n < 50; n++) await call(`${server.url}/healthz`);
    assert.equal(await server.stop(), 0);
  });
  assert.equal(lines.length, 50);
  for (const line of server.stdoutLines()) assert.equal(Object.keys(JSON.parse(line) as Line).length, 9);
  for (const line of server.stderrLines()) assert.equal(typeof JSON.parse(line), 'object');
});
