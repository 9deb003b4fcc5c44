import { strict as assert } from 'node:assert';
import { mkdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { flipBit } from '../support/flip-bit.ts';
import { call } from '../support/http.ts';
import { inEngineOf } from '../support/engine.ts';
import { keptService } from '../support/kept-service.ts';
import { createKey, createTenant, keyKnown, printed, sourceEvent, type Tenant } from '../support/server.ts';

/** Control data that a disk harms: what was revoked, disabled or held stays so, and the rest works on. */

const service = keptService();
const password = 'correct horse battery';
let tenant: Tenant;
let revoked: string;
let revokedId: string;

const cli = async (...args: string[]) => {
  const answer = await service.server.cliHere(args, `${password}\n`);
  assert.equal(answer.code, 0, answer.stderr);
  return answer;
};

before(async () => {
  tenant = await createTenant(await service.ready(), 'kept');
  const key = await createKey(service.server, ['--org', 'kept', '--scopes', 'read,write']);
  await keyKnown(service.server, key.key);
  [revoked, revokedId] = [key.key, key.id];
  await cli(
    'user',
    'create',
    '--org',
    'kept',
    '--email',
    'eve@kept.test',
    '--name',
    'Eve',
    '--role',
    'auditor',
    '--password-stdin',
  );
  await cli('key', 'revoke', revokedId);
  const [user] = printed(await cli('user', 'list', '--org', 'kept', '--json')) as { id: string }[];
  await cli('user', 'disable', user?.id ?? '');
  await cli('org', 'hold', '--org', 'kept', '--reason', 'a case');
});

const tables = ['organizations', 'users', 'api_keys', 'retention_policies'];

/** Paths of all parts of these tables, oldest first, by an engine that ends before they are harmed. */
const partsOf = (): Promise<Map<string, string[]>> =>
  inEngineOf(service.dataDir, async (storage) => {
    const rows = await storage.rows<{ table: string; path: string }>(
      `SELECT table, path FROM system.parts WHERE database = currentDatabase() AND active
         AND has({tables:Array(String)}, table) ORDER BY max_block_number`,
      { tables },
    );
    return new Map(
      tables.map((table) => [table, rows.flatMap((row) => (row.table === table ? [row.path] : []))]),
    );
  });

async function allIsAsItWas(): Promise<void> {
  const sent = await call(`${service.server.url}/api/v1/audit`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': tenant.key },
    body: JSON.stringify([sourceEvent()]),
  });
  assert.equal(sent.status, 202);
  const headers = { 'x-api-key': revoked };
  assert.equal((await call(`${service.server.url}/api/v1/audit`, { headers })).status, 401);
  const signIn = await call(`${service.server.url}/api/v1/auth/login-handler`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'eve@kept.test', password, organization: 'kept' }),
  });
  assert.equal(signIn.status, 401);
  const organizations = printed(await cli('org', 'list', '--json')) as { slug: string; hold?: unknown }[];
  assert.match(JSON.stringify(organizations.find(({ slug }) => slug === 'kept')), /a case/);
}

interface Readiness {
  readonly checks: Readonly<Record<string, boolean>>;
  readonly damage?: readonly { readonly kind: string; readonly id: string; readonly detail: string }[];
}
const readiness = async () => JSON.parse((await call(`${service.server.url}/readyz`)).text) as Readiness;

/** The tables that the doctor finds something wrong with. */
async function namedByDoctor(): Promise<string[] | undefined> {
  const examined = await service.server.cliHere(['doctor', '--quick', '--json']);
  assert.equal(examined.code, 1);
  const { checks } = JSON.parse(examined.stdout.split('\n')[0] ?? '') as {
    checks: { name: string; findings: { id: string }[] }[];
  };
  return checks.find((one) => one.name === 'control_data')?.findings.map(({ id }) => id);
}

// `control-mend.slow.test.ts` has all that a disk can do; the simulator also harms what is in use.
describe('harmed while the service does not run', () => {
  test('all parts are gone: doctor names it, and the start puts it back and tells', async () => {
    await service.server.stop();
    for (const [, parts] of await partsOf()) for (const part of parts) await rm(part, { recursive: true });
    assert.deepEqual(await namedByDoctor(), tables);
    await service.start();
    await allIsAsItWas();
    const { checks: ready, damage = [] } = await readiness();
    assert.equal(ready['nothing_damaged'], false);
    const told = damage.filter(({ kind }) => kind === 'control_data');
    assert.deepEqual(
      told.map(({ id }) => id),
      tables,
    );
    for (const { detail } of told) assert.match(detail, /are put back$/);
    assert.match(
      (await call(`${service.server.url}/metrics`)).text,
      /^auditlog_control_rows_put_back_total\{table="api_keys"\} [1-9]/m,
    );
    const lines = service.server.stderrLines().filter((line) => line.includes('its copy has put it back'));
    assert.equal(lines.length, tables.length);
  });

  test('a bit of the newest part: doctor names it, --repair does the same, and says what it did', async () => {
    await service.server.stop();
    for (const [, parts] of await partsOf()) await flipBit(join(parts.at(-1) ?? '', 'data.bin'));
    assert.deepEqual(await namedByDoctor(), tables);
    const repaired = await cli('doctor', '--repair', '--json');
    const { healthy, tables: done } = JSON.parse(repaired.stdout) as {
      healthy: boolean;
      tables: { table: string; put_back: number; parts_taken_out: string[] }[];
    };
    assert.ok(healthy && done.every((one) => one.put_back > 0 && one.parts_taken_out.length === 1));
    assert.deepEqual(
      done.map(({ table }) => table),
      tables,
    );
    assert.match((await cli('doctor', '--repair')).stdout, /nothing was repaired/);
    await service.start();
    await allIsAsItWas();
    assert.equal((await readiness()).checks['nothing_damaged'], true);
  });

  test('a service without a copy that cannot read a table says what to do, and a command does it', async () => {
    await service.server.stop();
    const parts = await partsOf();
    await flipBit(join(parts.get('api_keys')?.at(-1) ?? '', 'data.bin'));
    await rm(join(service.dataDir, 'control-data.log'));
    await assert.rejects(service.start(), /api_keys cannot be read .*doctor --repair/s);
    assert.match((await cli('doctor', '--repair')).stdout, /api_keys: part .* was taken out; 0 rows/);
    await service.start();
    tenant = {
      ...tenant,
      key: (await createKey(service.server, ['--org', 'kept', '--scopes', 'read,write'])).key,
    };
    await keyKnown(service.server, tenant.key);
  });
});

test('control data that cannot be written: readyz is 503 by a check of its own until it can', async () => {
  const copy = join(service.dataDir, 'control-data.log');
  assert.equal((await readiness()).checks['control_data_takes_writes'], true);
  await rename(copy, `${copy}.kept`);
  await mkdir(copy);
  const { status, text } = await call(`${service.server.url}/readyz`);
  assert.equal(status, 503);
  const { checks: ready } = JSON.parse(text) as Readiness;
  assert.deepEqual(
    Object.keys(ready).filter((name) => ready[name] === false),
    ['control_data_takes_writes'],
  );
  await rmdir(copy);
  await rename(`${copy}.kept`, copy);
  assert.equal((await call(`${service.server.url}/readyz`)).status, 200);
});
