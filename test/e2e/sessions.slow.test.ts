import { strict as assert } from 'node:assert';
import { after, before, describe, test } from 'node:test';
import { call, eventually, type HttpAnswer, problemOf } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import {
  createOrganization,
  type Organization,
  printed,
  startServer,
  type TestServer,
} from '../support/server.ts';
import {
  createUser,
  jsonOf,
  listOf,
  login,
  password,
  sessionOf,
  signIn,
  type SignedIn,
  type User,
  withCookie,
} from './session-support.ts';

/**
 * Sessions in two lives of one data directory: behind a proxy, then restarted with hosts of organizations.
 * `test/control/sessions.test.ts` has forged tokens and ends of sessions.
 */

const loginPath = '/api/v1/auth/login-handler';
const tokenPath = '/api/v1/auth/token';
const logoutPath = '/api/v1/auth/logout';
const whoamiPath = '/api/v1/portal/whoami';
const usersPath = '/api/v1/portal/users';
const domain = 'audit.example';

const common = { RATE_LIMIT_TENANT: 'off', RATE_LIMIT_LOGIN: 'off', SERVICE_NAME: 'AuditPortal' };

/** Whole seconds, as in tokens. */
const begunSeconds = Math.floor(Date.now() / 1000);
let dataDir: string;
let server: TestServer;
let one: Organization;
let admin: User;
let member: User;
/** The administrator's session, kept through all lives. */
let kept: SignedIn;
let loggedOut: SignedIn;

before(async () => {
  dataDir = await temporaryDirectory();
  server = await startServer({ dataDir, env: { ...common, TRUST_PROXY: '1', SESSION_TTL: '90m' } });
  [one] = await Promise.all([createOrganization(server, 'one'), createOrganization(server, 'two')]);
  [admin] = await Promise.all([
    createUser(server, 'one', 'admin', 'Ada@One.example'),
    createUser(server, 'two', 'auditor', 'both@x.example'),
  ]);
  kept = await signIn(server, admin.email);
  member = await addUser('mel@one.example', 'member');
  await addUser('both@x.example');
  loggedOut = await signIn(server, member.email);
});
after(async () => {
  await server?.stop();
  await removeDirectory(dataDir);
});

async function restart(env: Record<string, string>): Promise<void> {
  await server.stop();
  server = await startServer({ dataDir, env: { ...common, ...env } });
  kept = { ...kept, ...withCookie(server, kept.cookie) };
}

/** Adds a user by the portal, which is faster than a command. */
async function addUser(email: string, role = 'auditor'): Promise<User> {
  const body = { email, name: email, role, password };
  return jsonOf(await kept.send('POST', usersPath, body), 201) as unknown as User;
}

const whoami = (cookie: string, headers: Record<string, string> = {}) =>
  call(`${server.url}${whoamiPath}`, { headers: { cookie, ...headers } });

function claimsOf(token: string): { header: Record<string, unknown>; claims: Record<string, unknown> } {
  const [header = '', claims = ''] = token.split('.');
  const read = (part: string) =>
    JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
  return { header: read(header), claims: read(claims) };
}

/** Members of a refusal without details. */
const refusalMembers = ['detail', 'request_id', 'status', 'title', 'type'];

test('a request that is meant for another session is refused, and changes nothing', async () => {
  const { headers } = await whoami(kept.cookie);
  const meant = {
    'x-session-user': String(headers['x-session-user']),
    'x-session-organization': String(headers['x-session-organization']),
  };
  assert.equal((await kept.get('/api/v1/portal/events', meant)).status, 200);
  const others = { ...meant, 'x-session-organization': '0d5b0a52-4f0e-4a39-8a52-6e0f2f8b6f10' };
  for (const answer of [
    await kept.get('/api/v1/portal/export', others),
    await kept.send('POST', usersPath, { email: 'not@meant.example', name: 'N', role: 'member' }, others),
  ]) {
    problemOf(answer, 401);
    assert.equal(answer.headers['x-session-user'], meant['x-session-user']);
  }
  assert.ok(!(await kept.get(usersPath)).text.includes('not@meant.example'));
});

test('every answer to a session names its user and organization, problems included, and no other answer does', async () => {
  const named = (answer: HttpAnswer) => [
    answer.headers['x-session-user'],
    answer.headers['x-session-organization'],
  ];
  const mel = await signIn(server, member.email);
  for (const [answer, status] of [
    [await whoami(kept.cookie), 200],
    [await kept.get('/api/v1/portal/export?format=csv'), 200],
    [await kept.get('/api/v1/portal/export?format=none'), 400],
    [await kept.send('POST', usersPath, {}), 400],
    [await kept.send('POST', usersPath, {}, { origin: 'http://evil.example' }), 403],
  ] as const) {
    assert.equal(answer.status, status);
    assert.deepEqual(named(answer), [admin.id, one.id]);
  }
  const refused = await mel.get(usersPath);
  assert.deepEqual([refused.status, ...named(refused)], [403, member.id, one.id]);
  for (const answer of [await whoami('auditportal=x'), await call(`${server.url}/healthz`)])
    assert.deepEqual(named(answer), [undefined, undefined]);
});

test('a read that a page of another site causes is refused, and recorded nowhere', async () => {
  const paths = [
    '/api/v1/portal/export?format=ndjson',
    '/api/v1/portal/events',
    '/api/v1/portal/evidence/key',
    '/api/v1/dashboard/organization/get-events-in-org',
    tokenPath,
    whoamiPath,
  ];
  const html = 'text/html,application/xhtml+xml,*/*;q=0.8';
  const own = server.url;
  const refused: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', accept: html },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'same-origin, cross-site' },
    { 'sec-fetch-site': '' },
    { referer: 'http://evil.example/' },
    { referer: `${own}.evil.example/` },
    { referer: 'about:blank' },
    { origin: 'null' },
    { origin: 'http://evil.example', referer: `${own}/` },
    { accept: html },
  ];
  const allowed: Record<string, string>[] = [
    { 'sec-fetch-site': 'same-origin', accept: html },
    { 'sec-fetch-site': 'none', accept: html },
    { referer: `${own}/`, accept: html },
    {},
    { accept: '*/*', 'user-agent': 'curl/8.5.0' },
  ];
  const { email } = await addUser('reads@one.example', 'admin');
  const reader = await signIn(server, email);
  const exports = async () =>
    listOf(await reader.get(`/api/v1/portal/events?actor=${email}&activity=2030`)).length;
  for (const path of paths) {
    for (const headers of refused) problemOf(await reader.get(path, headers), 403);
    for (const headers of allowed) assert.equal((await reader.get(path, headers)).status, 200, path);
  }
  await eventually('exports that were allowed to be recorded', async () =>
    (await exports()) >= allowed.length ? true : undefined,
  );
  assert.equal(await exports(), allowed.length);
});

describe('login', () => {
  test('200 with the user, the organization and a cookie of the documented form', async () => {
    const answer = await login(server, { email: admin.email, password });
    assert.deepEqual(jsonOf(answer), {
      user: { name: admin.name, email: admin.email, role: 'admin' },
      organization: { id: one.id, slug: 'one', name: one.name },
    });
    assert.match(String(answer.headers['content-type']), /^application\/json\b/);
    const cookies = answer.headers['set-cookie'] ?? [];
    assert.equal(cookies.length, 1);
    const [pair = '', ...attributes] = String(cookies[0]).split('; ');
    assert.match(pair, /^auditportal=[\w-]+\.[\w-]+\.[\w-]+$/);
    assert.deepEqual(attributes.sort(), ['HttpOnly', 'Max-Age=5400', 'Path=/', 'SameSite=Lax']);
    assert.ok(!answer.text.includes(pair.slice('auditportal='.length)), 'the token is in the cookie only');
  });

  test('Secure over TLS, as the trusted proxy reports it, at login and at logout', async () => {
    for (const [headers, secure] of [
      [{ 'x-forwarded-proto': 'https' }, true],
      [{ forwarded: 'for=203.0.113.7;proto=https' }, true],
      [{ 'x-forwarded-proto': 'http' }, false],
      [{}, false],
    ] as const) {
      const answer = await login(server, { email: member.email, password }, { ...headers });
      const session = sessionOf(server, answer);
      const what = JSON.stringify(headers);
      assert.equal(/; Secure(;|$)/.test(String(answer.headers['set-cookie'])), secure, what);
      const out = await session.send('POST', logoutPath, {}, { ...headers });
      assert.equal(/; Secure(;|$)/.test(String(out.headers['set-cookie'])), secure, what);
    }
  });

  test('the address has no case; the organization may be named, and then it counts', async () => {
    for (const email of ['ada@one.example', 'ADA@ONE.EXAMPLE'])
      jsonOf(await login(server, { email, password }));
    jsonOf(await login(server, { email: admin.email, password, organization: 'one' }));
    problemOf(await login(server, { email: admin.email, password, organization: 'two' }), 401);
    problemOf(await login(server, { email: admin.email, password, organization: 'nowhere' }), 401);
  });

  test('a password that is right in two organizations needs the organization', async () => {
    const email = 'both@x.example';
    const { organizations } = problemOf(await login(server, { email, password }), 401) as object as {
      organizations?: unknown;
    };
    assert.equal(organizations, undefined);
    for (const organization of ['one', 'two']) {
      const session = await signIn(server, email, { organization });
      assert.equal((jsonOf(session.answer)['organization'] as { slug: string }).slug, organization);
      const seen = jsonOf(await session.get(whoamiPath))['organization'] as { slug: string };
      assert.equal(seen.slug, organization);
    }
  });

  test('on request the answer lists the organizations in which the password is right, and no others', async () => {
    const email = 'both@x.example';
    const ask = (secret: string, address = email) =>
      login(server, { email: address, password: secret, list_organizations: true });
    const listed = problemOf(await ask(password), 401) as { organizations?: { slug: string }[] };
    assert.deepEqual(listed.organizations?.map(({ slug }) => slug).toSorted(), ['one', 'two']);
    for (const answer of [await ask('wrong horse battery staple'), await ask(password, 'no@x.example')])
      assert.deepEqual(Object.keys(problemOf(answer, 401)).toSorted(), refusalMembers);
    const session = sessionOf(server, await ask(password, admin.email));
    assert.equal((jsonOf(session.answer)['organization'] as { slug: string }).slug, 'one');
    // Different passwords in the two: each signs in where it is right.
    const other = 'another horse battery staple';
    const { send } = await signIn(server, email, { organization: 'two' });
    const change = (current: string, next: string) =>
      send('POST', '/api/v1/portal/password', { current, new: next });
    assert.equal((await change(password, other)).status, 204);
    for (const [secret, slug] of [
      [password, 'one'],
      [other, 'two'],
    ] as const) {
      for (const signedIn of [await ask(secret), await login(server, { email, password: secret })]) {
        const { answer } = sessionOf(server, signedIn);
        assert.equal((jsonOf(answer)['organization'] as { slug: string }).slug, slug);
      }
    }
    const back = sessionOf(server, await ask(other));
    await back.send('POST', '/api/v1/portal/password', { current: other, new: password });
  });

  test('of many organizations the four oldest accounts count, so that newer ones lock out no user', async () => {
    const email = 'many@x.example';
    const slugs = ['one', 'two', 'three', 'four', 'five'] as const;
    for (const slug of slugs) {
      if (slug !== 'one' && slug !== 'two') await createOrganization(server, slug);
      await createUser(server, slug, 'member', email);
    }
    const becomes = async (organization: string, next: string) => {
      const { send } = await signIn(server, email, { organization });
      const change = await send('POST', '/api/v1/portal/password', { current: password, new: next });
      assert.equal(change.status, 204, change.text);
      return next;
    };
    const oldest = await becomes('one', `${password} 1`);
    const newest = await becomes('five', `${password} 5`);
    const slugBy = async (given: string, organization?: string) => {
      const answer = jsonOf(await login(server, { email, password: given, organization }));
      return (answer['organization'] as { slug: string }).slug;
    };
    assert.equal(await slugBy(oldest), 'one');
    const listed = problemOf(await login(server, { email, password, list_organizations: true }), 401);
    const { organizations } = listed as object as { organizations: { slug: string }[] };
    assert.deepEqual(organizations.map(({ slug }) => slug).toSorted(), ['four', 'three', 'two']);
    problemOf(await login(server, { email, password: newest }), 401);
    assert.equal(await slugBy(newest, 'five'), 'five');
    // The oldest account is disabled, so the newest is one of the four.
    printed(await server.cliHere(['user', 'disable', email, '--org', 'two', '--json']));
    await eventually('the account to be closed', async () => {
      const answer = await login(server, { email, password: newest });
      return answer.status === 200 ? true : undefined;
    });
  });

  test('400 for a body of another form, in words that repeat no value', async () => {
    const good = { email: admin.email, password };
    const bodies: unknown[] = [
      '',
      '{',
      'null',
      '[]',
      '"x"',
      {},
      { email: admin.email },
      { password },
      { ...good, password: '' },
      { ...good, email: '' },
      { ...good, email: [admin.email] },
      { ...good, password: { $ne: '' } },
      { ...good, password: 12 },
      { ...good, organization: 7 },
      { ...good, organization: null },
      `{"email":"${admin.email}","password":"${password}"`,
    ];
    for (const body of bodies) {
      const answer = await login(server, body);
      const { detail } = problemOf(answer, 400);
      assert.ok(!detail.includes(password) && !detail.includes(admin.email), detail);
      assert.equal(answer.headers['set-cookie'], undefined);
    }
  });

  test('415 for a form, 413 for a body that no login needs, 405 for GET', async () => {
    const form = `email=${admin.email}&password=${encodeURIComponent(password)}`;
    for (const type of [
      'application/x-www-form-urlencoded',
      'text/plain',
      'multipart/form-data; boundary=x',
    ]) {
      problemOf(await login(server, form, { 'content-type': type }), 415);
    }
    problemOf(await call(`${server.url}${loginPath}`, { method: 'POST', body: '{}' }), 415);
    problemOf(await login(server, { email: 'x'.repeat(1_000_000), password }), 413);
    problemOf(await call(`${server.url}${loginPath}`), 405);
    jsonOf(
      await login(
        server,
        { email: admin.email, password },
        { 'content-type': 'Application/JSON; charset=UTF-8' },
      ),
    );
  });
});

describe('a login that fails', () => {
  /** Everything by which a client can distinguish answers. */
  const shownOf = (answer: HttpAnswer) => {
    const { request_id: _, ...body } = problemOf(answer, 401);
    const { date: __, 'x-request-id': ___, ...headers } = answer.headers;
    return JSON.stringify({ body, headers });
  };

  test('gets the same answer for every fault', async () => {
    const gone = await addUser('gone@one.example');
    jsonOf(await kept.send('POST', `${usersPath}/${gone.id}/disable`));
    const answers = [
      await login(server, { email: admin.email, password: 'wrong horse battery staple' }),
      await login(server, { email: admin.email, password: 'x' }),
      await login(server, { email: admin.email, password: password.toUpperCase() }),
      await login(server, { email: admin.email, password: `${password} ` }),
      await login(server, { email: 'nobody@one.example', password }),
      await login(server, { email: 'not an address', password }),
      await login(server, { email: gone.email, password }),
      await login(server, { email: 'both@x.example', password }),
      await login(server, { email: admin.email, password, organization: 'two' }),
      await login(server, { email: admin.email, password, organization: 'nowhere' }),
      await login(server, { email: admin.email, password: 'x'.repeat(4000) }),
    ];
    const shown = new Set(answers.map(shownOf));
    assert.equal(shown.size, 1, [...shown].join('\n'));
    assert.equal(answers[0]?.headers['set-cookie'], undefined);
  });
});

describe('token and logout', () => {
  test('the token is in the cookie, an HS256 JWT with the documented claims', async () => {
    assert.deepEqual(jsonOf(await kept.get(tokenPath)), { token: kept.token });
    const { header, claims } = claimsOf(kept.token);
    assert.equal(header['alg'], 'HS256');
    assert.deepEqual(Object.keys(claims).sort(), ['exp', 'iat', 'jti', 'org', 'role', 'sub', 'ver']);
    assert.deepEqual([claims['sub'], claims['org'], claims['role']], [admin.id, one.id, 'admin']);
    assert.equal(Number(claims['exp']) - Number(claims['iat']), 90 * 60);
    const iat = Number(claims['iat']);
    assert.ok(iat >= begunSeconds && iat <= Date.now() / 1000 + 1, `iat ${iat}`);
    assert.notEqual(claimsOf(loggedOut.token).claims['jti'], claims['jti']);
  });

  test('the cookie is found among others', async () => {
    jsonOf(await whoami(`a=b; ${kept.cookie}; c=d`));
    jsonOf(await whoami(`xauditportal=1;${kept.cookie}`));
    problemOf(await whoami(kept.cookie.replace('auditportal', 'service')), 401);
    problemOf(await whoami(kept.cookie.replace('auditportal', 'AuditPortal')), 401);
  });

  test('of several cookies of the name the first good one counts, unless they are of different users', async () => {
    const again = await signIn(server, admin.email);
    const other = await signIn(server, member.email);
    const bad = ['auditportal=', 'auditportal=x', `auditportal=${kept.token.slice(0, -4)}AAAA`];
    const idOf = async (cookie: string) => jsonOf(await withCookie(server, cookie).get(tokenPath))['token'];
    assert.equal(await idOf([...bad, kept.cookie].join('; ')), kept.token);
    assert.equal(await idOf([kept.cookie, ...bad].join('; ')), kept.token);
    assert.equal(await idOf([kept.cookie, kept.cookie].join('; ')), kept.token);
    assert.equal(await idOf([again.cookie, kept.cookie].join('; ')), again.token);
    assert.equal(await idOf([kept.cookie, again.cookie].join(';')), kept.token);
    problemOf(await whoami([kept.cookie, other.cookie].join('; ')), 401);
    problemOf(await whoami([other.cookie, ...bad, kept.cookie].join('; ')), 401);
    // An ended session does not count, so it affects no other.
    assert.equal((await other.send('POST', logoutPath)).status, 204);
    assert.equal(await idOf([other.cookie, kept.cookie].join('; ')), kept.token);
    // Far more than a browser sends: still answered, and soon.
    const many = Array.from({ length: 1000 }, (_, n) => `auditportal=${n}`);
    problemOf(await whoami(many.join(';')), 401);
  });

  test('logout: 204, the cookie cleared, this session ended and no other', async () => {
    const other = await signIn(server, member.email);
    jsonOf(await loggedOut.get(whoamiPath));
    const answer = await loggedOut.send('POST', logoutPath);
    assert.equal(answer.status, 204);
    assert.equal(answer.raw.length, 0);
    const [cookie = ''] = answer.headers['set-cookie'] ?? [];
    const [pair, ...attributes] = cookie.split('; ');
    assert.equal(pair, 'auditportal=');
    assert.deepEqual(attributes.sort(), ['HttpOnly', 'Max-Age=0', 'Path=/', 'SameSite=Lax']);
    // Immediately, in the same process.
    for (const path of [whoamiPath, tokenPath]) problemOf(await loggedOut.get(path), 401);
    problemOf(await loggedOut.send('POST', logoutPath), 401);
    jsonOf(await other.get(whoamiPath));
    // A browser without the cookie may send no body.
    const { url } = server;
    const headers = { cookie: other.cookie, 'content-type': 'application/json' };
    assert.equal((await call(`${url}${logoutPath}`, { method: 'POST', headers })).status, 204);
  });
});

describe('changes from another site', () => {
  const host = () => `127.0.0.1:${server.port}`;
  /** A change whose content is refused (400), so only access is tested. */
  const settings = '/api/v1/portal/settings';

  test('need JSON: what a form can send is refused', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      '',
    ]) {
      problemOf(await kept.send('PATCH', settings, '{}', { 'content-type': type }), 415);
      problemOf(await kept.send('POST', logoutPath, '{}', { 'content-type': type }), 415);
    }
    jsonOf(await kept.get(whoamiPath));
  });

  test('need the same origin, where one is named', async () => {
    const wrong = [
      'https://evil.example',
      `http://${host()}.evil.example`,
      `http://evil.example:${server.port}`,
      `http://127.0.0.1:${server.port + 1}`,
      'http://127.0.0.1',
      'null',
      host(),
      `http://x@${host()}`,
      `http://${host()}/`,
      '',
    ];
    for (const origin of wrong) {
      problemOf(await kept.send('PATCH', settings, {}, { origin }), 403);
      problemOf(await kept.send('POST', logoutPath, {}, { origin }), 403);
      problemOf(await login(server, { email: admin.email, password }, { origin }), 403);
    }
    // Reads, too, if an origin is named.
    problemOf(await kept.get(whoamiPath, { origin: 'https://evil.example' }), 403);
    for (const origin of [`http://${host()}`, `HTTP://${host()}`]) {
      problemOf(await kept.send('PATCH', settings, {}, { origin }), 400);
      jsonOf(await login(server, { email: admin.email, password }, { origin }));
    }
  });

  test('the same host over plain HTTP is another origin than over TLS', async () => {
    const secure = { 'x-forwarded-proto': 'https' };
    const from = (origin: string) => kept.send('PATCH', settings, {}, { ...secure, origin });
    problemOf(await from(`http://${host()}`), 403);
    problemOf(await from(`https://${host()}`), 400);
  });

  test('no answer lets another site read', async () => {
    const answer = await kept.get(whoamiPath, { origin: 'https://evil.example' });
    for (const name of Object.keys(answer.headers)) assert.doesNotMatch(name, /^access-control-/);
  });
});

describe('after a restart, with hosts of organizations', () => {
  const at = (slug: string) => ({ host: `${slug}.${domain}` });
  /** Hosts without an organization, though some look similar. */
  const noOrganization = [
    domain,
    `${domain}:443`,
    `.${domain}`,
    'localhost',
    '127.0.0.1',
    '[::1]:8080',
    'audit.example.evil.example',
    'one.audit.example.evil.example',
    'oneaudit.example',
    'one.audit.example..',
    'one.audit.example:80:80',
    'one.audit.example:x',
    'x@one.audit.example',
    'one.audit.example/',
    'one.audit.example, one.audit.example',
    'one.\u00e1udit.example',
    'one.audit.exampl\u00e9',
  ];
  let two: SignedIn;

  before(() => restart({ TENANT_DOMAIN: domain }));

  test('sessions are good as before, and those that were ended stay ended', async () => {
    jsonOf(await whoami(kept.cookie, at('one')));
    problemOf(await whoami(loggedOut.cookie, at('one')), 401);
  });

  test('the host decides about the organization of a login', async () => {
    const email = 'both@x.example';
    for (const slug of ['one', 'two']) {
      const session = await signIn(server, email, { headers: at(slug) });
      assert.equal((jsonOf(session.answer)['organization'] as { slug: string }).slug, slug);
      if (slug === 'two') two = session;
      jsonOf(await login(server, { email, password, organization: slug }, at(slug)));
    }
    problemOf(await login(server, { email, password, organization: 'one' }, at('two')), 401);
    problemOf(await login(server, { email: admin.email, password }, at('two')), 401);
    problemOf(await login(server, { email, password }, at('nowhere')), 401);
    jsonOf(await login(server, { email: admin.email, password }, at('one')));
  });

  test('a session on the host of another organization is none', async () => {
    const good = ['one.audit.example', 'ONE.Audit.Example', 'one.audit.example:8443', 'one.audit.example.'];
    for (const host of good) jsonOf(await whoami(kept.cookie, { host }));
    const others = [
      'two.audit.example',
      'TWO.AUDIT.EXAMPLE:443',
      'two.audit.example.',
      'nowhere.audit.example',
      'x.one.audit.example',
    ];
    for (const host of [...others, ...noOrganization]) {
      problemOf(await whoami(kept.cookie, { host }), 401);
      problemOf(await kept.get('/api/v1/dashboard/organization/get-events-in-org', { host }), 401);
      problemOf(await kept.send('POST', logoutPath, {}, { host }), 401);
    }
    jsonOf(await two.get(whoamiPath, at('two')));
    problemOf(await two.get(whoamiPath, at('one')), 401);
    // Only the Host header names a host.
    for (const name of ['x-forwarded-host', 'x-host', 'x-original-host']) {
      problemOf(await whoami(kept.cookie, { ...at('two'), [name]: `one.${domain}` }), 401);
    }
  });

  test('no sign-in on a host without an organization', async () => {
    for (const host of noOrganization) {
      // Each costs a hash of a password: without a name only the host names the organization.
      for (const organization of host === domain ? [undefined, 'one'] : ['one']) {
        const answer = await login(server, { email: admin.email, password, organization }, { host });
        problemOf(answer, 401);
        assert.equal(answer.headers['set-cookie'], undefined, host);
      }
    }
  });

  test('an API key is good on every host', async () => {
    const path = '/api/v1/portal/api-keys';
    const made = jsonOf(await kept.send('POST', path, { scopes: ['read'] }, at('one')), 201);
    const headers = { 'x-api-key': String(made['key']) };
    for (const host of ['one.audit.example', 'two.audit.example', domain, 'localhost', '127.0.0.1'])
      jsonOf(await call(`${server.url}/api/v1/audit`, { headers: { ...headers, host } }));
  });

  test('the cookie of another organization, which a page of its host can add, changes nothing', async () => {
    for (const cookie of [`${two.cookie}; ${kept.cookie}`, `${kept.cookie}; ${two.cookie}`]) {
      const seen = async (slug: string) =>
        (jsonOf(await whoami(cookie, at(slug)))['organization'] as { slug: string }).slug;
      assert.deepEqual([await seen('one'), await seen('two')], ['one', 'two']);
    }
  });

  test('the origin of a change is the host of the organization', async () => {
    const change = (origin: string) =>
      kept.send('PATCH', '/api/v1/portal/settings', {}, { ...at('one'), origin });
    problemOf(await change(`https://one.${domain}`), 400);
    problemOf(await change(`https://two.${domain}`), 403);
    problemOf(await change(`https://${domain}`), 403);
    // A default port may be given.
    const ports = (origin: string, port: number) =>
      kept.send('PATCH', '/api/v1/portal/settings', {}, { host: `one.${domain}:${port}`, origin });
    problemOf(await ports(`https://one.${domain}`, 443), 400);
    problemOf(await ports(`http://one.${domain}`, 80), 400);
    problemOf(await ports(`https://one.${domain}`, 80), 403);
    problemOf(await ports(`https://one.${domain}:443`, 8443), 403);
  });
});
