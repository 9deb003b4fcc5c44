import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { acceptedOf, problemOf } from '../support/http.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';

/** What holds where nothing is configured. */

let server: TestServer;
let tenant: Tenant;

before(async () => {
  server = await startServer({
    env: { FLUSH_INTERVAL: undefined, RATE_LIMIT_AUDIT: undefined, WORKERS: undefined },
  });
  tenant = await createTenant(server, 'defaults');
});
after(() => server?.stop());

test('reads are limited to 300 in 15 s, writes are not limited', async () => {
  const answer = await tenant.get();
  assert.equal(answer.status, 200);
  assert.equal(answer.headers['ratelimit-limit'], '300');
  assert.ok(Number(answer.headers['ratelimit-remaining']) < 300);
  assert.ok(Number(answer.headers['ratelimit-reset']) <= 15);
  const posted = await tenant.post([sourceEvent()]);
  assert.equal(posted.status, 202);
  assert.equal(posted.headers['ratelimit-limit'], undefined);
});

test('an event is readable 1.5 s after its 202 (FLUSH_INTERVAL + 1 s)', async () => {
  // The first flush pays for things that happen once.
  await tenant.caughtUp();
  // The quickest of several: each may have to wait for a processor that another program has.
  const waitedMs: number[] = [];
  while (waitedMs.length < 8 && !waitedMs.some((ms) => ms <= 1500)) {
    const flowId = randomUUID();
    await tenant.record([sourceEvent({ flow_id: flowId })]);
    const answered = performance.now();
    await tenant.settled(1, { flowId });
    waitedMs.push(Math.round(performance.now() - answered));
  }
  assert.ok(Math.min(...waitedMs) <= 1500, `readable after ${waitedMs.join(', ')} ms`);
});

test('the fixed texts are "Audit Log Service"', async () => {
  const flowId = randomUUID();
  await tenant.record([sourceEvent({ flow_id: flowId })]);
  const [event] = (await tenant.settled(1, { flowId })).data;
  assert.deepEqual(event?.metadata['product'], {
    name: 'Audit Log Service',
    vendor_name: 'Audit Log Service',
  });
  assert.equal(event?.actor.app_name, 'Audit Log Service');
});

test('a body may have 32 MiB', async () => {
  const full = JSON.stringify(sourceEvent()).padEnd(32 * 1024 * 1024, ' ');
  assert.equal(acceptedOf(await tenant.post(full)).accepted, 1);
  problemOf(await tenant.post(`${full} `), 413);
});
