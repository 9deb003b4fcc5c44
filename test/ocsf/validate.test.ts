import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { ocsfFacts } from '../../src/ocsf/ocsf110/facts.ts';
import { validateEvent } from '../../src/ocsf/ocsf110/validate.ts';
import { type OcsfEvent, ocsf110Of } from './ocsf110-support.ts';

/** The strict validator of OCSF events, for any producer. */

const upload = ocsf110Of({
  time: '2026-05-04T10:20:30Z',
  message: {
    action: 2001,
    actor: { name: 'Ann', email: 'ann@example.com' },
    sender: { file: 'a.txt', hash: 'ab'.repeat(16) },
    remote: { ip: '192.0.2.1', port: 1 },
  },
});
const logon = ocsf110Of({ time: 0, message: { action: 1001, actor: 'ann@example.com' } });
const revoked = ocsf110Of({ time: 0, message: { action: 1030, actor: 'ann@example.com' } });

type Editable = Record<string, unknown>;

/** A copy with a value at a path; undefined removes the member. */
function changed(event: OcsfEvent, path: string, value: unknown): OcsfEvent {
  const copy = structuredClone(event) as Editable;
  const names = path.split('.');
  const last = names.pop() as string;
  const holder = names.reduce((one, name) => one[name] as Editable, copy);
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  return copy;
}

const faults: readonly (readonly [
  event: OcsfEvent,
  path: string,
  value: unknown,
  pointer: string,
  rule: RegExp,
])[] = [
  [upload, 'flow_id', 'x', '/flow_id', /not an attribute/],
  [upload, 'actor.user.a/b', 'x', '/actor/user/a~1b', /not an attribute/],
  [upload, 'file.name', undefined, '/file/name', /required/],
  [upload, 'time', undefined, '/time', /required/],
  [upload, 'time', 1.5, '/time', /integer/],
  [upload, 'time', 1_777_890_030_000_000, '/time', /milliseconds/],
  [upload, 'time', null, '/time', /integer/],
  [upload, 'message', 7, '/message', /string/],
  [upload, 'message', 'x'.repeat(65_536), '/message', /65535 characters/],
  [upload, 'file', [], '/file', /object/],
  [upload, 'observables', {}, '/observables', /list/],
  [upload, 'file.hashes.0.value', 'x'.repeat(65), '/file/hashes/0/value', /64 characters/],
  [upload, 'file.hashes.0.algorithm_id', 12, '/file/hashes/0/algorithm_id', /one of 0, 1/],
  [upload, 'file.hashes.0.algorithm', 'sha', '/file/hashes/0/algorithm', /"MD5"/],
  [upload, 'file.size', 2 ** 63, '/file/size', /64 bits/],
  [upload, 'src_endpoint.ip', 'AWS Internal', '/src_endpoint/ip', /form of ip_t/],
  [upload, 'src_endpoint.port', 65_536, '/src_endpoint/port', /from 0 to 65535/],
  [upload, 'src_endpoint', { port: 1 }, '/src_endpoint', /at least one of ip/],
  [upload, 'actor.user.email_addr', 'no address', '/actor/user/email_addr', /form of email_t/],
  [upload, 'actor', {}, '/actor', /at least one of process, user/],
  [upload, 'severity_id', 9, '/severity_id', /one of/],
  [upload, 'severity', 'High', '/severity', /"Informational"/],
  [upload, 'status', 'Failure', '/status', /"Success"/],
  [upload, 'activity_name', 'Download', '/activity_name', /"Upload"/],
  [upload, 'activity_id', 77, '/activity_id', /one of/],
  [upload, 'type_uid', 300_101, '/type_uid', /600601/],
  [upload, 'type_name', 'Upload', '/type_name', /"File Hosting Activity: Upload"/],
  [upload, 'class_name', 'File', '/class_name', /"File Hosting Activity"/],
  [upload, 'category_uid', 3, '/category_uid', /6/],
  [upload, 'category_name', 'Audit', '/category_name', /"Application Activity"/],
  [upload, 'class_uid', 4001, '/class_uid', /known class/],
  [upload, 'metadata.version', '1.0.0', '/metadata/version', /1\.1\.0/],
  [upload, 'metadata.profiles', ['nothing'], '/metadata/profiles/0', /no profile/],
  [upload, 'cloud', { provider: 'x' }, '/cloud', /profile/],
  [upload, 'time_dt', '2026-05-04T10:20:30Z', '/time_dt', /not an attribute/],
  [upload, 'observables.0.name', 'actor.user.uid', '/observables/0/name', /names no attribute/],
  [upload, 'observables.0.value', 'Bob', '/observables/0/value', /value of the attribute/],
  [upload, 'observables.0.type_id', 5, '/observables/0/type', /"Email Address"/],
  [logon, 'service', undefined, '', /at least one of service, dst_endpoint/],
  [revoked, 'group', { name: 'g' }, '', /just one of privileges, group/],
  [revoked, 'privileges', undefined, '', /just one of/],
  [revoked, 'privileges', ['a', 1], '/privileges/1', /string/],
];

test('each broken rule is reported with its place', () => {
  for (const event of [upload, logon, revoked]) assert.deepEqual(validateEvent(event), []);
  for (const [event, path, value, pointer, rule] of faults) {
    const found = validateEvent(changed(event, path, value));
    const told = found.find((fault) => fault.pointer === pointer && rule.test(fault.rule));
    assert.ok(told !== undefined, `${path}: ${JSON.stringify(found)}`);
  }
  for (const value of [null, [], 'x', 1]) assert.equal(validateEvent(value).length, 1);
});

test('events of other producers, with profiles, are valid, and the audit events of the default schema are not', () => {
  const cloud = changed(changed(upload, 'cloud', { provider: 'x' }), 'metadata.profiles', [
    'cloud',
    'datetime',
  ]);
  assert.deepEqual(validateEvent(changed(cloud, 'time_dt', '2026-05-04T10:20:30Z')), []);
  const controlled = changed(upload, 'metadata.profiles', ['security_control']);
  assert.deepEqual(validateEvent(changed(controlled, 'disposition_id', 2)), []);
  assert.equal(validateEvent(changed(controlled, 'disposition_id', 200)).length, 1);
  const base = { category_uid: 0, class_uid: 0, activity_id: 99, type_uid: 99, severity_id: 0, time: 0 };
  const metadata = { product: { name: 'p', vendor_name: 'v' }, version: '1.1.0' };
  assert.deepEqual(validateEvent({ ...base, metadata, activity_name: 'Our own' }), []);
  const ofDefault = { category_uid: 3, class_uid: 3001, type_uid: 300_101, time: 1_777_890_030_000_000 };
  assert.ok(validateEvent({ ...ofDefault, activity_id: 1000, severity_id: 1, metadata }).length >= 3);
});

test('the facts are whole: every class and every object, down to each attribute', () => {
  const { classes, objects, types } = ocsfFacts();
  assert.deepEqual([classes.size, objects.size], [14, 68]);
  for (const { attributes } of [...classes.values(), ...objects.values()])
    for (const [name, { type, isObject }] of attributes)
      assert.ok(isObject ? objects.has(type) : type in types, `${name}: ${type}`);
});
