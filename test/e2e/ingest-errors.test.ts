import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, test } from 'node:test';
import { acceptedOf, call, problemOf } from '../support/http.ts';
import { createKey, createTenant, sourceEvent, type Tenant, type SharedServer } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';

let server: SharedServer;
let tenant: Tenant;
let other: Tenant;

before(async () => {
  server = await sharedServer();
  [tenant, other] = await Promise.all([createTenant(server, 'errors'), createTenant(server, 'errors-2')]);
});

/** A flow id for the events of one test. */
const good = (flow: string, message: Record<string, unknown> = {}) =>
  sourceEvent({ flow_id: flow, ...message });

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

test('NDJSON: bytes that are not UTF-8 are refused, alone in their line', async () => {
  const flow = randomUUID();
  const line = JSON.stringify(good(flow));
  const wrong = [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xc0, 0xaf], [0x80]];
  for (const bytes of wrong) {
    const [head = '', tail = ''] = JSON.stringify(good(flow, { extra: { x: '~' } })).split('~');
    const event = Buffer.concat([Buffer.from(head), Buffer.from(bytes), Buffer.from(tail)]);
    const body = Buffer.concat([Buffer.from(`${line}\n`), event, Buffer.from(`\n${line}\n`)]);
    const answer = acceptedOf(await tenant.post(body, { 'content-type': 'application/x-ndjson' }));
    const indexes = answer.errors.map(({ index }) => index);
    assert.deepEqual([answer.accepted, answer.rejected, indexes], [2, 1, [1]], String(bytes));
    problemOf(await tenant.post(event), 400);
  }
  await tenant.settled(2 * wrong.length, { flowId: flow });
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
    'constructor',
    '__proto__',
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

test('message.org: id or slug of the own organization; another one rejects that event only', async () => {
  const flow = randomUUID();
  const answer = acceptedOf(
    await tenant.post([
      good(flow),
      good(flow, { org: tenant.organization.slug }),
      good(flow, { org: other.organization.slug }),
      good(flow, { org: tenant.organization.id }),
      good(flow, { org: other.organization.id }),
      good(flow, { org: tenant.organization.slug.toUpperCase() }),
    ]),
  );
  assert.equal(answer.accepted, 4);
  assert.deepEqual(
    answer.errors.map((entry) => entry.index),
    [2, 4],
  );
  for (const entry of answer.errors) assert.match(entry.error, /\/message\/org/);
  await tenant.settled(4, { flowId: flow });
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
  for (const wrong of ['org=', 'org=a%20b']) problemOf(await post(wrong, line), 400);
  const unknown = problemOf(await post('from=json&org=no-such-org', line), 400);
  assert.match(
    unknown.errors?.[0]?.error ?? '',
    /^\/message\/org: is absent, and the parameter org is not an organization of this service/,
  );
  await tenant.settled(2, { flowId: flow });
  await tenant.settled(1, { actor: 'named@own.example' });
  await other.settled(4, { flowId: flow });
  await other.settled(1, { actor: 'named@parameter.example' });
});
