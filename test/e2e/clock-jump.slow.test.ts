import { strict as assert } from 'node:assert';
import { before, test } from 'node:test';
import { call, eventually } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import { createTenant, printed, sourceEvent, type Tenant } from '../support/server.ts';
import { withEngine } from './export-support.ts';

/** A clock that jumps while the service is stopped: nothing goes by it until somebody confirms it. */

const dayMs = 86_400_000;
const env = { RETENTION_INTERVAL: '1s', EVIDENCE_INTERVAL: 'off' };
const service = keptService(env);
const stored = 7;
let short: Tenant;

/** The environment of a process whose clock is wrong by so many days. */
function wrongBy(days: number): Record<string, string> {
  const module = new URL('../support/shifted-clock.mjs', import.meta.url).href;
  return { ...env, NODE_OPTIONS: `--import ${module}`, CLOCK_SHIFT_MS: String(days * dayMs) };
}

/** The tenant's events that are in the table. */
async function storedOf({ organization }: Tenant): Promise<number> {
  const rows = await withEngine(service.server, (storage) =>
    storage.rows<{ n: string }>(
      'SELECT toString(count()) AS n FROM events WHERE org = {org:UUID} AND activity_id = 2001',
      { org: organization.id },
    ),
  );
  return Number(rows[0]?.n);
}

async function readiness() {
  const answer = await call(`${service.server.url}/readyz`);
  assert.equal(answer.status, 200, answer.text);
  return JSON.parse(answer.text) as { checks: Record<string, boolean>; clock?: string };
}

before(async () => {
  const server = await service.ready();
  short = await createTenant(server, 'short');
  const set = await server.cliHere(['org', 'set', '--org', 'short', '--retention', '30d']);
  assert.equal(set.code, 0, set.stderr);
  const timestamp = new Date(Date.now() - 10 * dayMs).toISOString();
  await short.record(Array.from({ length: stored }, () => sourceEvent({ timestamp })));
  await eventually('all to be stored', async () => (await storedOf(short)) === stored || undefined, 30_000);
});

// That nothing is stored twice has the simulator: 'a clock that was far ahead for a while'.
test('60 days ahead: nothing is removed, and everybody is told', async () => {
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
  assert.equal(await storedOf(short), stored);
  await service.server.stop();
  await service.start(wrongBy(60));
  await eventually('the clock to be doubted again', async () =>
    (await readiness()).checks['clock_trusted'] === false ? true : undefined,
  );
  assert.equal(await storedOf(short), stored);
});

test('set right: nobody is told any more', async () => {
  process.kill(service.server.pid, 'SIGUSR2');
  await eventually('the clock to be trusted', async () =>
    (await readiness()).checks['clock_trusted'] === undefined ? true : undefined,
  );
  assert.equal(await storedOf(short), stored);
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
    (await storedOf(short)) === 0 ? true : undefined,
  );
  assert.equal((await readiness()).checks['clock_trusted'], undefined);
});
