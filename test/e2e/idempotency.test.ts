import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { acceptedOf, call, problemOf, rawExchange } from '../support/http.ts';
import { createTenant, type SharedServer, sourceEvent, type Tenant } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';

/** `restart.test.ts` tests keys after a restart. */
let server: SharedServer;
let tenant: Tenant;
let other: Tenant;

before(async () => {
  server = await sharedServer();
  [tenant, other] = await Promise.all([createTenant(server, 'idem'), createTenant(server, 'idem-2')]);
});

/** A batch of `count` events of one flow. */
function batchOf(count: number): { flow: string; body: string } {
  const flow = randomUUID();
  return {
    flow,
    body: JSON.stringify(
      Array.from({ length: count }, (_, n) => sourceEvent({ flow_id: flow, extra: { n } })),
    ),
  };
}

test('a repeat stores nothing and answers as the first did', async () => {
  const { flow, body } = batchOf(3);
  const headers = { 'idempotency-key': randomUUID() };
  const first = await tenant.post(body, headers);
  assert.equal(acceptedOf(first).accepted, 3);
  for (let n = 0; n < 3; n++) {
    const repeat = await tenant.post(body, headers);
    assert.equal(repeat.status, 202);
    assert.equal(repeat.text, first.text);
    assert.equal(repeat.headers['content-type'], first.headers['content-type']);
  }
  await tenant.caughtUp();
  await tenant.settled(3, { flowId: flow });
});

test('the same key with another body is 422 and stores nothing', async () => {
  const headers = { 'idempotency-key': `nightly job ${randomUUID()}` };
  const first = batchOf(1);
  const second = batchOf(1);
  assert.equal(acceptedOf(await tenant.post(first.body, headers)).accepted, 1);
  problemOf(await tenant.post(second.body, headers), 422);
  problemOf(await tenant.post(gzipSync(second.body), { ...headers, 'content-encoding': 'gzip' }), 422);
  assert.equal(acceptedOf(await tenant.post(first.body, headers)).accepted, 1);
  await tenant.caughtUp();
  await tenant.settled(1, { flowId: first.flow });
  await tenant.settled(0, { flowId: second.flow });
});

test('keys of different organizations have nothing to do with each other', async () => {
  const headers = { 'idempotency-key': randomUUID() };
  const mine = batchOf(2);
  const theirs = batchOf(1);
  assert.equal(acceptedOf(await tenant.post(mine.body, headers)).accepted, 2);
  assert.equal(acceptedOf(await other.post(theirs.body, headers)).accepted, 1);
  assert.equal(acceptedOf(await other.post(theirs.body, headers)).accepted, 1);
  await tenant.settled(2, { flowId: mine.flow });
  await other.settled(1, { flowId: theirs.flow });
});

test('up to 255 printable characters', async () => {
  const { body } = batchOf(1);
  assert.equal((await tenant.post(body, { 'idempotency-key': 'k'.repeat(255) })).status, 202);
  assert.equal(
    (await tenant.post(body, { 'idempotency-key': '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~ 0aZ' })).status,
    202,
  );
  for (const key of ['k'.repeat(256), 'caf\u00e9 1', 'a\tb']) {
    problemOf(await tenant.post(body, { 'idempotency-key': key }), 400);
  }
});

test('the key "body" is the body itself', async () => {
  const { flow, body } = batchOf(3);
  const headers = { 'idempotency-key': 'body' };
  const first = acceptedOf(await tenant.post(body, headers));
  const zipped = { ...headers, 'content-encoding': 'gzip' };
  assert.deepEqual(acceptedOf(await tenant.post(gzipSync(body), zipped)), first);
  const another = batchOf(2);
  assert.equal(acceptedOf(await tenant.post(another.body, headers)).accepted, 2);
  await tenant.settled(3, { flowId: flow });
  await tenant.settled(2, { flowId: another.flow });
});

test('two different keys are refused', async () => {
  const { port } = new URL(server.url);
  const body = JSON.stringify(sourceEvent());
  const post = (...keys: string[]) =>
    rawExchange(
      Number(port),
      [
        `POST /api/v1/audit HTTP/1.1\r\nHost: a\r\nX-API-Key: ${tenant.key}\r\nContent-Length: ${body.length}\r\n`,
        ...keys.map((key) => `Idempotency-Key: ${key}\r\n`),
        `\r\n${body}`,
      ],
      (text) => text.includes('}'),
    );
  assert.match(
    (await post('one', 'two')).text,
    /^HTTP\/1\.1 400 .*several different Idempotency-Key headers/s,
  );
  assert.match((await post('one', 'one')).text, /^HTTP\/1\.1 202 /);
});

test('the same body as records of another program, or in another form, is another one', async () => {
  const post = (query: string, key: string, type: string) =>
    call(`${server.url}/api/v1/audit${query}`, {
      method: 'POST',
      headers: { 'x-api-key': tenant.key, 'content-type': type, 'idempotency-key': key },
      body,
    });
  const at = '2024-03-02T01:02:03Z';
  const body = JSON.stringify({ time: at, published: at, eventType: 'a', action: 'b' });
  const key = randomUUID();
  const [json, ndjson] = ['application/json', 'application/x-ndjson'];
  const first = acceptedOf(await post('?from=json', key, json));
  problemOf(await post('?from=okta', key, json), 422);
  problemOf(await post('?from=json', key, ndjson), 422);
  problemOf(await post('', key, json), 422);
  assert.deepEqual(acceptedOf(await post('?from=json', key, json)), first);
  for (let n = 0; n < 2; n++)
    for (const from of ['json', 'okta']) acceptedOf(await post(`?from=${from}`, 'body', json));
  await tenant.caughtUp();
  await tenant.settled(3, { startTime: at, endTime: at });
});
