import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { problemOf } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';
import { createUser, jsonOf, signIn, withCookie } from './session-support.ts';

let dataDir: string;
let server: TestServer;
let tenant: Tenant;

before(async () => {
  dataDir = await temporaryDirectory();
  // Nothing acknowledged reaches the engine until the restart.
  server = await startServer({ dataDir, env: { FLUSH_INTERVAL: '60s' } });
  tenant = await createTenant(server, 'restart');
});
after(async () => {
  await server?.stop();
  await removeDirectory(dataDir);
});

async function restart(): Promise<void> {
  server = await startServer({ dataDir });
  tenant = tenant.with({ server });
}

/** Changes of an administrator with their own Idempotency-Keys, and the expected repeats. */
async function makeChanges() {
  const email = 'admin@restart.example';
  await createUser(server, 'restart', 'admin', email);
  const { cookie } = await signIn(server, email);
  const keys = [randomUUID(), randomUUID()] as const;
  const send = (path: string, body: object, key: string) =>
    withCookie(server, cookie).send('POST', `/api/v1/portal/${path}`, body, { 'idempotency-key': key });
  const user = { email: 'ben@restart.example', name: 'Ben', role: 'member' };
  const addUser = (name = 'Ben') => send('users', { ...user, name }, keys[0]);
  const addKey = async () => jsonOf(await send('api-keys', { scopes: ['read'] }, keys[1]), 201);
  const works = async (key: unknown) => (await tenant.with({ key: String(key) }).get()).status;
  const [made, unseen] = [await addUser(), await addKey()];
  jsonOf(made, 201);
  return async () => {
    const again = await addUser();
    assert.deepEqual([again.status, again.text], [made.status, made.text]);
    problemOf(await addUser('Another'), 422);
    // Its secret is not stored: a repeat ends the unseen key.
    const { key } = await addKey();
    assert.deepEqual([await works(unseen['key']), await works(key)], [401, 200]);
  };
}

test('kill -9 right after a 202 loses nothing and doubles nothing, and a repeat of events or of a change is known then, and after a clean stop', async () => {
  const flow = randomUUID();
  const count = 100;
  const events = Array.from({ length: count }, (_, n) => sourceEvent({ flow_id: flow, extra: { n } }));
  const headers = { 'idempotency-key': randomUUID() };
  const repeat = () => tenant.post(events, headers);
  const first = await repeat();
  assert.equal(first.status, 202, first.text);
  const holdChanges = await makeChanges();
  await server.kill('SIGKILL');
  await restart();
  await tenant.settled(count, { flowId: flow });
  const holdKnown = async () => {
    const again = await repeat();
    assert.deepEqual([again.status, again.text], [first.status, first.text]);
    problemOf(await tenant.post([sourceEvent()], headers), 422);
  };
  await holdKnown();
  await holdChanges();
  assert.equal(await server.stop(), 0);
  await restart();
  await holdKnown();
  await tenant.caughtUp();
  const { data } = await tenant.settled(count, { flowId: flow });
  assert.deepEqual(
    data.map((event) => event.extra_map?.['n']),
    Array.from({ length: count }, (_, n) => count - 1 - n),
  );
});
