import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { type AuditEvent, call, eventually } from '../support/http.ts';
import { createTenant, printed, startServer, type Tenant, type TestServer } from '../support/server.ts';
import { rounds } from '../support/rounds.ts';
import { withEngine } from './export-support.ts';
import { createUser, jsonOf, login, password, sessionOf, signIn, type User } from './session-support.ts';

/** The service's own events in the organization's audit log: one scenario with all of them, then its pages. */

const portal = '/api/v1/portal';
const eventsPath = '/api/v1/dashboard/organization/get-events-in-org';
const otherPassword = 'another horse battery staple';
const wrongPassword = 'wrong horse battery staple';
/** Each request of the scenario seems to come from its own address, by which its event is found. */
const from = (last: number) => ({ 'x-forwarded-for': `203.0.113.${last}:${40_000 + last}` });

let server: TestServer;
let tenant: Tenant;
let admin: User;
let events: readonly AuditEvent[];
/** Raw answers of every read, to search for secrets. */
let shown: string;
const secrets = new Set<string>([password, otherPassword, wrongPassword]);

before(async () => {
  server = await startServer({
    env: { TRUST_PROXY: '1', METRICS_PUBLIC: '1', RATE_LIMIT_TENANT: 'off', RATE_LIMIT_LOGIN: 'off' },
  });
  tenant = await createTenant(server, 'trail');
  admin = await createUser(server, 'trail', 'admin', 'ada@trail.example');
  secrets.add(tenant.key);
  await byThePortal();
  await byTheCommandLine();
  // Segments are sent concurrently: the last event may be readable before others.
  await tenant.caughtUp();
  events = await eventually('the last event of the scenario', async () => {
    const { data } = await tenant.page({ limit: '1000' });
    return data.some(({ activity_id: code }) => code === 1006) &&
      data.filter(({ activity_id: code }) => code === 5011).length === 2
      ? data
      : undefined;
  });
  const auditor = await signIn(server, admin.email, { headers: from(99) });
  await tenant.caughtUp();
  shown = (await tenant.get({ limit: '1000' })).text + (await auditor.get(eventsPath)).text;
  secrets.add(auditor.token);
});
after(() => server?.stop());

async function byThePortal(): Promise<void> {
  const session = await signIn(server, admin.email, { headers: from(1) });
  secrets.add(session.token);
  const change = async (last: number, path: string, body: unknown, method = 'POST') => {
    const answer = await session.send(method, `${portal}/${path}`, body, from(last));
    assert.ok(answer.status < 300, answer.text);
    return answer.text === '' ? {} : jsonOf(answer, answer.status);
  };
  const user = await change(10, 'users', {
    email: 'mel@trail.example',
    name: 'Mel',
    role: 'member',
    password,
  });
  await login(server, { email: 'mel@trail.example', password: wrongPassword }, from(2));
  const mel = sessionOf(server, await login(server, { email: 'mel@trail.example', password }, from(3)));
  secrets.add(mel.token);
  const own = { current: wrongPassword, new: otherPassword };
  assert.equal((await mel.send('POST', `${portal}/password`, own, from(4))).status, 403);
  assert.equal((await mel.send('POST', '/api/v1/auth/logout', {}, from(5))).status, 204);
  await change(11, `users/${String(user['id'])}/password`, { password: otherPassword });
  await change(12, `users/${String(user['id'])}/disable`, {});
  await login(server, { email: 'mel@trail.example', password: otherPassword }, from(6));
  const key = await change(13, 'api-keys', { scopes: ['read'], name: 'of the portal' });
  const rotated = await change(14, `api-keys/${String(key['id'])}/rotate`, { grace: '0' });
  await change(15, `api-keys/${String(key['id'])}/revoke`, {});
  for (const text of [key['key'], rotated['key']]) secrets.add(String(text));
  await change(16, 'settings', { receipts: 'off' }, 'PATCH');
}

async function byTheCommandLine(): Promise<void> {
  const run = async (args: string[], stdin?: string) =>
    printed(await server.cliHere([...args, '--json'], stdin)) as Record<string, string>;
  const key = await run([
    'key',
    'create',
    '--org',
    'trail',
    '--scopes',
    'write',
    '--name',
    'of the command line',
  ]);
  const rotated = await run(['key', 'rotate', String(key['id'])]);
  await run(['key', 'revoke', String(key['id'])]);
  for (const text of [key['key'], rotated['key']]) secrets.add(String(text));
  await run(['user', 'set-password', admin.email, '--org', 'trail', '--password-stdin'], `${password}\n`);
  await run(['org', 'set', '--org', 'trail', '--receipts', 'own']);
}

/** The only event of an activity from an address. */
function eventFrom(last: number): AuditEvent {
  const ip = `203.0.113.${last}`;
  const found = events.filter((event) => event.src_endpoint?.['ip'] === ip);
  assert.equal(found.length, 1, `${found.length} events from ${ip}`);
  return found[0] as AuditEvent;
}

const emailOf = (event: AuditEvent) => event.actor.user?.['email_addr'];

test('each thing that a person does is one event, with who, where from, a flow and the outcome', () => {
  const ada = 'ada@trail.example';
  const mel = 'mel@trail.example';
  const expected: readonly (readonly [last: number, code: number, actor: string, status: string])[] = [
    [1, 1001, ada, 'Success'],
    [2, 1002, mel, 'Failure'],
    [3, 1001, mel, 'Success'],
    [4, 1010, mel, 'Failure'],
    [5, 1003, mel, 'Success'],
    [6, 1002, mel, 'Failure'],
    [10, 1000, ada, 'Success'],
    [11, 1010, ada, 'Success'],
    [12, 1006, ada, 'Success'],
    [13, 1300, ada, 'Success'],
    [14, 1303, ada, 'Success'],
    [15, 1302, ada, 'Success'],
    [16, 5011, ada, 'Success'],
  ];
  for (const [last, code, actor, status] of expected) {
    const event = eventFrom(last);
    const what = `${last}: ${event.message}`;
    assert.equal(event.activity_id, code, what);
    assert.equal(emailOf(event), actor, what);
    assert.equal(event.actor.user?.['type'], 'User', what);
    assert.deepEqual([event.status, event.status_id], [status, status === 'Success' ? 1 : 2], what);
    assert.equal(event.severity, status === 'Success' ? 'Informational' : 'Medium', what);
    assert.deepEqual(event.src_endpoint, { ip: `203.0.113.${last}`, port: 40_000 + last }, what);
    assert.match(String(event.flow_id), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, what);
    assert.ok(Math.abs(event.time / 1000 - Date.now()) < 120_000, what);
    assert.notEqual(event.message, '', what);
  }
  const flows = expected.map(([last]) => eventFrom(last).flow_id);
  assert.equal(new Set(flows).size, flows.length);
});

test('each thing that an operator does by the command line is one event, with the operator', () => {
  const byOperator = events.filter((event) => event.actor.user?.['type'] === 'App/System');
  const codes = byOperator.map(({ activity_id: code }) => code).toSorted((a, b) => a - b);
  assert.deepEqual(codes, [1000, 1010, 1300, 1300, 1302, 1303, 5010, 5011]);
  for (const event of byOperator) {
    assert.match(String(event.actor.user?.['name']), /^.+@.+$/);
    assert.equal(event.status, 'Success');
  }
});

test('an event of a change has the changed values', async () => {
  const told = [
    [10, 'mel@trail.example'],
    [12, 'mel@trail.example'],
    [13, 'of the portal'],
  ] as const;
  for (const [last, fileName] of told) {
    const flowId = String(eventFrom(last).flow_id);
    assert.equal((await tenant.page({ flowId, fileName })).meta.total, 1, `${last}: ${fileName}`);
  }
  const { receipts, previous } = eventFrom(16).extra_map ?? {};
  assert.deepEqual({ receipts, previous }, { receipts: 'off', previous: { receipts: 'own' } });
});

test('a login with an unknown address is recorded nowhere', async () => {
  const answer = await login(server, { email: 'nobody@trail.example', password: wrongPassword }, from(77));
  assert.equal(answer.status, 401);
  await tenant.caughtUp();
  assert.doesNotMatch((await tenant.get({ limit: '1000' })).text, /203\.0\.113\.77/);
});

test('no secret is in any event: password, key, token, or a digest of one', () => {
  assert.ok(secrets.size >= 10, `${secrets.size} secrets`);
  for (const secret of secrets) {
    assert.ok(!shown.includes(secret), secret.slice(0, 12));
    // A key's id and the readable part of a token are no secrets.
    const last = secret.startsWith('ak_') ? secret.slice(20) : (secret.split('.')[2] ?? secret);
    assert.ok(!shown.includes(last), last.slice(0, 12));
  }
  assert.doesNotMatch(shown, /argon2|\$v=19|eyJ|\bak_/);
  const output = [...server.stdoutLines(), ...server.stderrLines()].join('\n');
  for (const secret of secrets) assert.ok(!output.includes(secret), secret.slice(0, 12));
});

test('all events of the service have the mark `own`, and no event of a producer, in any encoding or form', async () => {
  const producer = await createTenant(server, 'marking');
  const forged = (n: number) => ({
    own: true,
    time: Date.now() * 1000,
    message: {
      own: true,
      action: 5013,
      log: { own: true },
      extra: { own: true, n, policy: { held: false, days: 1 } },
    },
  });
  const codings: Record<string, (text: string) => Uint8Array> = {
    identity: (text) => Buffer.from(text),
    gzip: (text) => gzipSync(text),
    deflate: (text) => deflateSync(text),
    br: (text) => brotliCompressSync(text),
  };
  const forms: Record<string, (events: readonly object[]) => string> = {
    'application/json': (events) => JSON.stringify(events),
    'application/x-ndjson': (events) => events.map((one) => JSON.stringify(one)).join('\n'),
  };
  let sent = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(codings)),
      fc.constantFrom(...Object.keys(forms)),
      fc.constantFrom('', '?from=json', '?from=github', '?from=kubernetes', '?from=okta'),
      fc.constantFrom(1, 3, 300),
      fc.constantFrom('', 'body', 'own'),
      async (coding, form, from, count, repeat) => {
        const events = Array.from({ length: count }, (_, n) => ({
          ...forged(sent + n),
          '@timestamp': new Date(),
        }));
        sent += count;
        const answer = await call(`${server.url}/api/v1/audit${from}`, {
          method: 'POST',
          headers: {
            'x-api-key': producer.key,
            'content-type': form,
            'content-encoding': coding,
            ...(repeat !== '' && { 'idempotency-key': repeat === 'body' ? 'body' : `own-${sent}` }),
          },
          body: codings[coding]?.(forms[form]?.(events) ?? '') ?? '',
        });
        assert.ok([202, 400].includes(answer.status), answer.text);
        assert.ok(from !== '' || answer.status === 202, answer.text);
      },
    ),
    { numRuns: rounds(40, 400) },
  );
  const attributes = [{ key: 'own', value: { boolValue: true } }];
  const record = { timeUnixNano: `${Date.now()}000000`, own: true, attributes, body: { stringValue: 'own' } };
  const otlp = await call(`${server.url}/v1/logs`, {
    method: 'POST',
    headers: { 'x-api-key': producer.key, 'content-type': 'application/json' },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }),
  });
  assert.equal(otlp.status, 200, otlp.text);
  await producer.caughtUp();
  const marked = ({ organization }: Tenant) =>
    withEngine(server, (storage) =>
      storage.rows<{ code: string; own: boolean; n: string }>(
        `SELECT toString(activity_id) AS code, own, toString(count()) AS n FROM events WHERE org = {org:UUID}
         GROUP BY code, own ORDER BY code`,
        { org: organization.id },
      ),
    );
  const rows = await marked(producer);
  assert.deepEqual(
    rows.filter(({ own }) => own),
    [
      { code: '1300', own: true, n: '1' },
      { code: '5010', own: true, n: '1' },
    ],
    'what commands have recorded',
  );
  assert.ok(Number(rows.find(({ code }) => code === '5013')?.n) > 0);
  // All events of the scenario except those of `caughtUp` are the service's.
  const notOwn = (await marked(tenant)).filter(({ own }) => !own);
  assert.deepEqual(
    notOwn.map(({ code }) => code),
    ['2001'],
  );
});
