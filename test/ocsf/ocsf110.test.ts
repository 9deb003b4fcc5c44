import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { acme } from '../../src/demo/acme.ts';
import { demoEvents } from '../../src/demo/events.ts';
import { globex } from '../../src/demo/globex.ts';
import { activityTitles } from '../../src/ocsf/activities.ts';
import { activityClasses } from '../../src/ocsf/activity-classes.ts';
import { validateEvent } from '../../src/ocsf/ocsf110/validate.ts';
import { checkSent, facts, type OcsfEvent, sourceText, ocsf110Of, ocsf110Text } from './ocsf110-support.ts';

/** Events of OCSF 1.1.0 (contract: OCSF 1.1.0), compared with the schema's facts. */

const full = {
  time: '2026-05-04T10:20:31Z',
  level: 'WARN',
  msg: 'Ann did it',
  custom: [1.1e3],
  message: {
    timestamp: '2026-05-04T12:20:30.123456789+02:00',
    actor: { id: 'u1', name: 'Ann', email: 'ann@example.com', type: 'User' },
    target: { id: 't1', name: 'report.pdf', type: 'file' },
    result: { title: 'No', description: 'Not allowed', code: 403 },
    remote: { ip: '192.0.2.7', port: 443 },
    sender: { file: 'report.pdf', hash: 'a'.repeat(64), email: 'ann@example.com' },
    extra: { fileSize: 7, role: 'auditor', member: 'bob@example.com' },
    flow_id: '4F8E1731-19A5-49C3-8E3B-7938174EF99F',
    log: { provider: 'p', version: '2' },
    org: 'acme',
    more: { x: 1 },
  },
};

function withAction(action: unknown, message: object = {}): object {
  return { ...full, message: { ...full.message, ...message, action } };
}

test('every activity of the registry has a class, and events of it are valid, however little is known', () => {
  assert.deepEqual(new Set(activityClasses.keys()), new Set(activityTitles.keys()));
  for (const code of [...activityTitles.keys(), 2099, 1400, -5]) {
    for (const event of [withAction(code), { time: 0, message: { action: code } }]) {
      const made = ocsf110Of(event);
      assert.deepEqual(validateEvent(made), [], JSON.stringify(made));
      const { classUid, activityId } = activityClasses.get(code) ?? { classUid: 6003, activityId: 99 };
      assert.deepEqual([made['class_uid'], made['activity_id']], [classUid, activityId]);
    }
  }
});

test('attributes have the values of the source, and unmapped the rest as sent', () => {
  const { unmapped, observables, file, ...event } = ocsf110Of(withAction(2003));
  assert.deepEqual(file, {
    name: 'report.pdf',
    type_id: 1,
    type: 'Regular File',
    uid: 't1',
    size: 7,
    hashes: [{ algorithm_id: 3, algorithm: 'SHA-256', value: 'a'.repeat(64) }],
  });
  assert.deepEqual(event['actor'], {
    user: { name: 'Ann', uid: 'u1', email_addr: 'ann@example.com', type_id: 1, type: 'User' },
  });
  const { time, timezone_offset: offset, severity, status, status_code: code, status_detail: detail } = event;
  assert.deepEqual(
    [time, offset, severity, status, code],
    [1_777_890_030_123, 120, 'Medium', 'Failure', '403'],
  );
  assert.deepEqual([detail, event['message']], ['Not allowed', 'Ann did it']);
  assert.deepEqual(event['metadata'], {
    version: '1.1.0',
    product: { name: 'Prüfung', vendor_name: 'Vendor "V"' },
    log_name: 'App\n1',
    uid: `${facts.organization}-${facts.seq}`,
    tenant_uid: facts.organization,
    event_code: '2003',
    logged_time: facts.loggedMs,
    original_time: full.message.timestamp,
    correlation_uid: full.message.flow_id.toLowerCase(),
    log_level: 'WARN',
    log_provider: 'p',
    log_version: '2',
  });
  assert.deepEqual(
    (observables as OcsfEvent[]).map(({ name, type_id, type, value }) => [name, type_id, type, value]),
    [
      ['actor.user.name', 99, 'User Name', 'Ann'],
      ['actor.user.email_addr', 99, 'Email Address', 'ann@example.com'],
      ['file.name', 99, 'File Name', 'report.pdf'],
      ['file.hashes.value', 99, 'Hash', 'a'.repeat(64)],
      ['src_endpoint.ip', 99, 'IP Address', '192.0.2.7'],
    ],
  );
  const { target, sender, extra, org, result, more } = full.message;
  assert.deepEqual(unmapped, {
    activity_id: 2003,
    activity_name: 'Download completed',
    time_us: 1_777_890_030_123_456,
    target,
    sender,
    extra,
    org,
    result,
    time: full.time,
    message: { more },
    event: { custom: full.custom },
  });
});

test('who and what an event is about goes where its class has it', () => {
  const of = (action: unknown, message: object = {}): OcsfEvent => ocsf110Of(withAction(action, message));
  const bob = { id: 'u2', name: 'bob@example.com', type: 'user' };
  const bobs = {
    name: 'bob@example.com',
    uid: 'u2',
    email_addr: 'bob@example.com',
    type_id: 1,
    type: 'User',
  };
  assert.deepEqual(of(1000, { target: bob })['user'], bobs);
  assert.equal(of(1001, { target: bob })['user'].name, 'Ann');
  assert.equal(of(1002, { target: bob, actor: null })['user'].name, 'bob@example.com');
  assert.deepEqual(of(1300, { target: { id: 'key-1' } })['resources'], [{ uid: 'key-1' }]);
  assert.deepEqual(of(1020, { target: bob })['privileges'], ['auditor']);
  const role = of(1021, { target: { name: 'Admins', type: 'Role' }, extra: { member: 'bob@example.com' } });
  assert.deepEqual([role['privileges'], role['user'].name], [['Admins'], 'bob@example.com']);
  assert.deepEqual(of(6101, { target: { id: 'p1', name: 'MFA' } })['entity'], { name: 'MFA', uid: 'p1' });
  // Ann has not deleted herself, but changed her own password.
  for (const code of [1000, 1005, 1006, 1007, 1020])
    assert.equal(of(code, { target: null, extra: {} })['user'].name, 'Unknown');
  assert.equal(of(1010, { target: null })['user'].name, 'Ann');
  assert.equal(of(1100, { target: { name: 'Phone', type: 'factor' } })['user'].name, 'Ann');
  assert.equal(of(1_000_000_000 + 2 * 2 ** 32)['activity_name'], 'Read');
  assert.deepEqual(of(6411, { extra: {} })['privileges'], ['support access']);
  assert.equal(of(1030, { target: { id: 's1', type: 'session' } })['session'].uid, 's1');
  const added = of(1210, { target: { id: 'g1', name: 'Staff', type: 'group' } });
  assert.deepEqual([added['group'], added['user'].name], [{ name: 'Staff', uid: 'g1' }, 'bob@example.com']);
  assert.equal(of(1211, { target: bob })['group'].uid, facts.organization);
  assert.deepEqual(of({ code: 9, title: 'Odd' })['api'], { operation: 'Odd' });
  assert.deepEqual(of(9)['resources'], [{ name: 'report.pdf', uid: 't1', type: 'file' }]);
  const unknown = of(6101, { actor: { type: 'User' }, remote: { ip: 'AWS Internal', port: 1 } });
  assert.deepEqual(unknown['actor'], { invoked_by: 'App\n1' });
  assert.deepEqual(unknown['device'].name, 'AWS Internal');
  assert.deepEqual(of(4000, { remote: { ip: 'host.example' } })['device'].hostname, 'host.example');
});

test('what does not fit is cut in the attribute and whole in unmapped', () => {
  const long = `${'x'.repeat(65_534)}😀😀`;
  const { message, unmapped } = ocsf110Of({ ...withAction(2001), msg: long });
  assert.deepEqual([message, unmapped.msg], [long.slice(0, 65_534), long]);
});

test('numbers keep their digits, and the same facts give the same bytes', () => {
  const source = '{"time":0,"message":{"action":1,"extra":{"n":12345678901234567890.10}},"m":-0}';
  const text = ocsf110Text(source, 0);
  assert.ok(
    text.includes('"extra":{"n":12345678901234567890.10}') && text.includes('"event":{"m":-0}'),
    text,
  );
  assert.equal(ocsf110Text(source, 0), text);
});

test('events of the demo are valid', () => {
  for (const profile of [acme, globex]) {
    const request = { profile, count: 500, endMicros: 1_790_000_000_000_000, seed: 3 };
    for (const line of demoEvents(request)) assert.ok(checkSent(line));
  }
});

test('every accepted event becomes a valid event that has all of it', () => {
  let taken = 0;
  fc.assert(
    fc.property(sourceText([...activityTitles.keys()]), (sent) => {
      taken += checkSent(sent) ? 1 : 0;
    }),
    { numRuns: 2_000 },
  );
  assert.ok(taken > 1_000, `${taken} were taken`);
});

test('the table of classes in docs/ocsf.md is the registry, but for API Activity', () => {
  const document = readFileSync(new URL('../../docs/ocsf.md', import.meta.url), 'utf8');
  const rows = document.split('\n').filter((line) => /^\| .*\| .*\d{4}/.test(line));
  const told = new Map<number, number>();
  let classUid = 0;
  for (const [, name = '', codes = ''] of rows.map((row) => row.split('|'))) {
    classUid = Number(/, (\d{4})/.exec(name)?.[1] ?? classUid);
    for (const [code] of codes.matchAll(/\d{4}/g)) told.set(Number(code), classUid);
  }
  const classes = [...activityClasses]
    .map(([code, { classUid: uid }]) => [code, uid] as const)
    .filter(([, uid]) => uid !== 6003);
  assert.deepEqual(told, new Map(classes));
});
