import { strict as assert } from 'node:assert';
import { describe, test } from 'node:test';
import { Problem } from '../../src/base/errors/problem.ts';
import type { Organization } from '../../src/control/organizations.ts';
import { defaultSignOn } from '../../src/control/default-sign-on.ts';
import type { RequestContext } from '../../src/http/request-context.ts';
import { attemptCookie } from '../../src/http/session-cookie.ts';
import { nameOfProvider, redirectUri } from '../../src/http/sign-on-address.ts';
import { Attempts, newAttempt } from '../../src/sign-on/attempt.ts';
import { limits } from '../../src/sign-on/limits.ts';

const acme = { slug: 'acme' } as Organization;
const path = '/api/v1/auth/sign-on/callback/acme';

/** A request reduced to what these functions read. */
function request(host: string, secure = false): RequestContext {
  const headers = new Map([['host', host]]);
  return {
    head: { secure, headers },
    header: (name: string) => headers.get(name),
  } as unknown as RequestContext;
}

describe('the way back from a provider', () => {
  const to = (host: string, secure: boolean, config: { tenantDomain?: string; publicUrl?: string }) =>
    redirectUri(
      request(host, secure),
      { tenantDomain: undefined, publicUrl: undefined, ...config },
      acme,
      'acme',
    );

  test('leads to the organization’s host, for any request', () => {
    const config = { tenantDomain: 'audit.example' };
    assert.equal(to('acme.audit.example', true, config), `https://acme.audit.example${path}`);
    assert.equal(to('ACME.audit.example.:8443', true, config), `https://acme.audit.example:8443${path}`);
    assert.equal(to('evil.example', false, config), `http://acme.audit.example${path}`);
    assert.equal(to('evil.example:80@x', true, config), `https://acme.audit.example${path}`);
  });

  test('a Host that is none is the request’s fault', () => {
    for (const [host, config] of [
      ['a:99999', { tenantDomain: 'audit.example' }],
      ['acme.audit.example:99999', { tenantDomain: 'audit.example' }],
      ['localhost:99999', {}],
      ['127.0.0.999', {}],
    ] as const)
      assert.throws(
        () => to(host, false, config),
        (error) => error instanceof Problem && error.code === 'malformed',
        host,
      );
  });

  test('leads to PUBLIC_URL, else to this machine, else nowhere', () => {
    assert.equal(to('evil.example', false, { publicUrl: 'https://a.example' }), `https://a.example${path}`);
    for (const host of ['localhost:8080', '127.0.0.1:1', '[::1]:9'])
      assert.equal(to(host, false, {}), `http://${host}${path}`);
    for (const host of [
      'audit.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      'localhost@evil',
      '',
    ])
      assert.throws(
        () => to(host, true, {}),
        (error: unknown) => error instanceof Problem && error.code === 'unavailable',
      );
  });

  test('differs by provider, and no organization can have the name of the service’s', () => {
    const settings = defaultSignOn('id');
    assert.equal(nameOfProvider({ ...settings, provider: 'own' }, acme), 'acme');
    assert.equal(nameOfProvider(settings, { slug: 'service' } as Organization), '_service');
  });
});

describe('the cookie of a sign-in', () => {
  const attempt = newAttempt({ organizationId: 'o', returnTo: '/', redirectUri: `http://localhost${path}` });

  test('is unreadable, expires, and is valid only for its purpose', async () => {
    let nowMicros = Date.now() * 1000;
    const attempts = new Attempts('s'.repeat(32), () => nowMicros);
    const sealed = await attempts.seal(attempt);
    for (const secret of [attempt.state, attempt.nonce, attempt.verifier])
      assert.ok(!Buffer.from(sealed, 'base64url').includes(secret) && !sealed.includes(secret));
    assert.equal((await attempts.open(sealed))?.verifier, attempt.verifier);
    assert.equal(await new Attempts('t'.repeat(32), () => nowMicros).open(sealed), undefined);
    for (const text of ['', 'x', `${sealed}x`, altered(sealed)])
      assert.equal(await attempts.open(text), undefined);
    nowMicros += (limits.attemptMs + 1_000) * 1_000;
    assert.equal(await attempts.open(sealed), undefined);
  });

  test('over TLS no other host can set it', () => {
    const secure = attemptCookie('service', request('acme.audit.example', true));
    const line = secure.set(request('x', true), 'v', 600);
    assert.match(line, /^__Host-service-sign-on=v; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/);
    assert.doesNotMatch(attemptCookie('service', request('x')).set(request('x'), 'v', 1), /__Host|Secure/);
  });
});

/** With another character in the middle of the ciphertext. */
function altered(sealed: string): string {
  const parts = sealed.split('.');
  const text = parts[3] ?? '';
  parts[3] = `${text.slice(0, 10)}${text[10] === 'A' ? 'B' : 'A'}${text.slice(11)}`;
  return parts.join('.');
}
