import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { flipBit } from '../support/flip-bit.ts';
import { call, eventually, type HttpAnswer, pageOf, problemOf } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import { createTenant, sourceEvent, type Tenant } from '../support/server.ts';
import { withEngine } from './export-support.ts';

/** Damages the engine's files below a service, and checks readers, operator and self-audit. */

interface Readiness {
  readonly status: string;
  readonly checks: Readonly<Record<string, boolean>>;
  readonly damage?: readonly { readonly kind: string; readonly id: string; readonly detail: string }[];
}

interface Report {
  readonly healthy: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly about: string;
    readonly healthy: boolean;
    readonly findings: readonly { readonly id: string; readonly detail: string }[];
    readonly notes: readonly string[];
  }[];
}

const service = keptService();
let tenant: Tenant;

before(async () => {
  tenant = await createTenant(await service.ready(), 'damaged');
});

const parts = () =>
  withEngine(service.server, (storage) =>
    storage.rows<{ name: string; path: string }>(
      "SELECT name, path FROM system.parts WHERE table = 'events' AND active",
    ),
  );

async function readiness(): Promise<Readiness> {
  const answer = await call(`${service.server.url}/readyz`);
  assert.equal(answer.status, 200, answer.text);
  return JSON.parse(answer.text) as Readiness;
}

/** Its findings about the machine depend on where the tests run: `code` is that for the events. */
async function doctor(code: number, ...args: string[]): Promise<Report> {
  const answer = await service.server.cliHere(['doctor', '--json', ...args]);
  const report = JSON.parse(answer.stdout.split('\n')[0] ?? '') as Report;
  assert.equal(answer.code, report.healthy ? 0 : 1, answer.stderr);
  const ofEvents = report.checks.filter(({ about }) => about === 'events');
  assert.equal(ofEvents.every(({ healthy }) => healthy) ? 0 : 1, code, answer.stdout);
  return report;
}

const feed = () =>
  call(`${service.server.url}/api/v1/audit/feed?limit=1000`, { headers: { 'x-api-key': tenant.key } });

/** The error of a read of damaged data, which does not ask for a retry. */
function damaged(answer: HttpAnswer): void {
  const problem = problemOf(answer, 500);
  assert.match(problem.detail, /damaged/);
  assert.equal(answer.headers['retry-after'], undefined);
}

async function lostEventsOf(reader: Tenant): Promise<readonly Record<string, unknown>[]> {
  const { data } = await reader.page({ limit: '1000' });
  return data.flatMap((event) =>
    event.activity_name === 'Stored events lost' ? [{ status: event.status, ...event.extra_map }] : [],
  );
}

const eventsDamaged = 10;

describe('a byte of a part changes', () => {
  let part: { readonly name: string; readonly path: string };

  test('reads, readiness, metrics and the log report the damage, and the rest works', async () => {
    assert.deepEqual(await readiness(), {
      status: 'ready',
      checks: {
        engine_reachable: true,
        engine_takes_writes: true,
        log_takes_writes: true,
        control_data_takes_writes: true,
        nothing_damaged: true,
      },
    });
    await tenant.own();
    await withEngine(service.server, (storage) => storage.command('SYSTEM STOP MERGES events'));
    const known = new Set((await parts()).map(({ name }) => name));
    // Few events, because the engine slowly tries each bit of a damaged block.
    const extra = () => ({ noise: randomBytes(200).toString('base64') });
    await tenant.record(Array.from({ length: eventsDamaged }, () => sourceEvent({ extra: extra() })));
    await tenant.settled(eventsDamaged);
    const made = (await parts()).filter(({ name }) => !known.has(name));
    assert.equal(made.length, 1);
    part = made[0] ?? assert.fail('no part');
    // Within the first half of the payloads, the last and largest columns of a part.
    await flipBit(join(part.path, 'data.bin'), 0.3);

    damaged(await tenant.get('limit=1000'));
    const failed = await eventually('the watermark to come so far', async () => {
      const answer = await feed();
      return answer.status === 200 ? undefined : answer;
    });
    damaged(failed);
    damaged(await feed());
    const ready = await readiness();
    assert.equal(ready.checks['nothing_damaged'], false);
    assert.deepEqual(
      ready.damage?.map(({ kind, id }) => [kind, id]),
      [['unreadable', part.name]],
    );
    assert.match(
      (await call(`${service.server.url}/metrics`)).text,
      /^auditlog_damage_known\{kind="unreadable"\} 1$/m,
    );
    const lines = service.server
      .stderrLines()
      .filter((line) => line.includes('A part of a table is damaged'));
    assert.equal(lines.length, 1);
    assert.equal((await tenant.post([sourceEvent()])).status, 202);
  });

  test('doctor finds the part, takes it out, and the feed and the self-audit show the loss', async () => {
    const whole = (await parts()).find(({ name }) => name !== part.name);
    const report = await doctor(1);
    assert.equal(report.healthy, false);
    const bad = report.checks.filter(({ healthy }) => !healthy);
    assert.deepEqual(
      bad.map(({ name, findings }) => [name, findings.map(({ id }) => id)]),
      [['parts_readable', [part.name]]],
    );
    const refused = await service.server.cliHere(['doctor', '--detach', whole?.name ?? '']);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /is intact/);

    const taken = await service.server.cli(['doctor', '--detach', part.name, '--json']);
    assert.equal(taken.code, 0, taken.stderr);
    const { loss, ...facts } = JSON.parse(taken.stdout) as Record<string, unknown>;
    assert.deepEqual(facts, {
      part: part.name,
      events: eventsDamaged,
      organizations: [{ id: tenant.organization.id, events: eventsDamaged }],
    });
    const [lost] = await eventually('the self-audit to tell', async () => {
      const found = await lostEventsOf(tenant);
      return found.length > 0 ? found : undefined;
    });
    assert.equal(lost?.['status'], 'Failure');
    assert.deepEqual([lost?.['events'], lost?.['loss']], [eventsDamaged, loss]);
    const inFeed = await eventually('the feed to go on', async () => {
      const answer = await feed();
      return answer.status === 200 && answer.text.includes('Stored events lost') ? answer : undefined;
    });
    assert.ok(!inFeed.text.includes('noise'));
    await eventually(
      'nothing to be damaged any more',
      async () => ((await readiness()).checks['nothing_damaged'] ? true : undefined),
      60_000,
    );
    const after = await doctor(0);
    assert.ok(after.healthy);
  });
});

test('parts are missing after a restart: reported, recorded by the operator, then known', async () => {
  const other = await createTenant(service.server, 'damaged-too');
  await other.record(Array.from({ length: 30 }, () => sourceEvent()));
  await other.settled(30);
  const [total] = await withEngine(service.server, (storage) =>
    storage.rows<{ rows: string }>('SELECT toString(count()) AS rows FROM events'),
  );
  const all = await parts();
  await service.server.stop();
  for (const { path } of all) await rm(path, { recursive: true });

  const server = await service.start();
  tenant = tenant.with({ server });
  const known = await eventually('the loss to be told', async () => (await readiness()).damage, 60_000);
  const missing = new Map(
    known.flatMap(({ kind, id, detail }) => (kind === 'missing_events' ? [[id, parseInt(detail)]] : [])),
  );
  assert.equal(
    [...missing.values()].reduce((sum, one) => sum + one, 0),
    Number(total?.rows),
  );
  assert.match(
    (await call(`${server.url}/metrics`)).text,
    /^auditlog_damage_known\{kind="missing_events"\} [1-9]/m,
  );
  assert.ok(server.stderrLines().some((line) => line.includes('Stored events are missing from the table')));
  assert.equal(pageOf(await tenant.get()).meta.total, 0);
  const report = await doctor(1, '--quick');
  assert.ok(!report.checks.find(({ name }) => name === 'nothing_missing')?.healthy);

  assert.equal((await server.cli(['doctor', '--record-missing'])).code, 0);
  for (const reader of [tenant, other.with({ server })])
    await eventually('the self-audit to tell', async () => {
      const [lost] = await lostEventsOf(reader);
      return lost?.['events_max'] === missing.get(reader.organization.id) ? true : undefined;
    });
  await eventually(
    'nothing to be missing any more',
    async () => ((await readiness()).checks['nothing_damaged'] ? true : undefined),
    60_000,
  );
  const after = await doctor(0);
  assert.ok(after.checks.some(({ notes }) => notes.some((note) => note.includes('recorded as lost'))));
});

test('a projection is cut short: totals stay right, and doctor makes it anew', async () => {
  let kept = await createTenant(service.server, 'projected');
  await kept.record([sourceEvent(), sourceEvent()]);
  await kept.settled(2);
  const before = pageOf(await kept.get()).meta.total;
  const [one] = (await parts()).toReversed();
  assert.ok(one);
  await service.server.stop();
  await truncate(join(one.path, 'counts.proj', 'data.bin'), 20);
  kept = kept.with({ server: await service.start() });
  assert.equal(pageOf(await kept.get()).meta.total, before);
  const [bad] = (await doctor(1)).checks.filter(({ healthy }) => !healthy);
  assert.match(bad?.findings[0]?.detail ?? '', /the projection counts is damaged: reads do without it/);
  const repaired = await service.server.cliHere(['doctor', '--repair', '--json']);
  assert.equal(repaired.code, 0, repaired.stderr);
  const { projections } = JSON.parse(repaired.stdout) as { projections: readonly string[] };
  assert.deepEqual(projections, [`events/${one.name}/counts`]);
  await doctor(0);
  assert.equal(pageOf(await kept.get()).meta.total, before);
});
