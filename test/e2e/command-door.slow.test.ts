import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { call } from '../support/http.ts';
import {
  type CliAnswer,
  createTenant,
  printed,
  runCli,
  startServer,
  type Tenant,
  type TestServer,
} from '../support/server.ts';

/** Commands whose changes a running server makes. */

let dataDir: string;
let server: TestServer;
let tenant: Tenant;

before(async () => {
  dataDir = await temporaryDirectory();
  server = await startServer({ dataDir });
  tenant = await createTenant(server, 'door');
});
after(async () => {
  await server?.stop();
  await removeDirectory(dataDir);
});

interface IssuedKey {
  readonly id: string;
  readonly key: string;
}

const newKey = ['key', 'create', '--org', 'door', '--scopes', 'read', '--json'];
const issued = (answer: CliAnswer) => printed(answer) as IssuedKey;
const statusOf = async (key: string) =>
  (await call(`${server.url}/api/v1/audit?limit=1`, { headers: { 'x-api-key': key } })).status;
const codes = async () => {
  await tenant.caughtUp();
  const { data } = await tenant.page({ limit: '1000' });
  return data.map(({ activity_id: code }) => code).filter((code) => code >= 1300 && code < 1310);
};

test('a change is in force when its command ends, and has one event', async () => {
  const { id, key } = issued(await server.cliHere(newKey));
  assert.equal(await statusOf(key), 200);
  for (let n = 0; n < 2; n += 1) printed(await server.cliHere(['key', 'revoke', id, '--json']));
  assert.equal(await statusOf(key), 401);
  const refused = await server.cliHere(['key', 'rotate', id]);
  assert.deepEqual([refused.code, /is revoked/.test(refused.stderr)], [1, true], refused.stderr);
  // One event of the tenant's own key, and two of this one.
  assert.deepEqual(await codes(), [1302, 1300, 1300]);
});

test('a suspended server makes the change when it continues', async () => {
  const { id, key } = issued(await server.cliHere(newKey));
  process.kill(server.pid, 'SIGSTOP');
  const revoked = server.cli(['key', 'revoke', id, '--json']);
  // Without an answer nothing happens, for longer than a command once waited.
  const first = await Promise.race([revoked, sleep(8_000)]);
  process.kill(server.pid, 'SIGCONT');
  assert.equal(first, undefined);
  printed(await revoked);
  assert.equal(await statusOf(key), 401);
});

test('a server that is killed before it answers: the command makes the change by itself, once', async () => {
  const before = await codes();
  process.kill(server.pid, 'SIGSTOP');
  const made = runCli(newKey, { dataDir });
  await Promise.race([made, sleep(4_000)]);
  await server.kill('SIGKILL');
  const { key } = issued(await made);
  server = await startServer({ dataDir });
  tenant = tenant.with({ server });
  assert.equal(await statusOf(key), 200);
  assert.deepEqual(await codes(), [1300, ...before]);
});
