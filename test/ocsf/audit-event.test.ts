import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { toWindow } from '../../src/ocsf/byte-text.ts';
import { Mapper } from '../../src/ocsf/audit-event.ts';
import { Redaction } from '../../src/ocsf/redact.ts';
import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';
import { readSchema } from '../../src/ocsf/source-event.ts';
import { decoded, eventWith, mapped, mapText, organization, type Row, redactKeys } from './arbitrary.ts';

const ajv = new Ajv2020({ strictTypes: false, formats: { uuid: /^[0-9a-f-]{36}$/ } });
const isAuditEvent = ajv.compile(readSchema('audit-event'));
const tail = eventTail({ vendorName: 'Vendor "V"', productName: 'Product\n' });

type Json = Record<string, unknown>;

/** A row's whole audit event, as a reader gets it; checked against the schema. */
function whole(row: Row): Json {
  const event = JSON.parse(`${eventHead}${row.ocsf}"logged_time":1700000000000000${tail}`) as Json;
  assert.ok(isAuditEvent(event), ajv.errorsText(isAuditEvent.errors));
  return event;
}

const full = {
  time: '2024-05-01T10:11:12Z',
  level: 'WARN',
  msg: 'Upload of "plan" done',
  message: {
    timestamp: '2024-05-01T12:11:12.3456789+02:00',
    actor: { id: 'USR-1', name: 'Ada', email: 'Ada@Example.COM', type: 'User' },
    action: { code: 2001, title: 'Sent' },
    target: { id: 't', name: 'Plan.PDF', type: 'file' },
    result: { title: 'Done', description: 'stored', code: 201, detail: 'in two parts' },
    remote: { ip: '2001:db8::1', port: 0 },
    sender: { file: 'plan.pdf', email: 'x@y.z', hash: 'ABC' },
    extra: { fileHash: 'DEF', size: 12, nested: { a: ['"', null] } },
    flow_id: '01234567-89AB-4CDE-8F01-23456789ABCD',
    log: { provider: 'Pro"v', version: '2' },
    org: 'acme',
    unknown: [1],
  },
  trace: 'kept',
};

test('a full event becomes a whole audit event', () => {
  const row = mapped(full);
  assert.deepEqual(whole(row), {
    category_name: 'Audit',
    category_uid: 3,
    class_name: 'Application Activity',
    class_uid: 3001,
    type_uid: 300101,
    time: 1_714_558_272_345_678,
    activity_id: 2001,
    activity_name: 'Sent',
    severity: 'Medium',
    severity_id: 3,
    status: 'Success',
    status_id: 1,
    status_detail: 'in two parts',
    message: 'Upload of "plan" done',
    actor: { user: { name: 'Ada', email_addr: 'Ada@Example.COM', type: 'User' }, app_name: 'Test "App"' },
    src_endpoint: { ip: '2001:db8::1', port: 0 },
    flow_id: '01234567-89ab-4cde-8f01-23456789abcd',
    enrichments: [
      { name: 'fileHash', value: 'DEF' },
      { name: 'size', value: '12' },
      { name: 'nested', value: '{"a":["\\"",null]}' },
    ],
    extra_map: { fileHash: 'DEF', size: 12, nested: { a: ['"', null] } },
    metadata: {
      log_provider: 'Pro"v',
      log_version: '2',
      logged_time: 1_700_000_000_000_000,
      product: { name: 'Product\n', vendor_name: 'Vendor "V"' },
      version: '1.1.0',
    },
  });
  // Byte by byte: `verify` renders stored events again, so a rendering never changes.
  assert.equal(
    row.ocsf,
    String.raw`"time":1714558272345678,"activity_id":2001,"activity_name":"Sent","severity":"Medium","severity_id":3,` +
      String.raw`"status":"Success","status_id":1,"message":"Upload of \"plan\" done","actor":{"app_name":"Test \"App\"","user":{` +
      String.raw`"name":"Ada","email_addr":"Ada@Example.COM","type":"User"}},"status_detail":"in two parts","src_endpoint":{` +
      String.raw`"ip":"2001:db8::1","port":0},"flow_id":"01234567-89ab-4cde-8f01-23456789abcd","enrichments":[{"name":"fileHash",` +
      String.raw`"value":"DEF"},{"name":"size","value":"12"},{"name":"nested","value":"{\"a\":[\"\\\"\",null]}"}],"extra_map":{` +
      String.raw`"fileHash":"DEF","size":12,"nested":{"a":["\"",null]}},"metadata":{"log_provider":"Pro\"v","log_version":"2",`,
  );
});

test('the columns of a full event', () => {
  const { ocsf, source, ...columns } = mapped(full);
  assert.ok(ocsf.length > 0);
  assert.equal(source, JSON.stringify(full));
  assert.deepEqual(columns, {
    org: organization.id,
    retentionDays: organization.retentionDays,
    timeMicros: 1_714_558_272_345_678,
    activityId: 2001,
    activityName: 'Sent',
    severity: 'Medium',
    status: 'Success',
    level: 'WARN',
    resultCode: 201,
    actorEmail: 'ada@example.com',
    actorId: 'usr-1',
    names: ['plan.pdf'],
    fileHashes: ['abc', 'def'],
    fileName: 'plan.pdf',
    targetName: 'Plan.PDF',
    flowId: '01234567-89ab-4cde-8f01-23456789abcd',
  });
});

test('the least event has nothing optional', () => {
  const row = mapped(eventWith());
  assert.equal(
    row.ocsf,
    '"time":0,"activity_id":1001,"activity_name":"Login succeeded","severity":"Informational","severity_id":1,' +
      '"status":"Success","status_id":1,"message":"Login succeeded","actor":{"app_name":"Test \\"App\\""},"metadata":{',
  );
  assert.deepEqual(row.names, []);
  assert.deepEqual(row.fileHashes, []);
  assert.deepEqual(
    [row.actorEmail, row.actorId, row.flowId, row.level, row.resultCode],
    ['', '', '', '', 200],
  );
  whole(row);
});

test('status follows the result code', () => {
  for (const [code, status, id] of [
    [undefined, 'Success', 1],
    [0, 'Success', 1],
    [-1, 'Success', 1],
    [399, 'Success', 1],
    [400, 'Failure', 2],
    [503, 'Failure', 2],
  ] as const) {
    const row = mapped(eventWith({ result: { code } }));
    const event = whole(row);
    assert.deepEqual([row.status, event['status'], event['status_id']], [status, status, id]);
    assert.equal(row.resultCode, code ?? 200);
  }
});

test('severity follows the level, exactly as spelled', () => {
  for (const [level, severity, id] of [
    ['INFO', 'Informational', 1],
    ['WARN', 'Medium', 3],
    ['ERROR', 'High', 4],
    ['warn', 'Informational', 1],
    ['FATAL', 'Informational', 1],
    [undefined, 'Informational', 1],
  ] as const) {
    const row = mapped(eventWith({}, { level }));
    const event = whole(row);
    assert.deepEqual(
      [row.severity, event['severity'], event['severity_id'], row.level],
      [severity, severity, id, level ?? ''],
    );
  }
});

test('message is the direct one, else of the result, else the activity name', () => {
  const result = { title: 'T', description: 'D' };
  for (const [event, message] of [
    [eventWith({ result }, { msg: 'M' }), 'M'],
    [eventWith({ result }, { msg: '' }), 'T: D'],
    [eventWith({ result: { title: 'T' } }), 'T'],
    [eventWith({ result: { title: '', description: 'D' } }), 'D'],
    [eventWith({ action: { code: 7, title: 'Own title' } }), 'Own title'],
    [eventWith({ action: 7 }), 'Activity 7'],
  ] as const) {
    assert.equal(whole(mapped(event))['message'], message);
  }
});

test('the time is message.timestamp, else time', () => {
  assert.equal(
    mapped({ time: 0, message: { action: 1, timestamp: 100_000_000_000_000 } }).timeMicros,
    100_000_000_000_000,
  );
  assert.equal(mapped({ time: 100_000_000_000_001, message: { action: 1 } }).timeMicros, 100_000_000_000_001);
  assert.equal(mapped({ message: { action: 1, timestamp: '1970-01-01T00:00:01Z' } }).timeMicros, 1_000_000);
  assert.equal(
    mapped({ time: 7_258_118_400_000_000, message: { action: 1 } }).timeMicros,
    7_258_118_400_000_000,
  );
  assert.ok(Object.is(mapped('{"time":-0,"message":{"action":1}}').timeMicros, 0));
  assert.match(mapped('{"time":-0,"message":{"action":1}}').ocsf, /^"time":0,/);
});

test('an actor is an address or other facts of a user; without either there is no user', () => {
  const actorOf = (actor: unknown) => whole(mapped(eventWith({ actor })))['actor'];
  assert.deepEqual(actorOf('A@b.c'), { user: { email_addr: 'A@b.c' }, app_name: 'Test "App"' });
  assert.deepEqual(actorOf({ type: 'User' }), { user: { type: 'User' }, app_name: 'Test "App"' });
  assert.deepEqual(actorOf({ id: 'only' }), { app_name: 'Test "App"' });
  assert.equal(mapped(eventWith({ actor: 'A@b.c' })).actorEmail, 'a@b.c');
  assert.equal(mapped(eventWith({ actor: 'A@b.c' })).actorId, '');
});

test('endpoint, flow and extra are omitted if empty', () => {
  const event = whole(
    mapped(eventWith({ remote: {}, extra: {}, flow_id: '00000000-0000-0000-0000-000000000000' })),
  );
  for (const name of ['src_endpoint', 'extra_map', 'enrichments', 'flow_id'])
    assert.ok(!(name in event), name);
  assert.deepEqual(whole(mapped(eventWith({ remote: { port: 1 } })))['src_endpoint'], { port: 1 });
  assert.deepEqual(whole(mapped(eventWith({ remote: { ip: '::' } })))['src_endpoint'], { ip: '::' });
});

test('an address is rendered without escapes, so that its column finds it; anything else as it was sent', () => {
  const sent = JSON.stringify(eventWith({ remote: { ip: 'IP', port: 1 } }));
  const rendered = (ip: string) =>
    mapped(sent.replace('IP', () => ip)).ocsf.match(/"src_endpoint":({[^}]*})/)?.[1];
  assert.equal(rendered(String.raw`10.0.0\u002e1`), '{"ip":"10.0.0.1","port":1}');
  assert.equal(rendered(String.raw`2001:db8:\u003aF`), '{"ip":"2001:db8::F","port":1}');
  assert.equal(rendered(String.raw`host\u002e1`), String.raw`{"ip":"host\u002e1","port":1}`);
});

test('names and hashes for matching are lower-cased and distinct', () => {
  const { names, fileName, targetName } = mapped(eventWith({ sender: { file: 'A.txt' }, target: 'B\n.txt' }));
  assert.deepEqual([names, fileName, targetName], [['a.txt', 'b\n.txt'], 'A.txt', 'B\n.txt']);
  assert.deepEqual(mapped(eventWith({ sender: { file: 'A.txt' }, target: 'a.TXT' })).names, ['a.txt']);
  assert.deepEqual(mapped(eventWith({ target: { name: 'Ä' } })).names, ['ä']);
  assert.deepEqual(mapped(eventWith({ sender: { hash: 'AB' }, extra: { fileHash: 'ab' } })).fileHashes, [
    'ab',
  ]);
  assert.deepEqual(mapped(eventWith({ extra: { fileHash: 'X\\' } })).fileHashes, ['x\\']);
  assert.deepEqual(mapped(eventWith({ extra: { fileHash: 5, deeper: { fileHash: 'no' } } })).fileHashes, []);
  assert.deepEqual(mapped(eventWith({ extra: { filehash: 'no' } })).fileHashes, []);
  assert.deepEqual(
    mapped('{"time":0,"message":{"action":1,"extra":{"fileHash":"A","file\\u0048ash":"B"}}}').fileHashes,
    ['b'],
  );
  assert.deepEqual(
    mapped('{"time":0,"message":{"action":1,"extra":{"fileHash":"A"},"extra":null}}').fileHashes,
    [],
  );
  assert.deepEqual(
    mapped('{"time":0,"message":{"extra":{"fileHash":"A"}},"message":{"action":1}}').fileHashes,
    [],
  );
});

test('a redacted hash reaches no column', () => {
  const hide = new Mapper({ appName: 'x', redaction: new Redaction(['FileHash']) });
  const text = JSON.stringify(eventWith({ extra: { fileHash: 'abc' } }));
  const row = mapText(hide, text);
  assert.ok(typeof row !== 'string' && !JSON.stringify(row).includes('abc'));
});

test('an event whose retention has passed is refused, from the first moment that it may be deleted', () => {
  const dayMs = 86_400_000;
  const day = Date.UTC(2024, 4, 1);
  let now = 0;
  const mapper = new Mapper({ appName: 'x', now: () => now });
  const resolve = (days: number | undefined) => () => ({ id: organization.id, retentionDays: days });
  const answer = (event: object, days: number | undefined) => {
    const row = mapText(mapper, JSON.stringify(event), resolve(days));
    return typeof row === 'string' ? row : 'accepted';
  };
  const event = eventWith({ timestamp: '2024-05-01T23:59:59Z' });
  const passed = 'the retention of its organization (30d) has passed';
  // The last day is kept as a whole, so the event is readable for at least 30 days.
  now = day + 31 * dayMs - 1;
  assert.equal(answer(event, 30), 'accepted');
  now = day + 31 * dayMs;
  assert.equal(answer(event, 30), `/message/timestamp: ${passed}`);
  assert.equal(answer({ time: '2024-05-01T00:00:00Z', message: { action: 1 } }, 30), `/time: ${passed}`);
  assert.equal(answer(event, 31), 'accepted');
  assert.equal(answer(event, undefined), 'accepted');
});

test('the organization is asked for by the reference sent, and its refusal is the answer', () => {
  const asked: (string | undefined)[] = [];
  const mapper = new Mapper({ appName: 'x' });
  for (const event of [eventWith(), eventWith({ org: 'acme' }), eventWith({ org: '' })]) {
    const text = JSON.stringify(event);
    const answer = mapper.map(toWindow(text), 0, text.length, (reference) => {
      asked.push(reference);
      return '/message/org: is of another';
    });
    assert.equal(answer, '/message/org: is of another');
  }
  assert.deepEqual(asked, [undefined, 'acme', undefined]);
});

test('a name that appears twice in extra is one enrichment, with the last value', () => {
  for (const filler of [0, 20]) {
    const more = Array.from({ length: filler }, (_, at) => `,"k${at}":${at},"k${at}":0`).join('');
    const event = whole(mapped(`{"time":0,"message":{"action":1,"extra":{"a":1,"\\u0061":"x"${more}}}}`));
    assert.deepEqual((event['enrichments'] as Json[])[0], { name: 'a', value: 'x' });
    assert.equal((event['enrichments'] as Json[]).length, 1 + filler);
    assert.equal((event['extra_map'] as Json)['a'], 'x');
  }
});

test('redaction holds where extra is an array or doubled, outside of extra, and in a message that does not count', () => {
  const row = mapped(
    '{"time":0,"token":"gone","message":{"extra":{"otp":"gone"}},"message":{"action":1,"token":"gone","ex\\u0074ra":[{"otp":"gone"}],"extra":{"OTP":"gone","a":1}}}',
  );
  assert.equal(
    row.source,
    '{"time":0,"token":"[redacted]","message":{"extra":{"otp":"[redacted]"}},"message":{"action":1,"token":"[redacted]","ex\\u0074ra":[{"otp":"[redacted]"}],"extra":{"OTP":"[redacted]","a":1}}}',
  );
  assert.deepEqual(whole(row)['extra_map'], { OTP: '[redacted]', a: 1 });
});

test('events within a larger text are read by their bounds', () => {
  const one = JSON.stringify(eventWith({ action: 1 }));
  const two = JSON.stringify(eventWith({ action: 2 }));
  const mapper = new Mapper({ appName: 'x', redaction: new Redaction(redactKeys) });
  const window = toWindow(`${one}\n ${two}\r\n`);
  const read = (start: number, end: number) => {
    const row = mapper.map(window, start, end, () => organization);
    return typeof row === 'string' ? row : decoded(row);
  };
  const first = read(0, one.length);
  const second = read(one.length + 1, window.text.length - 1);
  assert.ok(typeof first !== 'string' && first.activityId === 1 && first.source === one);
  assert.ok(typeof second !== 'string' && second.activityId === 2 && second.source === two);
  assert.equal(typeof read(0, one.length + 3), 'string');
});

test('a resolver that throws leaves nothing behind', () => {
  const mapper = new Mapper({ appName: 'x' });
  const text = JSON.stringify(full);
  assert.throws(() =>
    mapper.map(toWindow(text), 0, text.length, () => {
      throw new Error('resolver');
    }),
  );
  const least = JSON.stringify(eventWith());
  const row = mapper.map(toWindow(least), 0, least.length, () => organization);
  assert.ok(typeof row !== 'string' && decoded(row).actorEmail === '' && row.names.length === 0);
});
