import { strict as assert } from 'node:assert';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, type HttpAnswer, problemOf, retryAfterOf } from '../support/http.ts';
import {
  createKey,
  createTenant,
  sourceEvent,
  startServer,
  type Tenant,
  type TestServer,
} from '../support/server.ts';
import { createUser, jsonOf, login, password, signIn, withCookie } from './session-support.ts';

const windowMs = 3000;
const path = '/api/v1/audit';
let server: TestServer;
let one: Tenant;
let two: Tenant;

before(async () => {
  server = await startServer({ env: { RATE_LIMIT_AUDIT: '5/3s', RATE_LIMIT_INGEST: '6/3s' } });
  one = await createTenant(server, 'one');
  two = await createTenant(server, 'two');
});
after(() => server?.stop());

const windowOver = () => sleep(windowMs + 200);
const attemptsMax = 5;

/** Work that must fit into one window; a busy machine repeats it in the next one. */
async function withinWindow(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const begun = performance.now();
    try {
      return await work();
    } catch (error) {
      if (performance.now() - begun < windowMs || attempt === attemptsMax) throw error;
    }
    await windowOver();
  }
}

/** The three numbers of every limited answer. */
function ratesOf(answer: HttpAnswer): { limit: number; remaining: number; reset: number } {
  const number = (name: string) => {
    assert.match(String(answer.headers[name]), /^\d+$/, `${answer.status}: ${name}`);
    return Number(answer.headers[name]);
  };
  return {
    limit: number('ratelimit-limit'),
    remaining: number('ratelimit-remaining'),
    reset: number('ratelimit-reset'),
  };
}

function between(value: number, least: number, most: number, what: string): void {
  assert.ok(value >= least && value <= most, `${what} is ${value}, not ${least} to ${most}`);
}

test('reads are counted down, then 429, then allowed again; one client does not use up the limit of another', async () => {
  await withinWindow(async () => {
    for (let left = 4; left >= 0; left--) {
      const answer = await one.get();
      assert.equal(answer.status, 200);
      const { limit, remaining, reset } = ratesOf(answer);
      assert.equal(limit, 5);
      assert.equal(remaining, left);
      between(reset, 1, 3, 'RateLimit-Reset');
    }
    for (let n = 0; n < 3; n++) {
      const refused = await one.get();
      problemOf(refused, 429);
      assert.deepEqual({ ...ratesOf(refused), reset: 0 }, { limit: 5, remaining: 0, reset: 0 });
      between(retryAfterOf(refused), 1, 3, 'Retry-After');
    }
  });
  assert.equal((await two.get()).status, 200);
  // All earlier windows are over: the following tests begin their own.
  await windowOver();
  assert.equal((await one.get()).status, 200);
});

test('invalid keys are counted by address, despite forged headers; a valid one is not', () =>
  withinWindow(async () => {
    const wrong = (n: number) =>
      call(`${server.url}${path}`, {
        headers: {
          'x-api-key': `ak_wrong${n}`,
          'x-forwarded-for': `203.0.113.${n}`,
          forwarded: `for=192.0.2.${n}`,
        },
      });
    for (let left = 4; left >= 0; left--) {
      const refused = await wrong(left);
      problemOf(refused, 401);
      assert.deepEqual({ ...ratesOf(refused), reset: 0 }, { limit: 5, remaining: left, reset: 0 });
    }
    for (let n = 10; n < 13; n++) {
      const refused = await wrong(n);
      problemOf(refused, 429);
      assert.equal(ratesOf(refused).remaining, 0);
      between(retryAfterOf(refused), 1, 3, 'Retry-After');
    }
    // A guesser must not lock out others.
    assert.equal((await one.get()).status, 200);
  }));

test('writing has a limit of its own', () =>
  withinWindow(async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 7; n++) statuses.push((await two.post([sourceEvent()])).status);
    assert.deepEqual(statuses, [202, 202, 202, 202, 202, 202, 429]);
    const refused = await two.post([sourceEvent()]);
    problemOf(refused, 429);
    assert.equal(ratesOf(refused).limit, 6);
    assert.equal((await two.get()).status, 200);
  }));

test('a key may have a limit of its own', async () => {
  const key = await createKey(server, ['--org', 'one', '--scopes', 'read', '--rate-limit', '3/15s']);
  const own = one.with({ key: key.key });
  const statuses: number[] = [];
  for (let n = 0; n < 5; n++) statuses.push((await own.get()).status);
  // Waiting for the key may have used one of its requests.
  assert.ok(statuses.filter((status) => status === 200).length >= 2, String(statuses));
  assert.deepEqual(statuses.slice(3), [429, 429]);
  assert.equal(ratesOf(await own.get()).limit, 3);
});

describe('by default, behind a proxy that is trusted', () => {
  const whoami = '/api/v1/portal/whoami';
  const from = (address: string) => ({ 'x-forwarded-for': address });
  let proxied: TestServer;

  before(async () => {
    proxied = await startServer({ env: { TRUST_PROXY: '1', RATE_LIMIT_AUDIT: undefined } });
    await createTenant(proxied, 'limits');
    await Promise.all([
      createUser(proxied, 'limits', 'admin', 'admin@x.example'),
      createUser(proxied, 'limits', 'member', 'member@x.example'),
    ]);
  });
  after(() => proxied?.stop());

  test('a session has 30 requests in 15 s, over all tenant endpoints, errors among them; another has its own', async () => {
    const admin = await signIn(proxied, 'admin@x.example', { headers: from('198.51.100.1') });
    const member = await signIn(proxied, 'member@x.example', { headers: from('198.51.100.1') });
    const requests: readonly (readonly [status: number, answer: () => Promise<HttpAnswer>])[] = [
      [200, () => admin.get(whoami)],
      [200, () => admin.get('/api/v1/auth/token')],
      [200, () => admin.get('/api/v1/dashboard/organization/get-events-in-org?limit=1')],
      [200, () => admin.get('/api/v1/portal/receipts')],
      [200, () => admin.get('/api/v1/portal/events', from('198.51.100.2'))],
      [404, () => admin.send('POST', '/api/v1/portal/api-keys/0123456789abcdef/revoke')],
      [400, () => admin.send('PATCH', '/api/v1/portal/settings')],
      [415, () => admin.send('POST', '/api/v1/auth/logout', {}, { 'content-type': 'text/plain' })],
      [403, () => admin.send('POST', '/api/v1/auth/logout', {}, { origin: 'http://evil.example' })],
    ];
    for (let n = 0; n < 30; n++) {
      const [status, request] = requests[n] ?? [200, () => admin.get(whoami)];
      const answer = await request();
      assert.equal(answer.status, status, answer.text);
      const { limit, remaining, reset } = ratesOf(answer);
      assert.deepEqual([limit, remaining], [30, 29 - n]);
      between(reset, 1, 15, 'RateLimit-Reset');
    }
    for (const address of ['198.51.100.1', '198.51.100.3']) {
      const refused = await admin.get(whoami, from(address));
      problemOf(refused, 429);
      assert.deepEqual([ratesOf(refused).limit, ratesOf(refused).remaining], [30, 0]);
      between(retryAfterOf(refused), 1, 15, 'Retry-After');
    }
    const other = await member.get('/api/v1/portal/users');
    problemOf(other, 403);
    assert.equal(ratesOf(other).remaining, 29);
  });

  test('cookies that are not good are counted by address', async () => {
    const guess = (n: number, address: string) =>
      withCookie(proxied, `service=wrong${n}`).get(whoami, from(address));
    for (let n = 0; n < 30; n++) {
      const refused = await guess(n, '198.51.100.10');
      problemOf(refused, 401);
      assert.deepEqual([ratesOf(refused).limit, ratesOf(refused).remaining], [30, 29 - n]);
    }
    const last = await guess(30, '198.51.100.10');
    problemOf(last, 429);
    between(retryAfterOf(last), 1, 15, 'Retry-After');
    problemOf(await guess(31, '198.51.100.11'), 401);
  });

  test('an address has 10 logins in 60 s, right or wrong; another has its own', async () => {
    const attempt = (address: string, secret = 'a wrong password', email = 'admin@x.example') =>
      login(proxied, { email, password: secret }, from(address));
    const address = '203.0.113.1';
    const begun = performance.now();
    const leastLeft = () => Math.max(1, 59 - Math.ceil((performance.now() - begun) / 1000));
    const first = await attempt(address, password);
    jsonOf(first);
    assert.deepEqual([ratesOf(first).limit, ratesOf(first).remaining], [10, 9]);
    between(ratesOf(first).reset, leastLeft(), 60, 'RateLimit-Reset');
    for (let left = 8; left >= 0; left--) {
      const refused = await attempt(address, undefined, `guess${left}@x.example`);
      problemOf(refused, 401);
      assert.deepEqual([ratesOf(refused).limit, ratesOf(refused).remaining], [10, left]);
    }
    // From there all logins fail now, even with the right password.
    for (const secret of [password, 'x']) {
      const refused = await attempt(address, secret);
      problemOf(refused, 429);
      assert.equal(refused.headers['set-cookie'], undefined);
      between(retryAfterOf(refused), leastLeft(), 60, 'Retry-After');
    }
    // Entries before the address that the proxy saw can be forged.
    problemOf(await attempt(`192.0.2.99, ${address}`, password), 429);
    jsonOf(await attempt('203.0.113.2', password));
  });

  test('trying one’s own password counts as a login of the address', async () => {
    const address = from('198.51.100.21');
    const own = await signIn(proxied, 'member@x.example', { headers: address });
    const change = { current: 'a wrong password', new: 'another horse battery staple' };
    const guess = () => own.send('POST', '/api/v1/portal/password', change, address);
    for (let n = 0; n < 9; n++) problemOf(await guess(), 403);
    const last = await guess();
    problemOf(last, 429);
    assert.deepEqual([ratesOf(last).limit, ratesOf(last).remaining], [10, 0]);
    problemOf(await login(proxied, { email: 'somebody@x.example', password }, address), 429);
  });

  test('probes and the document have no limit', async () => {
    for (const open of ['/healthz', '/readyz', '/openapi.json']) {
      const answer = await call(`${proxied.url}${open}`);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers['ratelimit-limit'], undefined);
    }
  });
});
