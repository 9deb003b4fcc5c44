import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { call, type HttpAnswer, problemOf } from '../support/http.ts';
import { Browser, type OidcProvider, startOidcProvider } from '../support/oidc-provider.ts';
import { createOrganization, printed, startServer, type TestServer } from '../support/server.ts';
import { createUser, jsonOf, signIn } from './session-support.ts';

/** The service's provider, and organizations with their own hosts. */
const domain = 'audit.test';
const origin = (slug: string) => `http://${slug}.${domain}`;
const path = '/api/v1/auth/sign-on';
let server: TestServer;
let provider: OidcProvider;

before(async () => {
  provider = await startOidcProvider(
    ['acme', 'globex'].map((slug) => `${origin(slug)}${path}/callback/_service`),
  );
  server = await startServer({
    env: {
      TENANT_DOMAIN: domain,
      OIDC_PROVIDER: provider.issuer.replace('//', `//${provider.clientId}:${provider.clientSecret}@`),
      RATE_LIMIT_LOGIN: '4/60s',
    },
  });
  for (const slug of ['acme', 'globex', 'initech']) await createOrganization(server, slug);
  await createUser(server, 'acme', 'admin', 'ann@acme.example');
  await createUser(server, 'globex', 'admin', 'gus@globex.example');
  printed(await server.cliHere(['sign-on', 'set', '--org', 'initech', '--provider', 'off', '--json']));
  await signIn(server, 'gus@globex.example', { headers: { host: `globex.${domain}` } });
});
after(() => Promise.all([server?.stop(), provider?.stop()]));

const ask = (slug: string, to: string, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
  call(`${server.url}${to}`, { headers: { host: `${slug}.${domain}`, ...headers } });

test('a sign-in is of the organization of its host, there and back', async () => {
  const hosts = Object.fromEntries(['acme', 'globex'].map((slug) => [origin(slug), server.url]));
  const browser = new Browser(hosts);
  provider.account = { sub: 'ann', email: 'ann@acme.example', email_verified: true };
  const isBack = (url: string) => url.includes('/callback/');
  const back = await browser.follow(`${origin('acme')}${path}?return=/%23/users`, isBack);
  assert.ok(back.startsWith(`${origin('acme')}${path}/callback/_service?`));
  const cookie = browser.cookies(origin('acme'));
  const elsewhere = await ask('globex', back.slice(origin('acme').length), { cookie });
  assert.equal(problemOf(elsewhere, 401)['sign_on'], 'over');
  assert.equal((await browser.get(back)).headers.location, '/#/users');
  const session = { cookie: browser.cookies(origin('acme')) };
  const who = jsonOf(await ask('acme', '/api/v1/portal/whoami', session));
  assert.equal((who['organization'] as Record<string, unknown>)['slug'], 'acme');
  problemOf(await ask('globex', '/api/v1/portal/whoami', session), 401);
  // The same person is unknown in the other organization with the same provider.
  const refused = await new Browser(hosts).follow(`${origin('globex')}${path}`, (url) => url.includes('/#/'));
  assert.match(refused, /fault=unknown/);
});

test('the host decides the way to sign in, and another host shows none', async () => {
  const options = async (slug: string, query = '') =>
    jsonOf(await ask(slug, `/api/v1/auth/sign-on-options${query}`));
  assert.deepEqual(await options('acme'), { sign_on: true, passwords: true, names_organization: false });
  assert.equal((await options('initech'))['sign_on'], false);
  for (const [host, query] of [
    ['initech', ''],
    ['acme', '?organization=globex'],
    ['nobody', ''],
  ] as const)
    assert.equal(problemOf(await ask(host, `${path}${query}`), 401)['sign_on'], 'organization', host);
  problemOf(await call(`${server.url}${path}?organization=acme`), 401);
});

test('ways back count as logins of their address, and sign-ins are counted by what became of them', async () => {
  const statuses = new Set<number>();
  for (let n = 0; n < 5; n += 1) statuses.add((await ask('acme', `${path}/callback/_service?code=x`)).status);
  assert.ok(statuses.has(429));
  const page = await ask('acme', `${path}/callback/_service?code=x`, { accept: 'text/html' });
  assert.match(String(page.headers.location), /fault=often/);
  const { text } = await call(`${server.url}/metrics`);
  for (const outcome of ['ok', 'unknown', 'over'])
    assert.match(
      text,
      new RegExp(`auditlog_sign_ins_total\\{way="openid_connect",outcome="${outcome}"\\} [1-9]`),
    );
  assert.match(text, /auditlog_sign_ins_total\{way="password",outcome="ok"\} [1-9]/);
});

test('the list names the provider of each organization', async () => {
  const listed = printed(await server.cliHere(['sign-on', 'list', '--json'])) as Record<string, string>[];
  const shown = listed.map((one) => [one['organization'], one['provider'], one['issuer'], one['client_id']]);
  assert.deepEqual(
    shown.toSorted(([a = ''], [b = '']) => a.localeCompare(b)),
    [
      ['acme', 'service', provider.issuer, provider.clientId],
      ['globex', 'service', provider.issuer, provider.clientId],
      ['initech', 'off', undefined, undefined],
    ],
  );
  const { stdout } = await server.cliHere(['sign-on', 'list']);
  assert.ok(
    new RegExp(`^acme +${provider.issuer} \\(of the service\\) +${provider.clientId} `, 'm').test(stdout),
  );
  assert.match(stdout, /^initech +off /m);
});

test('doctor asks the provider', async () => {
  const find = async () => {
    const { stdout } = await server.cliHere(['doctor', '--quick', '--json']);
    const { checks } = JSON.parse(stdout) as {
      checks: { name: string; findings: { id: string; detail: string }[] }[];
    };
    return checks.find(({ name }) => name === 'sign_on')?.findings;
  };
  assert.deepEqual(await find(), []);
  await provider.stop();
  const findings = await find();
  assert.equal(findings?.[0]?.id, 'OIDC_PROVIDER');
});
