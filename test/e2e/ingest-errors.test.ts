import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, test } from 'node:test';
import { acceptedOf, call, eventually, problemOf } from '../support/http.ts';
import { createKey, createTenant, sourceEvent, type Tenant, type SharedServer } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';

let server: SharedServer;
let tenant: Tenant;
let other: Tenant;

before(async () => {
  server = await sharedServer();
  [tenant, other] = await Promise.all([createTenant(server, 'errors'), createTenant(server, 'errors-2')]);
});

/** A flow id that names the events of one test. */
const good = (flow: string, message: Record<string, unknown> = {}) =>
  sourceEvent({ flow_id: flow, ...message });

/** Rule: what breaks it, and the pointer that the error must name. */
const broken: readonly [what: string, event: unknown, pointer: string][] = [
  ['not an object: number', 7, ''],
  ['not an object: string', 'event', ''],
  ['not an object: null', null, ''],
  ['not an object: array', [], ''],
  ['no message', {}, '/message'],
  ['message is not an object', { message: 'x' }, '/message'],
  ['no time at all', { message: { action: 1001 } }, '/message/timestamp'],
  ['no action', { message: { timestamp: '2024-01-01T00:00:00Z' } }, '/message/action'],
  ['timestamp without offset', sourceEvent({ timestamp: '2024-01-01T00:00:00' }), '/message/timestamp'],
  ['timestamp: a date only', sourceEvent({ timestamp: '2024-01-01' }), '/message/timestamp'],
  ['timestamp: words', sourceEvent({ timestamp: 'yesterday' }), '/message/timestamp'],
  ['timestamp: no such day', sourceEvent({ timestamp: '2023-02-29T00:00:00Z' }), '/message/timestamp'],
  ['timestamp: month 13', sourceEvent({ timestamp: '2023-13-01T00:00:00Z' }), '/message/timestamp'],
  ['timestamp: hour 24', sourceEvent({ timestamp: '2023-01-01T24:00:00Z' }), '/message/timestamp'],
  ['timestamp: offset 24:00', sourceEvent({ timestamp: '2023-01-01T00:00:00+24:00' }), '/message/timestamp'],
  [
    'timestamp: ten fraction digits',
    sourceEvent({ timestamp: '2023-01-01T00:00:00.1234567890Z' }),
    '/message/timestamp',
  ],
  [
    'timestamp: dot without digits',
    sourceEvent({ timestamp: '2023-01-01T00:00:00.Z' }),
    '/message/timestamp',
  ],
  [
    'timestamp: a fraction of a microsecond',
    sourceEvent({ timestamp: 1_700_000_000_000_000.5 }),
    '/message/timestamp',
  ],
  ['timestamp: boolean', sourceEvent({ timestamp: true }), '/message/timestamp'],
  ['timestamp: object', sourceEvent({ timestamp: {} }), '/message/timestamp'],
  ['timestamp before 1970', sourceEvent({ timestamp: '1969-12-31T23:59:59.999999Z' }), '/message/timestamp'],
  ['timestamp negative', sourceEvent({ timestamp: -1 }), '/message/timestamp'],
  ['timestamp after 2200', sourceEvent({ timestamp: '2200-01-01T00:00:00.000001Z' }), '/message/timestamp'],
  [
    'timestamp microseconds after 2200',
    sourceEvent({ timestamp: 7_258_118_400_000_001 }),
    '/message/timestamp',
  ],
  ['time (outer) invalid', sourceEvent({}, { time: 'now' }), '/time'],
  ['level not a string', sourceEvent({}, { level: 3 }), '/level'],
  ['msg not a string', sourceEvent({}, { msg: { text: 'x' } }), '/msg'],
  ['actor a number', sourceEvent({ actor: 5 }), '/message/actor'],
  ['actor.email a number', sourceEvent({ actor: { email: 5 } }), '/message/actor/email'],
  ['actor.id an object', sourceEvent({ actor: { id: {} } }), '/message/actor/id'],
  ['actor.name a list', sourceEvent({ actor: { name: [] } }), '/message/actor/name'],
  ['actor.type a number', sourceEvent({ actor: { type: 1 } }), '/message/actor/type'],
  ['action a string', sourceEvent({ action: '1001' }), '/message/action'],
  ['action a fraction', sourceEvent({ action: 1001.5 }), '/message/action'],
  ['action.code missing', sourceEvent({ action: { title: 'x' } }), '/message/action'],
  ['action.code a string', sourceEvent({ action: { code: 'x' } }), '/message/action/code'],
  ['action.title a number', sourceEvent({ action: { code: 1, title: 2 } }), '/message/action/title'],
  ['target a number', sourceEvent({ target: 1 }), '/message/target'],
  ['target.name an object', sourceEvent({ target: { name: {} } }), '/message/target/name'],
  ['result a string', sourceEvent({ result: 'ok' }), '/message/result'],
  ['result.code a string', sourceEvent({ result: { code: '200' } }), '/message/result/code'],
  ['result.code a fraction', sourceEvent({ result: { code: 200.5 } }), '/message/result/code'],
  ['result.title a number', sourceEvent({ result: { title: 1 } }), '/message/result/title'],
  ['result.description a list', sourceEvent({ result: { description: [] } }), '/message/result/description'],
  ['result.detail a number', sourceEvent({ result: { detail: 1 } }), '/message/result/detail'],
  ['remote a string', sourceEvent({ remote: '10.0.0.1' }), '/message/remote'],
  ['remote.ip of 256 characters', sourceEvent({ remote: { ip: 'x'.repeat(256) } }), '/message/remote/ip'],
  ['remote.ip a number', sourceEvent({ remote: { ip: 10 } }), '/message/remote/ip'],
  ['timestamp in seconds', sourceEvent({ timestamp: 1_714_979_289 }), '/message/timestamp'],
  ['timestamp in milliseconds', sourceEvent({ timestamp: 1_714_979_289_123 }), '/message/timestamp'],
  ['remote.port 65536', sourceEvent({ remote: { port: 65_536 } }), '/message/remote/port'],
  ['remote.port -1', sourceEvent({ remote: { port: -1 } }), '/message/remote/port'],
  ['remote.port a string', sourceEvent({ remote: { port: '80' } }), '/message/remote/port'],
  ['sender a string', sourceEvent({ sender: 'x' }), '/message/sender'],
  ['sender.file a number', sourceEvent({ sender: { file: 1 } }), '/message/sender/file'],
  ['sender.hash a number', sourceEvent({ sender: { hash: 1 } }), '/message/sender/hash'],
  ['extra a list', sourceEvent({ extra: [] }), '/message/extra'],
  ['extra a string', sourceEvent({ extra: 'x' }), '/message/extra'],
  ['flow_id not a UUID', sourceEvent({ flow_id: 'flow-1' }), '/message/flow_id'],
  ['flow_id a number', sourceEvent({ flow_id: 1 }), '/message/flow_id'],
  ['log a string', sourceEvent({ log: 'x' }), '/message/log'],
  ['log.version a number', sourceEvent({ log: { version: 1 } }), '/message/log/version'],
  ['org a number', sourceEvent({ org: 1 }), '/message/org'],
  ['org unknown', sourceEvent({ org: 'no-such-org' }), '/message/org'],
  ['org an unknown id', sourceEvent({ org: randomUUID() }), '/message/org'],
];

test('every rule of the source event is enforced, and its error names pointer and rule', async () => {
  const flow = randomUUID();
  const batch = broken.flatMap(([, event]) => [event, good(flow)]);
  const answer = acceptedOf(await tenant.post(batch));
  const errors = new Map(answer.errors.map((entry) => [entry.index, entry.error]));
  for (const [position, [what, , pointer]] of broken.entries()) {
    const error = errors.get(position * 2);
    assert.ok(error !== undefined, `accepted: ${what}`);
    assert.ok(error.includes(pointer), `${what}: ${error}`);
    assert.ok(error.replace(pointer, '').trim().length > 3, `${what}: no rule in ${error}`);
    assert.equal(errors.get(position * 2 + 1), undefined, 'a good event was reported');
  }
  assert.equal(answer.accepted, broken.length);
  assert.equal(answer.rejected, broken.length);
  assert.deepEqual(Object.keys(answer).sort(), ['accepted', 'errors', 'rejected']);
  // A bad event never costs a good one.
  await tenant.settled(broken.length, { flowId: flow });
});

test('NDJSON: a broken line costs only itself; blank lines do not count', async () => {
  const flow = randomUUID();
  const line = JSON.stringify(good(flow));
  const body = [line, '', '{"message":', line, '   ', 'nonsense', line, '{}', `${line}}`, ''].join('\n');
  const answer = acceptedOf(await tenant.post(body, { 'content-type': 'application/x-ndjson' }));
  assert.equal(answer.accepted, 3);
  assert.equal(answer.rejected, 4);
  assert.deepEqual(
    answer.errors.map((entry) => entry.index),
    [1, 3, 5, 6],
  );
  await tenant.settled(3, { flowId: flow });
});

test('only the first 100 errors are listed, all are counted', async () => {
  const flow = randomUUID();
  const answer = acceptedOf(await tenant.post([...Array.from({ length: 150 }, () => ({})), good(flow)]));
  assert.equal(answer.accepted, 1);
  assert.equal(answer.rejected, 150);
  assert.equal(answer.errors.length, 100);
  assert.deepEqual(
    answer.errors.map((entry) => entry.index),
    Array.from({ length: 100 }, (_, n) => n),
  );
  await tenant.settled(1, { flowId: flow });
});

test('no event accepted: a 400 problem with the errors', async () => {
  const problem = problemOf(await tenant.post([{}, sourceEvent({ action: 'x' })]), 400);
  assert.deepEqual(
    problem.errors?.map((entry) => entry.index),
    [0, 1],
  );
  assert.match(String(problem.errors?.[1]?.error), /\/message\/action/);
  const many = problemOf(await tenant.post(Array.from({ length: 150 }, () => ({}))), 400);
  assert.equal(many.errors?.length, 100);
  const single = problemOf(await tenant.post({ message: {} }), 400);
  assert.equal(single.errors?.[0]?.index, 0);
});

test('a body without any event is a 400 problem', async () => {
  for (const body of ['[]', ' [ ] ']) problemOf(await tenant.post(body), 400);
  problemOf(await tenant.post(''), 400);
  problemOf(await tenant.post(' \n'), 400);
  for (const body of ['', '\n\n \r\n']) {
    problemOf(await tenant.post(body, { 'content-type': 'application/x-ndjson' }), 400);
  }
});

test('a body that is not JSON is a 400 problem and stores nothing', async () => {
  const flow = randomUUID();
  const text = JSON.stringify(good(flow));
  const bodies = [
    'nonsense',
    text.slice(0, -1),
    `${text}x`,
    `${text},${text}`,
    `[${text}`,
    `[${text},]`,
    `[${text}] [${text}]`,
    `[${text},,${text}]`,
    text.replaceAll('"', "'"),
    `// comment\n${text}`,
    `\u{feff}{`,
    'undefined',
    'NaN',
    '01',
    '"',
  ];
  for (const body of bodies) problemOf(await tenant.post(body), 400);
  await tenant.record([good(flow)]);
  await tenant.settled(1, { flowId: flow });
});

test('unknown media types and codings: 415', async () => {
  const body = JSON.stringify(sourceEvent());
  for (const type of [
    'text/csv',
    'application/xml',
    'image/png',
    'multipart/form-data; boundary=x',
    'nonsense',
  ]) {
    problemOf(await tenant.post(body, { 'content-type': type }), 415);
  }
  for (const coding of ['compress', 'lz4', 'nonsense', 'x']) {
    problemOf(await tenant.post(body, { 'content-encoding': coding }), 415);
  }
});

test('fields that the contract does not know are never an error', async () => {
  const flow = randomUUID();
  const odd = sourceEvent(
    {
      flow_id: flow,
      actor: { email: 'a@x.example', shoe_size: 43 },
      action: { code: 2001, colour: 'red' },
      target: { name: 'n', more: [] },
      result: { code: 200, more: null },
      remote: { ip: '10.0.0.1', mac: 'x' },
      sender: { file: 'f', more: 1 },
      log: { provider: 'p', more: 1 },
      anything: { deep: [1, { x: null }] },
    },
    { anything: true, another: null },
  );
  await tenant.record([odd]);
  await tenant.settled(1, { flowId: flow });
});

test('empty strings and empty objects count as absent', async () => {
  const flow = randomUUID();
  const empty = { name: '', email: '', id: '', type: '' };
  await tenant.record([
    sourceEvent({
      flow_id: flow,
      actor: '',
      target: '',
      result: {},
      remote: {},
      sender: {},
      extra: {},
      log: {},
    }),
    sourceEvent(
      { flow_id: flow, actor: empty, target: { name: '' }, remote: { ip: '' }, org: '' },
      { msg: '', level: '' },
    ),
  ]);
  const page = await tenant.settled(2, { flowId: flow });
  for (const event of page.data) {
    assert.equal(event.actor.user, undefined);
    assert.equal(event.src_endpoint, undefined);
    assert.equal(event.extra_map, undefined);
    assert.equal(event.enrichments, undefined);
    assert.equal(event.severity_id, 1);
  }
});

test('message.org: id or slug of the own organization; another one rejects that event only', async () => {
  const flow = randomUUID();
  const answer = acceptedOf(
    await tenant.post([
      good(flow),
      good(flow, { org: tenant.organization.slug }),
      good(flow, { org: other.organization.slug }),
      good(flow, { org: tenant.organization.id }),
      good(flow, { org: other.organization.id }),
    ]),
  );
  assert.equal(answer.accepted, 3);
  assert.deepEqual(
    answer.errors.map((entry) => entry.index),
    [2, 4],
  );
  for (const entry of answer.errors) assert.match(entry.error, /\/message\/org/);
  await tenant.settled(3, { flowId: flow });
  await other.caughtUp();
  await other.settled(0, { flowId: flow });
});

test('a key of all organizations writes for each, and every event must name one', async () => {
  const all = await createKey(server, ['--all-organizations', '--scopes', 'write']);
  const flow = randomUUID();
  const answer = acceptedOf(
    await tenant
      .with({ key: all.key })
      .post([
        good(flow, { org: tenant.organization.slug }),
        good(flow, { org: other.organization.id }),
        good(flow),
        good(flow, { org: 'no-such-org' }),
        good(flow, { org: other.organization.slug }),
      ]),
  );
  assert.equal(answer.accepted, 3);
  assert.deepEqual(
    answer.errors.map((entry) => entry.index),
    [2, 3],
  );
  for (const entry of answer.errors) assert.match(entry.error, /\/message\/org/);
  const { slug } = other.organization;
  const post = (query: string, body: object) =>
    call(`${server.url}/api/v1/audit?${query}`, {
      method: 'POST',
      headers: { 'x-api-key': all.key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const line = { time: '2024-05-06T07:08:09Z', action: 1, flow_id: flow };
  const own = { ...line, actor: 'named@own.example', 'auditlog.org': tenant.organization.slug };
  const named = [own, { ...line, actor: 'named@parameter.example' }];
  assert.equal(acceptedOf(await post(`from=json&org=${slug}`, named)).accepted, 2);
  assert.equal(acceptedOf(await post(`org=${other.organization.id}`, good(flow))).accepted, 1);
  assert.match(problemOf(await post('from=json', line), 400).errors?.[0]?.error ?? '', /parameter org/);
  for (const wrong of ['from=json&org=no-such-org', 'org=', 'org=a%20b'])
    problemOf(await post(wrong, line), 400);
  await tenant.settled(1, { flowId: flow });
  await tenant.settled(1, { actor: 'named@own.example' });
  await other.settled(3, { flowId: flow });
  await other.settled(1, { actor: 'named@parameter.example' });
});

test('rejected events are in the metrics by reason, and in the log once with the id of the key alone', async () => {
  const producer = await createTenant(server, 'errors-3');
  const secret = `not-for-logs-${randomUUID()}`;
  const body = [sourceEvent({ action: secret }), sourceEvent({ timestamp: secret })];
  for (let n = 0; n < 3; n++) problemOf(await producer.post(body), 400);
  const { text } = await call(`${server.url}/metrics`);
  assert.match(text, /^auditlog_ingest_rejected_total\{reason="value"\} [1-9]/m);
  assert.match(text, /^auditlog_ingest_rejected_total\{reason="time"\} [1-9]/m);
  const keyId = producer.key.split('_')[1] ?? assert.fail('the key has no id');
  // What the wait for the new key was rejected for is another reason.
  const ofKey = (line: string) =>
    line.includes('"an event was rejected"') && line.includes(keyId) && !line.includes('"required"');
  const lines = await eventually('the lines of the log', async () => {
    const found = server.stderrLines().filter(ofKey);
    return found.length >= 2 ? found : undefined;
  });
  const facts = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(new Set(facts.map(({ reason }) => reason)), new Set(['time', 'value']));
  assert.equal(facts.length, 2);
  assert.match(String(facts.find(({ reason }) => reason === 'value')?.['rule']), /^\/message\/action: /);
  for (const line of server.stderrLines()) {
    assert.ok(!line.includes(secret));
    assert.ok(!line.includes(producer.key));
  }
});
