import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { acceptedOf, call, eventually, pageOf, problemOf, rawExchange } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import {
  createKey,
  createTenant,
  printed,
  sourceEvent,
  type Tenant,
  type SharedServer,
} from '../support/server.ts';
import { followFeed } from '../support/feed.ts';
import { sharedServer } from '../support/shared.ts';
import { createUser, signIn } from './session-support.ts';

let server: SharedServer;
let tenant: Tenant;
let other: Tenant;

before(async () => {
  server = await sharedServer();
  [tenant, other] = await Promise.all([createTenant(server, 'auth'), createTenant(server, 'auth-2')]);
});

const read = (headers: Record<string, string>) => call(`${server.url}/api/v1/audit`, { headers });
const write = (headers: Record<string, string>, body: unknown = [sourceEvent()]) =>
  call(`${server.url}/api/v1/audit`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** Invalid keys, made from a valid one. */
function wrongKeys(key: string): string[] {
  const [, id = '', secret = ''] = /^ak_(.{16})_(.{43})$/.exec(key) ?? [];
  const flipped = secret.startsWith('A') ? `B${secret.slice(1)}` : `A${secret.slice(1)}`;
  return [
    '',
    ' ',
    'x',
    'ak_',
    `ak_${id}`,
    `ak_${id}_`,
    `ak_${id}_${flipped}`,
    `ak_${id}_${secret}x`,
    `ak_${id}_${secret.slice(1)}`,
    `AK_${id}_${secret}`,
    `ak_${id}_${secret}, ak_${id}_${secret}`,
    `Bearer ${key}`,
    `ak_${randomBytes(12).toString('base64url').slice(0, 16)}_${randomBytes(32).toString('base64url')}`,
    `ak_${id}_${randomBytes(32).toString('base64url')}`,
    secret,
    "' OR 1=1 --",
    'x'.repeat(4000),
    '\u00e9\u00ff',
  ];
}

describe('401', () => {
  test('a key that is missing, malformed or unknown, for reading and for writing', async () => {
    problemOf(await read({}), 401);
    problemOf(await write({}), 401);
    for (const key of wrongKeys(tenant.key)) {
      problemOf(await read({ 'x-api-key': key }), 401);
      problemOf(await write({ 'x-api-key': key }), 401);
    }
  });

  test('the key counts in its headers only', async () => {
    problemOf(await read({ cookie: `service=${tenant.key}; x-api-key=${tenant.key}` }), 401);
    const answer = await call(`${server.url}/api/v1/audit?X-API-Key=${tenant.key}&api_key=${tenant.key}`);
    problemOf(answer, 401);
  });

  test('a revoked key, within 2 s', async () => {
    const key = await createKey(server, ['--org', 'auth', '--scopes', 'read,write']);
    pageOf(await read({ 'x-api-key': key.key }));
    const revoked = printed(await server.cliHere(['key', 'revoke', key.id, '--json'])) as Record<
      string,
      unknown
    >;
    assert.deepEqual(Object.keys(revoked).sort(), ['id', 'revoked_at']);
    assert.equal(revoked['id'], key.id);
    const answered = performance.now();
    let lastTaken = answered;
    await eventually('the key to be refused', async () => {
      const asked = performance.now();
      if ((await read({ 'x-api-key': key.key })).status === 401) return true;
      lastTaken = asked;
      return undefined;
    });
    assert.ok(lastTaken - answered < patience(1_000));
    problemOf(await write({ 'x-api-key': key.key }), 401);
  });

  test('a poll of the feed that began while its key or its session was good', async () => {
    const key = await createKey(server, ['--org', 'auth', '--scopes', 'read']);
    await createUser(server, 'auth', 'auditor', 'polls@auth.example');
    const session = await signIn(server, 'polls@auth.example');
    const [, cursor] = await followFeed(tenant);
    const later = `feed?wait=30&actor=late@auth.example&cursor=${cursor}`;
    const polls = [
      call(`${server.url}/api/v1/audit/${later}`, { headers: { 'x-api-key': key.key } }),
      session.get(`/api/v1/portal/${later}`),
    ];
    // Long enough for both to wait.
    await sleep(500);
    await session.send('POST', '/api/v1/auth/logout');
    await server.cliHere(['key', 'revoke', key.id]);
    await eventually('the key to be refused', async () =>
      (await read({ 'x-api-key': key.key })).status === 401 ? true : undefined,
    );
    acceptedOf(await write({ 'x-api-key': tenant.key }, [sourceEvent({ actor: 'late@auth.example' })]));
    for (const poll of polls) problemOf(await poll, 401);
  });

  test('a body that began to come while its key was good', async () => {
    const key = await createKey(server, ['--org', 'auth', '--scopes', 'read,write']);
    const body = JSON.stringify(sourceEvent({ actor: 'slow@auth.example' }));
    const headers = { 'x-api-key': key.key, 'content-type': 'application/json' };
    const sent = request(`${server.url}/api/v1/audit`, { method: 'POST', headers });
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    sent.write(body.slice(0, 10));
    await sleep(500);
    await server.cliHere(['key', 'revoke', key.id]);
    await eventually('the key to be refused', async () =>
      (await read({ 'x-api-key': key.key })).status === 401 ? true : undefined,
    );
    sent.end(body.slice(10));
    const [answer] = await answered;
    answer.resume();
    assert.equal(answer.statusCode, 401);
  });
});

describe('Authorization: Bearer', () => {
  const bearer = (key: string, scheme = 'Bearer ') => ({ authorization: `${scheme}${key}` });

  test('does what X-API-Key does, on every endpoint for keys', async () => {
    for (const scheme of ['Bearer ', 'bearer ', 'BEARER   ']) pageOf(await read(bearer(tenant.key, scheme)));
    assert.equal(acceptedOf(await write(bearer(tenant.key))).accepted, 1);
    for (const path of ['/api/v1/audit/feed', '/api/v1/audit/export']) {
      const answer = await call(`${server.url}${path}?limit=1`, { headers: bearer(tenant.key) });
      assert.equal(answer.status, 200, path);
    }
    const reader = await createKey(server, ['--org', 'auth', '--scopes', 'read']);
    problemOf(await write(bearer(reader.key)), 403);
  });

  test('beside X-API-Key it must be the same key', async () => {
    const both = (authorization: string) => read({ 'x-api-key': tenant.key, authorization });
    pageOf(await both(`Bearer ${tenant.key}`));
    for (const authorization of [
      `Bearer ${other.key}`,
      `Bearer ${tenant.key}x`,
      `Bearer ${tenant.key}, Bearer ${tenant.key}`,
      `Basic dXNlcjpwYXNzd29yZA==, Bearer ${other.key}`,
      `Basic dXNlcjpwYXNzd29yZA==, Bearer ${tenant.key}`,
      'Bearer x',
      'Bearer ',
    ])
      problemOf(await both(authorization), 401);
    problemOf(await read({ 'x-api-key': 'x', ...bearer(tenant.key) }), 401);
    problemOf(await read({ 'x-api-key': '', ...bearer(tenant.key) }), 401);
    // Credentials for a proxy do not concern the service.
    pageOf(await both('Basic dXNlcjpwYXNzd29yZA=='));
  });

  test('401 for all else in it, with a challenge that names both ways', async () => {
    for (const key of wrongKeys(tenant.key)) problemOf(await read(bearer(key)), 401);
    for (const scheme of [
      '',
      'Basic ',
      'ApiKey ',
      'Token ',
      'Bearer',
      'Bearer:',
      'Bearer=',
      'Bearer, ',
      'X-Bearer ',
    ])
      problemOf(await read(bearer(tenant.key, scheme)), 401);
    problemOf(await read({ authorization: 'Bearer' }), 401);
    problemOf(await read({ authorization: `Basic dXNlcjpwYXNzd29yZA==, Bearer ${tenant.key}` }), 401);
    // Linear in its length, for any content.
    for (const filling of [', ', ',', ' ', ', bearer ', 'bearer, '])
      problemOf(await read(bearer(filling.repeat(12_000 / filling.length))), 401);
    const { headers } = await read({});
    assert.match(String(headers['www-authenticate']), /^ApiKey header="X-API-Key", Bearer realm="[^"]+"$/);
  });
});

test('a credential that is sent twice is none, also when both are the same', async () => {
  const line = 'GET /api/v1/audit?limit=1 HTTP/1.1';
  const statusOf = async (...headers: string[]) => {
    const request = [line, 'Host: x', ...headers, '', ''].join('\r\n');
    const until = (received: string) => received.includes('\r\n\r\n');
    const { text } = await rawExchange(server.port, [request], until);
    return Number(text.split(' ')[1]);
  };
  const key = `X-API-Key: ${tenant.key}`;
  const bearer = `Authorization: Bearer ${tenant.key}`;
  assert.equal(await statusOf(key), 200);
  assert.equal(await statusOf(bearer, key), 200);
  assert.equal(await statusOf(key, key), 401);
  assert.equal(await statusOf(bearer, bearer), 401);
  assert.equal(await statusOf(key, bearer, 'authorization: Basic dXNlcjpwYXNzd29yZA=='), 401);
  assert.equal(await statusOf(key, 'Authorization: Basic dXNlcjpwYXNzd29yZA==', bearer), 401);
});
