import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { call, eventually } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import { createTenant, printed, sourceEvent, type Tenant } from '../support/server.ts';

/** A clock that jumps while the service is stopped: nothing goes by it, nothing is stored twice, until somebody confirms it. */

const dayMs = 86_400_000;
const env = { RETENTION_INTERVAL: '1s', EVIDENCE_INTERVAL: 'off' };
const service = keptService(env);
const stored = 7;
const body = JSON.stringify(Array.from({ length: 5 }, () => sourceEvent({ flow_id: randomUUID() })));
const idempotencyKey = randomUUID();
let short: Tenant;
let ever: Tenant;

/** The environment of a process whose clock is wrong by so many days. */
function wrongBy(days: number): Record<string, string> {
  const module = new URL('../support/shifted-clock.mjs', import.meta.url).href;
  return { ...env, NODE_OPTIONS: `--import ${module}`, CLOCK_SHIFT_MS: String(days * dayMs) };
}

async function countOf(tenant: Tenant, condition: string): Promise<number> {
  const file = JSON.parse(await readFile(join(service.dataDir, 'engine.json'), 'utf8')) as {
    url: string;
    user: string;
    password: string;
    headers: Record<string, string>;
  };
  const answer = await call(`${file.url}/?database=audit`, {
    method: 'POST',
    headers: { ...file.headers, 'x-clickhouse-user': file.user, 'x-clickhouse-key': file.password },
    body: `SELECT count() FROM events WHERE org = '${tenant.organization.id}' AND ${condition}`,
  });
  assert.equal(answer.status, 200, answer.text);
  return Number(answer.text);
}

const send = () =>
  call(`${service.server.url}/api/v1/audit`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': ever.key,
      'idempotency-key': idempotencyKey,
    },
    body,
  });

async function readiness() {
  const answer = await call(`${service.server.url}/readyz`);
  assert.equal(answer.status, 200, answer.text);
  return JSON.parse(answer.text) as { checks: Record<string, boolean>; clock?: string };
}

before(async () => {
  const server = await service.ready();
  [short, ever] = [await createTenant(server, 'short'), await createTenant(server, 'ever')];
  const set = await server.cliHere(['org', 'set', '--org', 'short', '--retention', '30d']);
  assert.equal(set.code, 0, set.stderr);
  const timestamp = new Date(Date.now() - 10 * dayMs).toISOString();
  await short.record(Array.from({ length: stored }, () => sourceEvent({ timestamp })));
  assert.equal((await send()).status, 202);
  await eventually(
    'all to be stored',
    async () => {
      const [first, second] = [
        await countOf(short, 'activity_id = 2001'),
        await countOf(ever, 'activity_id = 2001'),
      ];
      return first === stored && second === 5 ? true : undefined;
    },
    30_000,
  );
});

test('60 days ahead: nothing is removed, nothing is forgotten, and everybody is told', async () => {
  const answered = (await send()).text;

  await service.server.stop();
  await service.start(wrongBy(60));
  const { clock } = await eventually('the clock to be doubted', async () => {
    const found = await readiness();
    return found.checks['clock_trusted'] === false ? found : undefined;
  });
  assert.match(clock ?? '', /^the clock is 60\.0 days ahead/);
  assert.match((await call(`${service.server.url}/metrics`)).text, /^auditlog_clock_ahead_seconds 51\d{5}$/m);
  assert.equal(
    service.server.stderrLines().filter((line) => line.includes('days ahead of the time')).length,
    1,
  );
  assert.equal(await countOf(short, 'activity_id = 2001'), stored);
  const again = await send();
  assert.deepEqual([again.status, again.text], [202, answered]);
  await service.server.stop();
  await service.start(wrongBy(60));
  assert.equal((await send()).text, answered);
  await eventually('the clock to be doubted again', async () =>
    (await readiness()).checks['clock_trusted'] === false ? true : undefined,
  );
  assert.equal(await countOf(short, 'activity_id = 2001'), stored);
  assert.equal(await countOf(ever, 'activity_id = 2001'), 5);
});

test('set right: nobody is told any more', async () => {
  process.kill(service.server.pid, 'SIGUSR2');
  await eventually('the clock to be trusted', async () =>
    (await readiness()).checks['clock_trusted'] === undefined ? true : undefined,
  );
  assert.equal(await countOf(short, 'activity_id = 2001'), stored);
});

test('400 days behind: what a retention would remove is counted as it is', async () => {
  await service.server.stop();
  await service.start(wrongBy(-400));
  const answer = await service.server.cli([
    'org',
    'set',
    '--org',
    'short',
    '--retention',
    '5d',
    '--dry-run',
    '--json',
  ]);
  assert.equal((printed(answer) as { would_remove: number }).would_remove >= stored, true, answer.stdout);
});

test('confirmed: What has expired goes', async () => {
  await service.server.stop();
  await service.start(wrongBy(60));
  const answer = await service.server.cli(['doctor', '--accept-clock', '--json']);
  assert.equal(answer.code, 0, answer.stderr);
  await eventually('what has expired to be removed', async () =>
    (await countOf(short, 'activity_id = 2001')) === 0 ? true : undefined,
  );
  assert.equal((await readiness()).checks['clock_trusted'], undefined);
});
