import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { type AuditEvent, call, type HttpAnswer, pageOf, problemOf } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import {
  createOrganization,
  createTenant,
  sourceEvent,
  type Tenant,
  type TestServer,
} from '../support/server.ts';
import { createUser, jsonOf, listOf, password, signIn, type SignedIn } from './session-support.ts';

/** What people read with a session: organization events, receipts, and what the portal shows. */

const eventsPath = '/api/v1/dashboard/organization/get-events-in-org';
const portal = '/api/v1/portal';
let server: TestServer;
let tenant: Tenant;
let admin: SignedIn;
let auditor: SignedIn;
let member: SignedIn;
let stranger: SignedIn;

const off = { RATE_LIMIT_TENANT: 'off', RATE_LIMIT_LOGIN: 'off' };

const service = keptService({ ...off, DEPLOYMENT: undefined });
before(async () => {
  server = await service.ready();
  [tenant] = await Promise.all([createTenant(server, 'reads'), createOrganization(server, 'others')]);
  await Promise.all([
    createUser(server, 'reads', 'admin', 'admin@reads.example'),
    createUser(server, 'others', 'admin', 'admin@others.example'),
  ]);
  admin = await signIn(server, 'admin@reads.example');
  stranger = await signIn(server, 'admin@others.example');
  for (const role of ['auditor', 'member']) {
    const body = { email: `${role}@reads.example`, name: role, role, password };
    jsonOf(await admin.send('POST', `${portal}/users`, body), 201);
  }
  auditor = await signIn(server, 'auditor@reads.example');
  member = await signIn(server, 'member@reads.example');
});

const query = (path: string, parameters: Readonly<Record<string, string>>) =>
  `${path}?${new URLSearchParams(parameters).toString()}`;

/** Records texts as one NDJSON body, which goes out as written, and waits until all can be read. */
async function recordTexts(texts: readonly string[]): Promise<void> {
  const answer = await tenant.post(texts.join('\n'), { 'content-type': 'application/x-ndjson' });
  assert.deepEqual(jsonOf(answer, 202), { accepted: texts.length, rejected: 0, errors: [] });
  await tenant.caughtUp();
}

describe('organization events', () => {
  /** A year that only these tests use. */
  const year = { startTime: '2001-01-01T00:00:00Z', endTime: '2001-12-31T23:59:59.999999Z' };
  const at = (n: number) => `2001-02-03T04:05:${String(n).padStart(2, '0')}.000001Z`;
  const legacy = (parameters: Readonly<Record<string, string>> = {}, who = auditor) =>
    who.get(query(eventsPath, { ...year, ...parameters }));
  let texts: string[];

  before(async () => {
    const full = {
      time: at(0),
      level: 'NOTICE',
      msg: 'said "so"\n\u00e9\u2028\u{1F600}',
      unknown: { at: ['the', 'top', null, true] },
      message: {
        timestamp: at(0),
        actor: { id: 'u', name: 'N', email: 'N@Reads.example', type: 'User', badge: 7 },
        action: { code: 2001, title: 'T', more: false },
        target: { id: 't', name: 'x.txt', type: 'file' },
        result: { title: 'Bad', description: '', code: 503, detail: 'd' },
        remote: { ip: '::1', port: 0 },
        sender: { file: 'f', email: 's@x.example', hash: 'H' },
        extra: { list: [1, [2, {}]], none: null, empty: '', text: 'plain' },
        flow_id: randomUUID().toUpperCase(),
        log: { provider: 'p', version: '1' },
        org: 'reads',
        custom: 'kept',
      },
    };
    texts = [
      JSON.stringify(full),
      // The least that is an event: nothing is added to it.
      `{"message":{"timestamp":"${at(1)}","action":1}}`,
      // Numbers whose digits a 64-bit float does not have, and spellings that a parser would lose.
      `{"message":{"timestamp":"${at(2)}","action":1,"extra":{"a":12345678901234567890123,"b":1.10,"c":-0.0,` +
        '"d":1E5,"e":0.1234567890123456789,"f":[9007199254740993]}},"n":1e-400}',
      // The microseconds as an integer, an actor and a target as texts, escapes as they were written.
      '{"time":981173103000001,"message":{"action":1,"actor":"a@x.example","target":"\\u0041 \\/ \\ud83d\\ude00"}}',
    ];
    await recordTexts(texts);
  });

  test('are what the producer sent, newest first, as JSON and to the digit', async () => {
    const answer = await legacy();
    assert.match(String(answer.headers['content-type']), /^application\/json\b/);
    const newestFirst = texts.toReversed();
    assert.deepEqual(
      listOf(answer),
      newestFirst.map((text) => JSON.parse(text) as unknown),
    );
    for (const text of texts) assert.ok(answer.text.includes(text), text);
    assert.deepEqual(Object.keys(jsonOf(answer)), ['data']);
  });

  test('are all of the organization’s, the service’s own among them, when nothing is asked for', async () => {
    const data = listOf(await auditor.get(eventsPath));
    const { total } = await tenant.page({ limit: '1' }).then(({ meta }) => meta);
    assert.ok(data.length >= total - 1 && data.length >= texts.length + 2, `${data.length} of ${total}`);
    const times = data.map(
      (event) => (event['message'] as { timestamp?: string }).timestamp ?? '2001-02-03T04:05:03',
    );
    assert.deepEqual(times, times.toSorted().toReversed());
  });
});

describe('receipts', () => {
  const receipts = (who = member, parameters: Readonly<Record<string, string>> = {}) =>
    who.get(query(`${portal}/receipts`, parameters));
  const flows = { up: randomUUID(), down: randomUUID(), stream: randomUUID(), failed: randomUUID() };
  const mine = { email: 'Member@Reads.Example', name: 'Mem' };
  let n = 0;
  /** A transfer event a second after the one before. */
  const transfer = (action: number, flow: string | undefined, more: Record<string, unknown> = {}) =>
    sourceEvent({
      timestamp: `2002-03-04T05:06:${String(n++).padStart(2, '0')}.000000Z`,
      action,
      actor: mine,
      ...(flow !== undefined && { flow_id: flow }),
      ...more,
    });

  before(async () => {
    const file = (name: string, size: number) => ({
      sender: { file: name },
      extra: { fileName: name, fileSize: size, destination: 'Vault' },
    });
    await tenant.record([
      transfer(2000, flows.up, file('Up.bin', 10)),
      transfer(2001, flows.up, file('Up.bin', 12)),
      transfer(2002, flows.down, file('Down.bin', 5)),
      transfer(2020, flows.stream, { target: { name: 'Camera 7' } }),
      transfer(2021, flows.stream, { target: { name: 'Camera 7' }, result: { code: 200 } }),
      transfer(2000, flows.failed, file('Bad.bin', 1)),
      transfer(2001, flows.failed, { ...file('Bad.bin', 1), result: { code: 507 } }),
      // Somebody else's, in the very same flow; another activity; the user of the same address elsewhere.
      transfer(2003, flows.down, { ...file('theirs.bin', 1), actor: { email: 'auditor@reads.example' } }),
      transfer(2000, randomUUID(), { ...file('theirs.bin', 1), actor: 'auditor@reads.example' }),
      transfer(2000, randomUUID(), { ...file('nobodys.bin', 1), actor: { name: 'member@reads.example' } }),
      transfer(2010, randomUUID(), file('deleted.bin', 1)),
    ]);
    await tenant.caughtUp();
  });

  test('can be switched off by the organization: 403, for everybody in it and nobody else', async () => {
    jsonOf(await admin.send('PATCH', `${portal}/settings`, { receipts: 'off' }));
    for (const who of [admin, auditor, member]) problemOf(await receipts(who), 403);
    jsonOf(await receipts(stranger));
    jsonOf(await admin.send('PATCH', `${portal}/settings`, { receipts: 'own' }));
    assert.equal(listOf(await receipts()).length, 4);
  });
});

describe('what the portal shows', () => {
  const day = { startTime: '2003-01-01T00:00:00Z', endTime: '2003-01-01T23:59:59.999999Z' };
  const ann = { email: 'Ann@x.example', name: 'Ann' };
  const bob = { email: 'bob@x.example' };
  const entries: readonly [hour: number, action: number, level: string, code: number, actor: object][] = [
    [0, 2001, 'INFO', 200, ann],
    [0, 2001, 'WARN', 399, ann],
    [5, 2001, 'ERROR', 400, ann],
    [5, 1001, 'INFO', 200, bob],
    [23, 1001, 'INFO', 500, bob],
    [23, 9999, 'TRACE', 200, {}],
  ];

  before(async () => {
    await tenant.record(
      entries.map(([hour, action, level, code, actor]) => {
        const timestamp = `2003-01-01T${String(hour).padStart(2, '0')}:30:00Z`;
        return sourceEvent({ timestamp, action, result: { code }, actor }, { level });
      }),
    );
    await tenant.caughtUp();
  });

  /** Without the moment of the answer, which is the one thing that differs. */
  const same = (answer: HttpAnswer) => {
    const { data, meta } = pageOf(answer);
    return {
      meta,
      data: data.map((event: AuditEvent) => ({ ...event, metadata: { ...event.metadata, logged_time: 0 } })),
    };
  };

  test('events: what the audit endpoint answers under the same parameters', async () => {
    const queries: Record<string, string>[] = [
      day,
      { ...day, limit: '2', offset: '1' },
      { ...day, actor: 'ann@X.example' },
      { ...day, limit: 'x', offset: '-1', flowId: 'x', orgId: tenant.organization.id },
      { ...day, orgId: randomUUID() },
    ];
    for (const parameters of queries) {
      const answer = await auditor.get(query(`${portal}/events`, parameters));
      assert.deepEqual(same(answer), same(await tenant.get(parameters)), JSON.stringify(parameters));
    }
    assert.equal(pageOf(await auditor.get(query(`${portal}/events`, day))).meta.total, entries.length);
  });

  test('is not for members; whoami is', async () => {
    for (const path of ['events', 'feed', 'rows', 'source-events', 'histogram', 'top-values'])
      problemOf(await member.get(`${portal}/${path}`), 403);
    const whoami = jsonOf(await member.get(`${portal}/whoami`));
    assert.equal((whoami['user'] as { role: string }).role, 'member');
  });
});

describe('a self-hosted deployment', () => {
  before(async () => {
    await server.stop();
    server = await service.start({ ...off, DEPLOYMENT: 'self-hosted' });
  });

  test('has no organization events, for nobody; everything else is there', async () => {
    const headers = { cookie: auditor.cookie };
    const get = (path: string) => call(`${server.url}${path}`, { headers });
    problemOf(await get(eventsPath), 404);
    problemOf(await get(`${eventsPath}?limit=1`), 404);
    problemOf(await call(`${server.url}${eventsPath}`), 404);
    jsonOf(await get(`${portal}/events?limit=1`));
    jsonOf(await get(`${portal}/receipts`));
    jsonOf(await get('/api/v1/auth/token'));
  });
});
