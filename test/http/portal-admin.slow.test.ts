import { strict as assert } from 'node:assert';
import { after, before, describe, test } from 'node:test';
import { limits } from '../../src/http/limits.ts';
import type { Organization } from '../../src/control/organizations.ts';
import { findUser, type User } from '../../src/control/users.ts';
import { createRecorder } from '../read/support.ts';
import { call, type HttpAnswer, problemOf } from '../support/http.ts';
import { password, type PortalWorld, type StoredEvent, startPortalWorld } from './portal-admin-support.ts';

let world: PortalWorld;
let acme: Organization;
let globex: Organization;
let ann: User;
let cookie: string;
let stranger: string;

let signedInMs: number;
before(async () => {
  world = await startPortalWorld();
  acme = await world.addOrganization('acme');
  globex = await world.addOrganization('globex');
  ann = await world.addUser(acme, 'ann@acme.test');
  signedInMs = Date.now();
  cookie = await world.cookieOf(ann, acme);
  stranger = await world.cookieOf(await world.addUser(globex, 'gus@globex.test'), globex);
});
after(() => world?.stop());

const keysPath = '/api/v1/portal/api-keys';
const usersPath = '/api/v1/portal/users';
const settingsPath = '/api/v1/portal/settings';
const ownPasswordPath = '/api/v1/portal/password';

function bodyOf(answer: HttpAnswer, status = 200): Record<string, unknown> {
  assert.equal(answer.status, status, answer.text);
  return JSON.parse(answer.text);
}

async function listOf(path: string, as = cookie): Promise<Record<string, unknown>[]> {
  return bodyOf(await world.get(path, as))['data'] as Record<string, unknown>[];
}

/** Events of the newest request that made any: those of one flow. */
async function lastEvents(organization = acme): Promise<StoredEvent[]> {
  const all = await world.events(organization);
  const flow = all.at(-1)?.source.message.flow_id;
  return all.filter(({ source }) => source.message.flow_id === flow);
}

describe('whoami', () => {
  test('returns user, organization and session', async () => {
    const answer = bodyOf(await world.get('/api/v1/portal/whoami', cookie));
    assert.deepEqual(answer['user'], { id: ann.id, name: ann.name, email: ann.email, role: 'admin' });
    const { id } = acme;
    assert.deepEqual(answer['organization'], {
      id,
      slug: 'acme',
      name: 'ACME',
      receipts: 'own',
      retention_days: 365,
    });
    const session = answer['session'] as { expires_at: string };
    assert.ok(Math.abs(Date.parse(session.expires_at) - signedInMs - 3_600_000) < 60_000);
    assert.ok(!JSON.stringify(answer).includes('argon2'));
  });
});

describe('bodies', () => {
  const secret = 'hunter2-hunter2-hunter2';

  test('errors name the field, and repeat no value', async () => {
    const cases: [unknown, RegExp][] = [
      [`{"password":"${secret}`, /not JSON/],
      [`"${secret}"`, /must be object/],
      [[secret], /must be object/],
      [{ email: 'x@acme.test', name: 'X', role: secret, password: secret }, /\/role: must be one of admin, /],
      [{ email: 1, name: 'X', role: 'member', password: secret }, /\/email: must be string/],
      [{ email: 'x@acme.test', role: 'member', password: secret }, /\/name: is required/],
      [
        { email: 'x@acme.test', name: 'X', role: 'member', password: secret, admin: secret },
        /\/admin: is not a member known here/,
      ],
      [
        '{"__proto__":{},"email":"x@acme.test","name":"X","role":"member","password":"x"}',
        /\/__proto__: is not/,
      ],
      [{ email: secret, name: 'X', role: 'member', password: secret }, /e-mail/],
      [{ email: 'x@acme.test', name: 'X', role: 'member', password: 'short' }, /at least 12/],
      ['', /not JSON/],
    ];
    for (const [body, words] of cases) {
      const { detail } = problemOf(await world.send('POST', usersPath, cookie, body), 400);
      assert.match(detail, words);
      assert.ok(!detail.includes(secret), detail);
    }
  });

  test('too large, in another type or not UTF-8', async () => {
    const large = `{"name":"${'x'.repeat(limits.jsonBodyBytesMax)}"}`;
    problemOf(await world.send('PATCH', settingsPath, cookie, large), 413);
    const { url } = world;
    const headers = { cookie, 'content-type': 'application/json' };
    const patch = (body: string | Uint8Array, more: Record<string, string>) =>
      call(`${url}${settingsPath}`, { method: 'PATCH', headers: { ...headers, ...more }, body });
    problemOf(await patch('{"name":"A"}', { 'content-type': 'text/plain' }), 415);
    problemOf(await patch('{"name":"A"}', { 'content-type': 'application/json; charset=utf-16' }), 415);
    problemOf(await patch('{"name":"A"}', { 'content-encoding': 'gzip' }), 415);
    problemOf(await patch(Buffer.from([0x22, 0xff, 0x22]), {}), 400);
  });
});

// `test/control` has the rules of keys and users, `self-audit.slow.test.ts` the recorded events.
describe('API keys', () => {
  test('may not have a larger limit than the installation gives', async () => {
    const more: [string[], string[]][] = [
      [['read'], ['301/15s', '300/14s', '10/1ms']],
      [
        ['read', 'write'],
        ['201/15s', '200/14s'],
      ],
    ];
    for (const [scopes, above] of more)
      for (const rate_limit of above)
        problemOf(await world.send('POST', keysPath, cookie, { scopes, rate_limit }), 400);
  });

  test('show their last use, from memory and from the table', async () => {
    const used = async (id: unknown) =>
      (await listOf(keysPath)).find((key) => key['id'] === id)?.['last_used_at'] as string | undefined;
    const { id, key } = bodyOf(await world.send('POST', keysPath, cookie, { scopes: ['read'] }), 201);
    assert.equal(await used(id), undefined);
    const since = Date.now();
    const write = (text: unknown) =>
      call(`${world.url}/api/v1/audit`, {
        method: 'POST',
        headers: { 'x-api-key': String(text) },
        body: '{}',
      });
    problemOf(await write(`${String(key)}x`), 401);
    assert.equal(await used(id), undefined, 'one that is not good is no use');
    problemOf(await write(key), 403);
    const first = await used(id);
    assert.ok(first !== undefined && Date.parse(first) >= since - 1 && Date.parse(first) <= Date.now());
    await world.keyUses.write();
    assert.equal(await used(id), first);
  });
});

describe('users', () => {
  test('the own password needs the current one and ends the session', async () => {
    const organization = await world.addOrganization('own');
    const eve = await world.addUser(organization, 'eve@own.test', 'member');
    const eveCookie = await world.cookieOf(eve, organization);
    const change = (current: string, next: string) =>
      world.send('POST', ownPasswordPath, eveCookie, { current, new: next });
    problemOf(await change(password, 'short'), 400);
    problemOf(await change('wrong horse battery', 'another horse battery'), 403);
    const [refused] = await lastEvents(organization);
    assert.deepEqual([refused?.source.message.action, refused?.source.level], [1010, 'WARN']);
    assert.ok(refused?.ocsf.includes('"Failure"'));
    const changed = await change(password, 'another horse battery');
    assert.equal(changed.status, 204, changed.text);
    assert.match(String(changed.headers['set-cookie']), /^service=;.*Max-Age=0/);
    problemOf(await world.get('/api/v1/portal/whoami', eveCookie), 401);
    // An administrator's own password has the usual endpoint.
    problemOf(await world.send('POST', `${usersPath}/${ann.id}/password`, cookie, { password }), 403);
  });
});

describe('links for a password', () => {
  let links: Organization;
  let bea: User;
  let boss: string;
  before(async () => {
    links = await world.addOrganization('links');
    bea = await world.addUser(links, 'bea@links.test');
    boss = await world.cookieOf(bea, links);
  });
  const usePath = '/api/v1/auth/password';
  const next = 'another horse battery';
  const use = (token: unknown, password = next) => world.send('POST', usePath, '', { token, new: password });
  const make = (id: string, as = boss) => world.send('POST', `${usersPath}/${id}/password-link`, as);
  const tokenFor = async (id: string) => String(bodyOf(await make(id), 201)['token']);

  test('let a user without a password choose one, once, and both are recorded', async () => {
    const input = { email: 'lea@links.test', name: 'Lea', role: 'member' };
    const { id } = bodyOf(await world.send('POST', usersPath, boss, input), 201);
    const [token, other] = [await tokenFor(String(id)), await tokenFor(String(id))];
    assert.equal((await lastEvents(links))[0]?.source.message.action, 1011);
    assert.ok(!JSON.stringify(await world.events(links)).includes(token));
    problemOf(await use(token, 'short'), 400);
    const session = await world.cookieOf(findUser(world.directory, { user: input.email }), links);
    assert.equal((await use(token)).status, 204);
    problemOf(await world.get('/api/v1/portal/whoami', session), 401);
    const [event] = await lastEvents(links);
    assert.equal(event?.source.message.action, 1012);
    assert.equal(event.source.message.actor['email'], input.email);
    for (const used of [token, other]) problemOf(await use(used), 401);
    const credentials = { email: input.email, password: next };
    assert.equal((await world.send('POST', '/api/v1/auth/login-handler', '', credentials)).status, 200);
  });

  test('are used by one of two who try at once', async () => {
    const token = await tokenFor((await world.addUser(links, 'max@links.test', 'member')).id);
    const statuses = await Promise.all([use(token), use(token, 'yet another horse')]);
    assert.deepEqual(
      statuses.map(({ status }) => status).sort((a, b) => a - b),
      [204, 401],
    );
  });

  test('end with their time, and with what else ends the password', async () => {
    const { id } = await world.addUser(links, 'tom@links.test', 'member');
    const late = await tokenFor(id);
    world.setLinksLater(24 * 3_600_000);
    problemOf(await use(late), 401);
    world.setLinksLater(0);
    assert.equal((await world.send('POST', `${usersPath}/${id}/password`, boss, { password })).status, 204);
    problemOf(await use(late), 401);
    const disabled = await tokenFor(id);
    bodyOf(await world.send('POST', `${usersPath}/${id}/disable`, boss));
    problemOf(await use(disabled), 401);
    problemOf(await make(id), 409);
  });

  test('are not for oneself or another organization, and no session is one', async () => {
    problemOf(await make(bea.id), 403);
    problemOf(await make(bea.id, stranger), 404);
    const token = await tokenFor((await world.addUser(links, 'uma@links.test', 'member')).id);
    for (const bad of [boss.slice('service='.length), `${token.slice(0, -4)}AAAA`, '', 'x.y.z'])
      problemOf(await use(bad), 401);
    problemOf(await world.get('/api/v1/portal/whoami', `service=${token}`), 401);
  });
});

describe('a shorter retention', () => {
  test('removes stored events only where their number is confirmed, and is recorded with it', async () => {
    const org = await world.addOrganization('shorter');
    const admin = await world.cookieOf(await world.addUser(org, 'sue@shorter.test'), org);
    const old = { time: (Date.now() - 40 * 86_400_000) * 1000, message: { action: 2000 } };
    await createRecorder(world.storage)(org.id, [old, old, { ...old, time: Date.now() * 1000 }]);
    const patch = (body: unknown) => world.send('PATCH', settingsPath, admin, body);
    for (const confirmed of [{}, { confirm_removal: 1 }]) {
      const problem = problemOf(await patch({ retention: '30d', ...confirmed }), 409);
      assert.equal(problem['would_remove'], 2);
    }
    assert.equal(bodyOf(await world.get(settingsPath, admin))['retention'], 'default');
    bodyOf(await patch({ retention: '30d', confirm_removal: 2 }));
    const events = await lastEvents(org);
    assert.deepEqual(
      events.map(({ source }) => source.message.action).toSorted((a, b) => a - b),
      [5011, 5013],
    );
    const extra = events.find(({ source }) => source.message.action === 5013)?.source.message['extra'];
    const { policy, removes } = extra as { policy: Record<string, unknown>; removes: number };
    assert.deepEqual([policy['days'], policy['held'], removes], [30, false, 2]);
    bodyOf(await patch({ retention: 'off' }));
  });
});
