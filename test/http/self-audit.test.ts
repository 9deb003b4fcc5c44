import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { Problem } from '../../src/base/errors/problem.ts';
import { createApiKey } from '../../src/control/api-keys.ts';
import { exported, type ServiceEvent, userActor } from '../../src/control/change-events.ts';
import type { Organization } from '../../src/control/organizations.ts';
import { placeHold } from '../../src/control/retention.ts';
import { endSession } from '../../src/control/sessions.ts';
import {
  loginFailed,
  loginSucceeded,
  ownPasswordRefused,
  selfAuditCodes,
} from '../../src/http/self-audit-events.ts';
import { activityTitles } from '../../src/ocsf/activities.ts';
import { openDirectory } from '../support/control.ts';
import { eventually } from '../support/http.ts';
import { type PortalWorld, startPortalWorld } from './portal-admin-support.ts';

const flowId = '0b7f2a50-0000-4000-8000-00000000f10e';
const origin = { ip: '192.0.2.7', port: '50123', flowId };
const unavailable = (error: unknown) => error instanceof Problem && error.code === 'unavailable';

/** A small log that is soon full. */
const walBytesMax = 256 * 1024;
let world: PortalWorld;
before(async () => {
  world = await startPortalWorld(walBytesMax);
});
after(() => world?.stop());

/** A new organization and its administrator. */
async function start(slug: string) {
  const acme = await world.addOrganization(slug);
  const ann = await world.addUser(acme, `ann@${slug}.test`);
  return { acme, ann };
}

/** Fills the log until it refuses events. */
async function fillLog({ ingest }: PortalWorld, { id, slug }: Organization): Promise<void> {
  for (const filler of ['x'.repeat(8000), '']) {
    const event = { time: '2026-05-01T10:00:00Z', message: { action: 4020, extra: { filler } } };
    for (;;) {
      const body = new Uint8Array(Buffer.from(JSON.stringify(event)));
      const organization = { id, slug, retentionDays: undefined };
      const request = {
        body,
        form: 'json',
        encoding: 'identity',
        organization,
        idempotency: undefined,
      } as const;
      const full = await ingest.accept(request).then(
        () => false,
        (error: unknown) => unavailable(error),
      );
      if (full) break;
    }
  }
}

test('codes of the self-audit are codes of the registry', () => {
  for (const code of Object.values(selfAuditCodes)) assert.ok(activityTitles.has(code), String(code));
});

describe('the self-audit', () => {
  test('stores logins, logouts and exports with who, where from, flow and result', async () => {
    const { acme, ann } = await start('events');
    const { selfAudit } = world;
    await selfAudit.recordBefore(loginSucceeded(ann), origin);
    await selfAudit.recordAfter(loginFailed(ann), { ...origin, port: '0' });
    const out = { actor: userActor(ann), origin: { ...origin, ip: 'fe80::1%eth0' } };
    await world.directory.change(out, endSession({ id: randomUUID(), user: ann, expiresMicros: 0 }));
    await world.events(acme);
    await selfAudit.recordBefore(
      exported(userActor(ann), acme.id, { format: 'csv', filters: { actor: 'a\0\uD800"' } }),
      origin,
    );
    await selfAudit.recordAfter(ownPasswordRefused(ann), origin);
    const events = (await world.events(acme)).map(({ source, ocsf }) => ({ ...source, ocsf }));
    assert.deepEqual(
      events.map(({ level, message }) => [message.action, level, message['result'], message['remote']]),
      [
        [1001, 'INFO', { title: 'OK', code: 200 }, { ip: '192.0.2.7', port: 50_123 }],
        [1002, 'WARN', { title: 'Refused', code: 401 }, { ip: '192.0.2.7' }],
        [1003, 'INFO', { title: 'OK', code: 200 }, { ip: 'fe80::1', port: 50_123 }],
        [2030, 'INFO', { title: 'OK', code: 200 }, { ip: '192.0.2.7', port: 50_123 }],
        [1010, 'WARN', { title: 'Refused', code: 403 }, { ip: '192.0.2.7', port: 50_123 }],
      ],
    );
    for (const { message } of events) {
      assert.equal(message.flow_id, flowId);
      assert.deepEqual(message.actor, { ...userActor(ann) });
      assert.equal(message['org'], acme.id);
    }
    assert.deepEqual(events[3]?.message['extra'], { format: 'csv', filters: { actor: 'a\uFFFD\uFFFD"' } });
    const [succeeded, failed] = events.map(({ ocsf }) => ocsf);
    assert.match(succeeded ?? '', /"activity_name":"Login succeeded".*"status":"Success"/);
    assert.match(failed ?? '', /"activity_name":"Login failed".*"status":"Failure"/);
  });

  test('a full log: new actions are refused, a change is made, and all of it is recorded once', async () => {
    const { acme, ann } = await start('full');
    const cookie = await world.cookieOf(ann, acme);
    const create = (name: string) =>
      world.send('POST', '/api/v1/portal/api-keys', cookie, { scopes: ['read'], name });
    world.holdEngine(true);
    await fillLog(world, acme);

    await assert.rejects(world.selfAudit.recordBefore(loginSucceeded(ann), origin), unavailable);
    await assert.rejects(world.selfAudit.recordAfter(loginFailed(ann), origin), unavailable);
    assert.equal((await create('first')).status, 201);
    assert.equal((await create('second')).status, 201);
    assert.equal(world.directory.apiKeys(acme.id).length, 2);

    world.holdEngine(false);
    const recorded = await eventually('all of it is recorded', async () => {
      const events = await world.events(acme);
      const actions = events.map(({ source }) => source.message.action).filter((code) => code !== 4020);
      return actions.length >= 3 ? actions.toSorted((a, b) => a - b) : undefined;
    });
    assert.deepEqual(recorded, [1002, 1300, 1300]);
  });

  test('an event that can never be recorded keeps none behind it', async () => {
    const { acme, ann } = await start('nowhere');
    const nowhere: ServiceEvent = {
      ...loginFailed(ann),
      organizationId: '0b7f2a50-0000-4000-8000-000000000bad',
    };
    await assert.rejects(world.selfAudit.recordAfter(nowhere, origin), unavailable);
    await world.selfAudit.recordAfter(loginFailed(ann), origin);
    assert.equal((await world.events(acme)).length, 1);
  });

  test('a change is recorded with any texts, however late', async () => {
    const { acme } = await start('texts');
    const clock = () => (Date.now() - 400 * 86_400_000) * 1000;
    const longAgo = await openDirectory(world.storage, { clock });
    const by = { actor: { name: 'somebody \0', type: 'App/System' } } as const;
    await longAgo.change(by, createApiKey({ organization: acme.id, scopes: 'read' }));
    await world.directory.refresh();
    assert.equal((await world.events(acme))[0]?.source.message.action, 1300);
    await longAgo.change(by, placeHold(acme.id, 'a\0\uD800 case'));
    await world.directory.refresh();
    const [, held] = await world.events(acme);
    assert.equal(Object(held?.source.message['extra']).reason, 'a\uFFFD\uFFFD case');
  });
});
