import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, type HttpAnswer, problemOf, retryAfterOf } from '../support/http.ts';
import { conformance, type OpenApiDocument } from '../support/openapi.ts';
import {
  createKey,
  createTenant,
  sourceEvent,
  startServer,
  type Tenant,
  type TestServer,
} from '../support/server.ts';

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

/** The three numbers that stand on every limited answer. */
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

test('reads are counted down, then 429, then allowed again; one client does not use up the limit of another', async () => {
  await windowOver();
  for (let left = 4; left >= 0; left--) {
    const answer = await one.get();
    assert.equal(answer.status, 200);
    const { limit, remaining, reset } = ratesOf(answer);
    assert.equal(limit, 5);
    assert.equal(remaining, left);
    assert.ok(reset <= 3);
  }
  for (let n = 0; n < 3; n++) {
    const refused = await one.get();
    problemOf(refused, 429);
    assert.deepEqual({ ...ratesOf(refused), reset: 0 }, { limit: 5, remaining: 0, reset: 0 });
    const seconds = retryAfterOf(refused);
    assert.ok(seconds >= 1 && seconds <= 3, `Retry-After: ${seconds}`);
  }
  assert.equal((await two.get()).status, 200);
  await windowOver();
  assert.equal((await one.get()).status, 200);
});

test('writing has a limit of its own', async () => {
  await windowOver();
  const statuses: number[] = [];
  for (let n = 0; n < 7; n++) statuses.push((await two.post([sourceEvent()])).status);
  assert.deepEqual(statuses, [202, 202, 202, 202, 202, 202, 429]);
  const refused = await two.post([sourceEvent()]);
  problemOf(refused, 429);
  assert.equal(ratesOf(refused).limit, 6);
  assert.equal((await two.get()).status, 200);
});

test('a key may have a limit of its own', async () => {
  const key = await createKey(server, ['--org', 'one', '--scopes', 'read', '--rate-limit', '3/15s']);
  const own = one.with({ key: key.key });
  const statuses: number[] = [];
  for (let n = 0; n < 5; n++) statuses.push((await own.get()).status);
  // Making the key known may have used one of its requests.
  assert.ok(statuses.filter((status) => status === 200).length >= 2, String(statuses));
  assert.deepEqual(statuses.slice(3), [429, 429]);
  assert.equal(ratesOf(await own.get()).limit, 3);
});

test('limited answers are as the document says', async () => {
  const document = JSON.parse((await call(`${server.url}/openapi.json`)).text) as OpenApiDocument;
  const conform = conformance(document);
  await windowOver();
  for (let n = 0; n < 6; n++) {
    const answer = await one.get();
    assert.equal(answer.status, n < 5 ? 200 : 429);
    conform.check('GET', path, answer);
  }
});
