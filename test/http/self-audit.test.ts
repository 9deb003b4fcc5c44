import { strict as assert } from 'node:assert';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../src/base/time/clock.ts';
import { Problem } from '../../src/base/errors/problem.ts';
import {
  changeOfUser,
  eventOfChange,
  exported,
  type ServiceEvent,
  userActor,
} from '../../src/control/change-events.ts';
import { listApiKeys } from '../../src/control/api-keys.ts';
import { Directory } from '../../src/control/directory.ts';
import type { Organization } from '../../src/control/organizations.ts';
import { recordedChange } from '../../src/http/recorded-change.ts';
import type { RequestContext } from '../../src/http/request-context.ts';
import {
  loggedOut,
  loginFailed,
  loginSucceeded,
  ownPasswordRefused,
  selfAuditCodes,
} from '../../src/http/self-audit-events.ts';
import { activityTitles } from '../../src/ocsf/activities.ts';
import { openStorage } from '../../src/storage/client.ts';
import { silentLog } from '../support/engine.ts';
import { eventually, problemOf } from '../support/http.ts';
import { type PortalWorld, startPortalWorld } from './portal-admin-support.ts';

const flowId = '0b7f2a50-0000-4000-8000-00000000f10e';
const origin = { ip: '192.0.2.7', port: '50123', flowId };
const unavailable = (error: unknown) => error instanceof Problem && error.code === 'unavailable';

/** A small log, so that it is soon full. */
const walBytesMax = 256 * 1024;
let world: PortalWorld;
before(async () => {
  world = await startPortalWorld(walBytesMax);
});
after(() => world?.stop());

/** An organization of a test's own, and its administrator. */
async function start(slug: string) {
  const acme = await world.addOrganization(slug);
  const ann = await world.addUser(acme, `ann@${slug}.test`);
  return { acme, ann };
}

/** Fills the log until it takes nothing more. */
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
    await selfAudit.recordAfter(loggedOut(ann), { ...origin, ip: 'fe80::1%eth0' });
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

  test('refuses beforehand what cannot be recorded, and forgets it', async () => {
    const { acme, ann } = await start('refused');
    world.holdEngine(true);
    await fillLog(world, acme);
    await assert.rejects(world.selfAudit.recordBefore(loginSucceeded(ann), origin), unavailable);
    await assert.rejects(
      world.selfAudit.requireRecordable(),
      unavailable,
      'nothing may be changed that cannot be recorded',
    );
    world.holdEngine(false);
    const events = await world.events(acme);
    assert.ok(events.every(({ source }) => source.message.action === 4020));
  });

  test('a full log: what was done is held, changes are refused before they are made, and all of it heals', async () => {
    const { acme, ann } = await start('full');
    const cookie = await world.cookieOf(ann, acme);
    const { storage } = world.engine;
    const create = (name: string) =>
      world.send('POST', '/api/v1/portal/api-keys', cookie, { scopes: ['read'], name });
    world.holdEngine(true);
    await fillLog(world, acme);

    const done = eventOfChange(changeOfUser(ann, 'userDisabled'), userActor(ann));
    await assert.rejects(world.selfAudit.recordAfter(done, origin), unavailable);
    problemOf(await create('first'), 503);
    assert.equal((await listApiKeys(storage, acme.id)).length, 0, 'refused before it was made');

    world.holdEngine(false);
    await eventually('changes are possible again', async () => {
      const answer = await create('second');
      return answer.status === 201 ? true : undefined;
    });
    const recorded = (await world.events(acme)).map(({ source }) => source.message.action);
    assert.deepEqual(
      recorded.filter((action) => action === 1006 || action === 1300),
      [1006, 1300],
    );
  });

  test('an event that can never be recorded is not held against later changes', async () => {
    const { ann } = await start('nowhere');
    const nowhere: ServiceEvent = {
      ...eventOfChange(changeOfUser(ann, 'userDisabled'), userActor(ann)),
      organizationId: '0b7f2a50-0000-4000-8000-000000000bad',
    };
    await assert.rejects(world.selfAudit.recordAfter(nowhere, origin), unavailable);
    await world.selfAudit.requireRecordable();
  });

  test('a change that this process cannot take over yet is recorded, and its maker is told so', async () => {
    const { acme, ann } = await start('late');
    const nowhere = openStorage({ ...world.engine.connection, url: 'http://127.0.0.1:9' }, silentLog);
    const directory = new Directory({
      storage: nowhere,
      log: silentLog,
      clock: systemClock,
      expiryMicros: systemClock,
    });
    const changesOf = () => [changeOfUser(ann, 'passwordChanged')];
    const context = { head: { ip: '192.0.2.7', port: '50123' }, flowId } as unknown as RequestContext;
    await assert.rejects(
      recordedChange(
        { selfAudit: world.selfAudit, directory },
        context,
        { user: ann },
        async () => ann,
        changesOf,
      ),
      (error: unknown) => unavailable(error) && /was done and is recorded/.test(String(error)),
    );
    const recorded = (await world.events(acme)).map(({ source }) => source.message.action);
    assert.deepEqual(recorded, [1010]);
    await nowhere.close();
  });
});
