import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { call, eventually, problemOf } from '../support/http.ts';
import { type Account, Browser, type OidcProvider, startOidcProvider } from '../support/oidc-provider.ts';
import {
  createOrganization,
  createTenant,
  printed,
  type SharedServer,
  type Tenant,
} from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';
import { createUser, jsonOf, login, password, signIn, withCookie } from './session-support.ts';

const slug = 'sign-on';
const path = '/api/v1/auth/sign-on';
let server: SharedServer;
let tenant: Tenant;
let provider: OidcProvider;
let otherProvider: OidcProvider;
let callback: string;

const ann: Account = {
  sub: 'ann-1',
  email: 'Ann@sign-on.example',
  email_verified: true,
  name: 'Ann of the provider',
  groups: ['everyone', 'audit-admins'],
};

before(async () => {
  server = await sharedServer();
  tenant = await createTenant(server, slug);
  await createOrganization(server, 'sign-on-other');
  callback = `${server.url}${path}/callback/${slug}`;
  provider = await startOidcProvider([callback]);
  otherProvider = await startOidcProvider([`${server.url}${path}/callback/sign-on-other`]);
  for (const [org, { issuer, clientId, clientSecret }] of [
    [slug, provider],
    ['sign-on-other', otherProvider],
  ] as const) {
    const set = ['--issuer', issuer, '--client-id', clientId, '--scopes', 'openid email profile groups'];
    await configure(org, [...set, '--client-secret-stdin'], `${clientSecret}\n`);
  }
  await createUser(server, slug, 'admin', 'ann@sign-on.example');
});
after(() => Promise.all([provider?.stop(), otherProvider?.stop()]));

async function configure(org: string, args: readonly string[], stdin = ''): Promise<Record<string, unknown>> {
  const answer = await server.cliHere(['sign-on', 'set', '--org', org, ...args, '--json'], stdin);
  const value = printed(answer) as Record<string, unknown>;
  // A change by a command arrives with the next refresh.
  await eventually('the server to know the settings', async () => {
    const options = jsonOf(await call(`${server.url}/api/v1/auth/sign-on-options?organization=${org}`));
    return options['sign_on'] === (value['provider'] === 'own') ? true : undefined;
  });
  return value;
}

const isOver = (url: string): boolean => url.startsWith(`${server.url}/#`);

/** Signs in completely; resolves with the page's final address. */
async function signOn(
  account: Account | undefined,
  { browser = new Browser(), org = slug } = {},
): Promise<{ place: string; browser: Browser }> {
  provider.account = account;
  otherProvider.account = account;
  const end = await browser.follow(`${server.url}${path}?organization=${org}&return=/%23/events`, isOver);
  return { place: end.slice(server.url.length), browser };
}

async function faultOf(account: Account | undefined, options = {}): Promise<string | null> {
  const { place, browser } = await signOn(account, options);
  assert.match(place, /^\/#\/sign-in\?/);
  assert.doesNotMatch(browser.cookies(server.url), /service/, 'neither a session nor an attempt is left');
  return new URLSearchParams(place.slice(place.indexOf('?'))).get('fault');
}

/** Signs in up to the provider's redirect, which is not followed. */
async function wayBack(account: Account, browser: Browser, org = slug): Promise<string> {
  provider.account = account;
  otherProvider.account = account;
  const isBack = (url: string) => url.startsWith(`${server.url}${path}/callback/`);
  return browser.follow(`${server.url}${path}?organization=${org}`, isBack);
}

async function selfAudit(activity: number) {
  await tenant.caughtUp();
  const { data } = await tenant.page({ limit: '1000' });
  return data.filter(({ activity_id: id }) => id === activity);
}

describe('a sign-in by a real provider', () => {
  test('links the user with the verified address, makes a session, and is recorded', async () => {
    const { place, browser } = await signOn(ann);
    assert.equal(place, '/#/events');
    const who = jsonOf(await withCookie(server, browser.cookies(server.url)).get('/api/v1/portal/whoami'));
    assert.deepEqual((who['user'] as Record<string, unknown>)['email'], 'ann@sign-on.example');
    const [event] = await selfAudit(1001);
    assert.deepEqual(event?.extra_map, { way: 'openid_connect', issuer: provider.issuer, subject: 'ann-1' });
    assert.equal(event?.actor.user?.['email_addr'], 'ann@sign-on.example');
    const [link, ...others] = await selfAudit(1008);
    assert.equal(others.length, 0);
    assert.equal(link?.activity_name, 'User linked to a sign-on');
    assert.deepEqual([link?.extra_map?.['issuer'], link?.extra_map?.['subject']], [provider.issuer, 'ann-1']);
    // From now on by the subject, with any address.
    const moved = await signOn({ ...ann, email: 'new@sign-on.example', email_verified: false });
    assert.equal(moved.place, '/#/events');
  });

  test('a session by it ends as any other: logout', async () => {
    const { browser } = await signOn(ann);
    const signedIn = withCookie(server, browser.cookies(server.url));
    assert.equal((await signedIn.send('POST', '/api/v1/auth/logout')).status, 204);
    problemOf(await signedIn.get('/api/v1/portal/whoami'), 401);
  });

  test('an unknown person is refused, or created with --create; roles follow the claim', async () => {
    const bob: Account = {
      sub: 'bob-1',
      email: 'bob@sign-on.example',
      email_verified: true,
      name: 'Bob',
      groups: ['audit-readers'],
    };
    assert.equal(await faultOf(bob), 'unknown');
    await configure(slug, [
      '--create',
      'on',
      '--role-claim',
      'groups',
      '--admin-values',
      'audit-admins',
      '--auditor-values',
      'audit-readers',
    ]);
    const browser = await eventually('the rules to hold', async () => {
      const tried = await signOn(bob);
      return tried.place === '/#/events' ? tried.browser : undefined;
    });
    const roleNow = async () =>
      (
        jsonOf(await withCookie(server, browser.cookies(server.url)).get('/api/v1/portal/whoami'))[
          'user'
        ] as Record<string, unknown>
      )['role'];
    assert.equal(await roleNow(), 'auditor');
    await signOn({ ...bob, groups: ['audit-admins'] }, { browser });
    assert.equal(await roleNow(), 'admin');
    assert.equal(await faultOf({ ...bob, groups: [] }), 'role');
    const [changed] = await selfAudit(1020);
    assert.deepEqual(changed?.extra_map?.['previous'], { role: 'auditor' });
    assert.equal((await selfAudit(1000)).length, 2, 'ann, bob, and none for who was refused');
    const failed = await selfAudit(1002);
    const reasons = failed.map(({ extra_map: extra }) => extra?.['reason']);
    assert.deepEqual([...new Set(reasons)], ['role', 'unknown']);
  });

  test('an identity of one organization’s provider opens no other organization', async () => {
    // The other provider's claims about this organization's people do not count.
    assert.equal(await faultOf(ann, { org: 'sign-on-other' }), 'unknown');
    const browser = new Browser();
    const back = await wayBack(ann, browser, 'sign-on-other');
    const redirected = back.replace('/callback/sign-on-other', `/callback/${slug}`);
    problemOf(await call(redirected, { headers: { cookie: browser.cookies(server.url) } }), 401);
    // An attempt of this organization with the other provider's answer; then also with its state.
    for (const hasState of [false, true]) {
      const mixed = new Browser();
      const own = new URL(await wayBack(ann, mixed));
      const foreign = new URL(back);
      if (hasState) foreign.searchParams.set('state', own.searchParams.get('state') ?? '');
      const answer = `${own.origin}${own.pathname}?${foreign.searchParams.toString()}`;
      const refused = problemOf(await call(answer, { headers: { cookie: mixed.cookies(server.url) } }), 401);
      assert.equal(refused['sign_on'], 'invalid');
    }
  });

  test('a way back is good once, and in the browser that went there', async () => {
    const invalid = (await selfAudit(1002)).filter(
      ({ extra_map: extra }) => extra?.['reason'] === 'invalid',
    ).length;
    const browser = new Browser();
    const back = await wayBack(ann, browser);
    const stranger = problemOf(await call(back), 401);
    assert.equal(stranger['sign_on'], 'over');
    const cookie = browser.cookies(server.url);
    assert.equal((await browser.get(back)).headers.location, '/');
    assert.doesNotMatch(browser.cookies(server.url), /sign-on/);
    const again = problemOf(await call(back, { headers: { cookie } }), 401);
    // Without a request to the provider, which would answer `invalid` for a used code.
    assert.equal(again['sign_on'], 'over');
    assert.equal(
      (await selfAudit(1002)).filter(({ extra_map: extra }) => extra?.['reason'] === 'invalid').length,
      invalid,
    );
    const altered = `${cookie.slice(0, -2)}xx`;
    assert.equal(problemOf(await call(back, { headers: { cookie: altered } }), 401)['sign_on'], 'over');
    const lines = [...server.stdoutLines(), ...server.stderrLines()].join('\n');
    assert.ok(!lines.includes(new URL(back).searchParams.get('code') ?? 'x'), 'no code in any log');
    assert.ok(!lines.includes(provider.clientSecret));
  });

  test('the redirect leads only to the page', async () => {
    for (const to of [
      'https://evil.example/',
      '//evil.example',
      '/\\evil.example',
      '/#/x\n',
      '/api/v1/auth/token',
    ]) {
      const browser = new Browser();
      provider.account = ann;
      const begin = `${server.url}${path}?organization=${slug}&return=${encodeURIComponent(to)}`;
      const isBack = (url: string) => url.includes('/callback/');
      const back = await browser.follow(begin, isBack);
      assert.equal((await browser.get(back)).headers.location, '/', to);
    }
  });

  test('a disabled user is refused', async () => {
    const cal: Account = {
      sub: 'cal-1',
      email: 'cal@sign-on.example',
      email_verified: true,
      groups: ['audit-readers'],
    };
    await createUser(server, slug, 'member', 'cal@sign-on.example');
    const { browser } = await signOn(cal);
    printed(await server.cliHere(['user', 'disable', 'cal@sign-on.example', '--org', slug, '--json']));
    await eventually('the session to end', async () => {
      const { status } = await withCookie(server, browser.cookies(server.url)).get('/api/v1/portal/whoami');
      return status === 401 ? true : undefined;
    });
    assert.equal(await faultOf(cal), 'disabled');
  });
});

test('organizations without a provider, and unknown ones, look the same', async () => {
  for (const org of ['sign-on-nobody', 'sign-on-none']) {
    if (org === 'sign-on-none') await createOrganization(server, org);
    const options = await call(`${server.url}/api/v1/auth/sign-on-options?organization=${org}`);
    assert.deepEqual(jsonOf(options), { sign_on: false, passwords: true, names_organization: false });
    assert.equal(
      problemOf(await call(`${server.url}${path}?organization=${org}`), 401)['sign_on'],
      'organization',
    );
  }
});

describe('passwords off', () => {
  const org = 'sign-on-strict';
  const email = 'dot@strict.example';
  const set = (...args: string[]) => server.cliHere(['org', 'set', '--org', org, ...args, '--json']);
  let strict: OidcProvider;
  before(async () => {
    await createOrganization(server, org);
    await createUser(server, org, 'admin', email);
    await createUser(server, org, 'member', 'eli@strict.example');
    strict = await startOidcProvider([`${server.url}${path}/callback/${org}`]);
  });
  after(() => strict?.stop());

  test('only once an administrator has signed in by the provider; then no password opens anything', async () => {
    assert.match((await set('--passwords', 'off')).stderr, /no administrator has signed in/);
    const { issuer, clientId, clientSecret } = strict;
    await configure(
      org,
      ['--issuer', issuer, '--client-id', clientId, '--client-secret-stdin'],
      clientSecret,
    );
    assert.equal((await set('--passwords', 'off')).code, 1);
    const dot = await signIn(server, email, { organization: org });
    strict.account = { sub: 'dot', email, email_verified: true };
    await new Browser().follow(
      `${server.url}${path}?organization=${org}`,
      (url) => !url.includes('/api/') && url.startsWith(server.url),
    );
    printed(await set('--passwords', 'off'));
    const refused = await eventually('the password to open nothing', async () => {
      const answer = await login(server, { email, password, organization: org });
      return answer.status === 401 ? answer : undefined;
    });
    const wrong = await login(server, { email, password: `${password}!`, organization: org });
    const text = ({ text: body }: { text: string }) => body.replace(/"request_id":"[^"]*"/, '');
    assert.equal(text(refused), text(wrong), 'as a wrong password');
    const others = jsonOf(await dot.get('/api/v1/portal/users'))['data'] as { id: string; email: string }[];
    const eli = others.find((one) => one.email === 'eli@strict.example')?.id ?? randomUUID();
    for (const [to, body] of [
      [`/api/v1/portal/users/${eli}/password-link`, {}],
      [`/api/v1/portal/users/${eli}/password`, { password: `${password}!` }],
      ['/api/v1/portal/password', { current: password, new: `${password}!` }],
      ['/api/v1/portal/users', { email: 'x@strict.example', name: 'X', role: 'member', password }],
    ] as const) {
      assert.match(problemOf(await dot.send('POST', to, body), 409)['detail'], /Passwords are off/, to);
    }
    assert.equal(
      (await server.cliHere(['sign-on', 'set', '--org', org, '--provider', 'off', '--json'])).code,
      1,
    );
  });

  test('the operator has a way back', async () => {
    printed(await set('--passwords', 'on'));
    await signIn(server, email, { organization: org });
  });
});

describe('a provider that does not answer', () => {
  test('is reported in time, and the next attempt asks it again', async () => {
    const org = 'sign-on-gone';
    await createOrganization(server, org);
    const gone = await startOidcProvider([]);
    await gone.stop();
    await configure(org, ['--issuer', gone.issuer, '--client-id', 'x']);
    const url = `${server.url}${path}?organization=${org}`;
    const refused = await call(url);
    assert.equal(problemOf(refused, 503)['sign_on'], 'provider');
    assert.ok(refused.headers['retry-after']);
    const page = await call(url, { headers: { accept: 'text/html' } });
    assert.match(String(page.headers.location), /^\/#\/sign-in\?fault=provider&reference=/);
  });
});

test('settings: errors name the fault, and the secret is shown nowhere', async () => {
  const set = (...args: string[]) => server.cliHere(['sign-on', 'set', '--org', slug, ...args, '--json']);
  const cases: readonly (readonly [RegExp, ...string[]])[] = [
    [/issuer must be an https/, '--issuer', 'http://idp.example'],
    [/issuer must be an https/, '--issuer', 'https://u:p@idp.example'],
    [/issuer must be/, '--issuer', 'https://idp.example/.well-known/openid-configuration'],
    [/secret is needed again/, '--client-id', 'another'],
    [/create must be on or off/, '--create', 'yes'],
    [/openid among them/, '--scopes', 'email'],
    [/provider must be one of/, '--provider', 'mine'],
    [/role must be one of/, '--default-role', 'owner'],
    [/nothing to set/],
  ];
  for (const [words, ...args] of cases) {
    const answer = await set(...args);
    assert.match(answer.stderr, words, args.join(' '));
    assert.notEqual(answer.code, 0);
  }
  const listed = await server.cliHere(['sign-on', 'list', '--json']);
  const stored = await server.cliHere(['sign-on', 'list']);
  for (const text of [listed.stdout, stored.stdout, JSON.stringify(await selfAudit(1221))]) {
    assert.ok(text.includes(provider.issuer));
    assert.ok(!text.includes(provider.clientSecret));
  }
  // The service's provider would apply to this organization.
  assert.match(stored.stdout, /^sign-on-none +none /m);
});
