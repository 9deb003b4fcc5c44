import { strict as assert } from 'node:assert';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../src/base/time/clock.ts';
import { httpPackage } from '../../src/base/platform.js';
import { limits } from '../../src/http/limits.ts';
import { authenticateKey } from '../../src/control/authenticate-key.ts';
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

/** Events of the last request that made any: those of one flow. */
async function lastEvents(organization = acme): Promise<StoredEvent[]> {
  const all = await world.events(organization);
  const flow = all.at(-1)?.source.message.flow_id;
  return all.filter(({ source }) => source.message.flow_id === flow);
}

describe('whoami', () => {
  test('tells user, organization and session', async () => {
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

  test('what is wrong is named, and no value is repeated', async () => {
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

describe('API keys', () => {
  const works = (text: unknown) =>
    authenticateKey(world.directory, String(text), systemClock()) !== undefined;

  test('are shown once, work at once, and are listed without anything secret', async () => {
    const input = { scopes: ['write', 'read'], name: 'SIEM', expires: '90d', rate_limit: '200/15s' };
    for (const [scopes, above] of [
      [['read'], ['301/15s', '300/14s', '10/1ms']],
      [input.scopes, ['201/15s', '200/14s']],
    ] as const)
      for (const rate_limit of above)
        problemOf(await world.send('POST', keysPath, cookie, { ...input, scopes, rate_limit }), 400);
    const made = bodyOf(await world.send('POST', keysPath, cookie, input), 201);
    const { key, ...shown } = made;
    assert.match(String(key), /^ak_[0-9a-z]{16}_[\w-]{43}$/);
    assert.ok(works(key));
    assert.deepEqual(Object.keys(shown).sort(), [
      'created_at',
      'expires_at',
      'id',
      'name',
      'organization',
      'rate_limit',
      'scopes',
      'state',
    ]);
    assert.deepEqual([shown['organization'], shown['scopes']], ['acme', ['read', 'write']]);
    assert.deepEqual(
      (await listOf(keysPath)).filter(({ id }) => id === made['id']),
      [shown],
    );
    const [event] = await lastEvents();
    assert.equal(event?.source.message.action, 1300);
    assert.deepEqual(event.source.message['target'], { id: made['id'], name: 'SIEM', type: 'api_key' });
  });

  test('rotation shows the new text, keeps the old one for the grace, and revocation ends both', async () => {
    const first = bodyOf(await world.send('POST', keysPath, cookie, { scopes: ['read'] }), 201);
    const at = `${keysPath}/${String(first['id'])}`;
    const second = bodyOf(await world.send('POST', `${at}/rotate`, cookie, { grace: '1h' }));
    assert.equal(second['id'], first['id']);
    assert.deepEqual([works(first['key']), works(second['key'])], [true, true]);
    const until = Date.parse(String(second['previous_valid_until']));
    assert.ok(Math.abs(until - Date.now() - 3_600_000) < 60_000);
    assert.equal((await lastEvents())[0]?.source.message.action, 1303);
    const third = bodyOf(await world.send('POST', `${at}/rotate`, cookie, { grace: '0' }));
    assert.equal(third['previous_valid_until'], undefined);
    assert.deepEqual([works(first['key']), works(second['key']), works(third['key'])], [false, false, true]);
    problemOf(await world.send('POST', `${at}/rotate`, cookie, { grace: 'soon' }), 400);

    const revoked = bodyOf(await world.send('POST', `${at}/revoke`, cookie));
    assert.equal(revoked['state'], 'revoked');
    assert.equal(works(third['key']), false);
    const events = (await world.events(acme)).length;
    assert.equal((await lastEvents())[0]?.source.message.action, 1302);
    assert.deepEqual(bodyOf(await world.send('POST', `${at}/revoke`, cookie)), revoked);
    assert.equal((await world.events(acme)).length, events, 'a second revocation changes nothing');
    problemOf(await world.send('POST', `${at}/rotate`, cookie, {}), 409);
  });

  test('tell when they were last used, from memory and from the table', async () => {
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

  test('another organization’s key, one of all organizations and none at all look the same', async () => {
    const theirs = await world.addKey({ organization: 'globex', scopes: 'read' });
    const everyones = await world.addKey({ allOrganizations: true, scopes: 'write' });
    const details = new Set<string>();
    for (const id of [theirs.apiKey.id, everyones.apiKey.id, '0123456789abcdef', "'", '%00']) {
      for (const action of ['rotate', 'revoke']) {
        const answer = await world.send('POST', `${keysPath}/${id}/${action}`, cookie);
        details.add(problemOf(answer, 404).detail);
      }
    }
    assert.equal(details.size, 1);
    assert.ok(works(theirs.text) && works(everyones.text));
    assert.ok(
      (await listOf(keysPath)).every(
        ({ id }) => ![theirs.apiKey.id, everyones.apiKey.id].includes(String(id)),
      ),
    );
    assert.equal((await listOf(keysPath, stranger)).length, 1);
  });
});

describe('users', () => {
  test('are made, listed without hashes, given another password and disabled, which ends their sessions', async () => {
    const input = { email: 'Bob@acme.test', name: 'Bob', role: 'auditor', password };
    const made = bodyOf(await world.send('POST', usersPath, cookie, input), 201);
    const id = String(made['id']);
    assert.equal((await lastEvents())[0]?.source.message.action, 1000);
    problemOf(await world.send('POST', usersPath, cookie, { ...input, email: 'bob@ACME.test' }), 409);
    const listed = await listOf(usersPath);
    assert.deepEqual(
      listed.find((one) => one['id'] === id),
      made,
    );
    assert.doesNotMatch(JSON.stringify(listed), /argon2|hash/);

    const bob = () => findUser(world.directory, { user: id });
    const first = await world.cookieOf(bob(), acme);
    assert.equal((await world.get('/api/v1/portal/whoami', first)).status, 200);
    const reset = await world.send('POST', `${usersPath}/${id}/password`, cookie, {
      password: 'another horse battery',
    });
    assert.equal(reset.status, 204);
    problemOf(await world.get('/api/v1/portal/whoami', first), 401);
    const [event] = await lastEvents();
    assert.equal(event?.source.message.action, 1010);
    assert.equal(event.source.message.actor['email'], 'ann@acme.test');

    const second = await world.cookieOf(bob(), acme);
    const disabled = bodyOf(await world.send('POST', `${usersPath}/${id}/disable`, cookie));
    assert.notEqual(disabled['disabled_at'], undefined);
    problemOf(await world.get('/api/v1/portal/whoami', second), 401);
    assert.equal((await lastEvents())[0]?.source.message.action, 1006);
    assert.deepEqual(bodyOf(await world.send('POST', `${usersPath}/${id}/disable`, cookie)), disabled);
  });

  test('of another organization do not exist', async () => {
    const gus = findUser(world.directory, { user: 'gus@globex.test' });
    for (const id of [gus.id, gus.email, '00000000-0000-4000-8000-000000000000']) {
      problemOf(await world.send('POST', `${usersPath}/${id}/disable`, cookie), 404);
      problemOf(await world.send('POST', `${usersPath}/${id}/password`, cookie, { password }), 404);
    }
    assert.equal((await world.get('/api/v1/portal/whoami', stranger)).status, 200);
  });

  test('get another role at once, and it is recorded with the one before', async () => {
    const pat = await world.addUser(acme, 'pat@acme.test', 'member');
    const own = await world.cookieOf(pat, acme);
    const change = (role: string) => world.send('PATCH', `${usersPath}/${pat.id}`, cookie, { role });
    problemOf(await world.get(usersPath, own), 403);
    assert.equal(bodyOf(await change('admin'))['role'], 'admin');
    assert.equal((await world.get(usersPath, own)).status, 200);
    const [event] = await lastEvents();
    assert.equal(event?.source.message.action, 1020);
    assert.deepEqual(event.source.message['extra'], { role: 'admin', previous: { role: 'member' } });
    const before = (await world.events(acme)).length;
    bodyOf(await change('admin'));
    assert.equal((await world.events(acme)).length, before, 'nothing changed, nothing recorded');
    bodyOf(await change('member'));
    problemOf(await world.get(usersPath, own), 403);
  });

  test('the last administrator stays one', async () => {
    const organization = await world.addOrganization('single');
    const one = await world.addUser(organization, 'one@single.test');
    const own = await world.cookieOf(one, organization);
    problemOf(await world.send('PATCH', `${usersPath}/${one.id}`, own, { role: 'member' }), 409);
  });

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
    // An administrator takes the same way, not the one for others.
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

  test('let somebody without a password choose one, once, and both are recorded', async () => {
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

describe('settings', () => {
  test('are shown and changed; only what differs is recorded as before', async () => {
    const shown = bodyOf(await world.get(settingsPath, cookie));
    assert.deepEqual(shown, {
      id: acme.id,
      slug: 'acme',
      name: 'ACME',
      retention: 'default',
      retention_days: 365,
      receipts: 'own',
    });
    const patch = (body: unknown) => world.send('PATCH', settingsPath, cookie, body);
    const changed = bodyOf(await patch({ retention: '90d', receipts: 'off' }));
    assert.deepEqual(changed, { ...shown, retention: '90d', retention_days: 90, receipts: 'off' });
    assert.deepEqual(bodyOf(await world.get(settingsPath, cookie)), changed);
    const [event] = await lastEvents();
    assert.equal(event?.source.message.action, 5011);
    assert.deepEqual(event.source.message['extra'], {
      name: 'ACME',
      retention: '90d',
      receipts: 'off',
      previous: { retention: 'default', receipts: 'own' },
    });
    const before = (await world.events(acme)).length;
    bodyOf(await patch({ receipts: 'off' }));
    assert.equal((await world.events(acme)).length, before, 'nothing changed, nothing recorded');
    assert.equal(bodyOf(await patch({ retention: 'off', receipts: 'own' }))['retention_days'], undefined);
    for (const bad of [{}, { retention: '90' }, { name: '' }, { receipts: 'all' }, { slug: 'x' }]) {
      problemOf(await patch(bad), 400);
    }
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

describe('the events of all that', () => {
  test('tell who and where from, share a flow by request, and hold nothing secret', async () => {
    const created = await world.send('POST', keysPath, cookie, { scopes: ['read'] });
    const { id, key } = bodyOf(created, 201);
    const rotated = bodyOf(await world.send('POST', `${keysPath}/${String(id)}/rotate`, cookie));
    const events = await world.events(acme);
    const flows = new Set(events.map(({ source }) => source.message.flow_id));
    // A change of the retention has two: of the settings, and of what is kept.
    const policies = events.filter(({ source }) => source.message.action === 5013);
    assert.equal(flows.size, events.length - policies.length);
    for (const { source } of events) {
      const { id: actorId, name, email, type } = source.message.actor;
      assert.deepEqual([actorId, name, email, type], [ann.id, ann.name, ann.email, 'User']);
      // The port is told where the build of the HTTP library knows it.
      const { port, ...remote } = source.message['remote'] as { ip: string; port?: number };
      assert.deepEqual(remote, { ip: '127.0.0.1' });
      assert.equal(typeof port, httpPackage.package === 'uwebsockets' ? 'number' : 'undefined');
    }
    const { storage, directory } = world;
    const tables = ['SELECT * FROM events', 'SELECT events FROM journal'];
    const stored = JSON.stringify(await Promise.all(tables.map((query) => storage.rows(query))));
    const secrets = [
      ...directory.apiKeys().flatMap(({ digest, previousDigest }) => [digest, previousDigest]),
      ...directory.users().map(({ passwordHash }) => passwordHash),
      ...[key, rotated['key']].map((text) => String(text).slice(-43)),
      password,
      'another horse battery',
      'wrong horse battery',
    ];
    assert.ok(secrets.length > 20);
    for (const secret of secrets) assert.ok(secret === '' || !stored.includes(secret), secret);
    assert.doesNotMatch(stored, /argon2|ak_[0-9a-z]{16}_/);
  });
});
