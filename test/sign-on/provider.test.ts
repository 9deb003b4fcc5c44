import { strict as assert } from 'node:assert';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { newAttempt } from '../../src/sign-on/attempt.ts';
import { limits } from '../../src/sign-on/limits.ts';
import { Provider } from '../../src/sign-on/provider.ts';
import { ProviderFailed } from '../../src/sign-on/provider-failed.ts';

type Signer = Parameters<SignJWT['sign']>[0];
type Claims = Readonly<Record<string, unknown>>;

/** A provider that a test can let do anything; what it does by itself is right. */
class Issuer {
  readonly server = createServer((request, response) => {
    this.#answer(request.url ?? '', request, response).catch((error: unknown) =>
      response.destroy(error as Error),
    );
  });
  url = '';
  keys = 0;
  asked: string[] = [];
  tokenRequest = new URLSearchParams();
  /** What is signed beyond the usual claims, and what else goes wrong. */
  claims: Claims = {};
  metadata: Record<string, unknown> = {};
  userinfo: Record<string, unknown> = {};
  signer: Signer | undefined;
  kid = 'one';
  published: Record<string, unknown>[] = [];
  token: ((response: ServerResponse) => void) | undefined;
  discovery: ((response: ServerResponse) => void) | undefined;

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async reset(): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    this.signer = privateKey;
    this.kid = 'one';
    this.published = [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }];
    Object.assign(this, {
      claims: {},
      metadata: {},
      userinfo: {},
      token: undefined,
      discovery: undefined,
      asked: [],
    });
  }

  async #answer(path: string, request: AsyncIterable<Buffer>, response: ServerResponse): Promise<void> {
    this.asked.push(path);
    if (path === '/.well-known/openid-configuration') {
      if (this.discovery !== undefined) return this.discovery(response);
      return json(response, {
        issuer: this.url,
        authorization_endpoint: `${this.url}/authorize`,
        token_endpoint: `${this.url}/token`,
        jwks_uri: `${this.url}/keys`,
        userinfo_endpoint: `${this.url}/userinfo`,
        id_token_signing_alg_values_supported: ['ES256'],
        ...this.metadata,
      });
    }
    if (path === '/keys') return json(response, { keys: this.published });
    if (path === '/userinfo') return json(response, { sub: 'a', ...this.userinfo });
    if (path !== '/token') return void response.writeHead(404).end();
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    this.tokenRequest = new URLSearchParams(Buffer.concat(pieces).toString());
    if (this.token !== undefined) return this.token(response);
    json(response, { access_token: 'access', token_type: 'Bearer', id_token: await this.#idToken() });
  }

  #idToken(): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const usual = {
      iss: this.url,
      sub: 'a',
      aud: 'client',
      iat: now,
      exp: now + 60,
      nonce: attempt.nonce,
      email: 'a@x.example',
    };
    assert.ok(this.signer);
    return new SignJWT({ ...usual, ...this.claims })
      .setProtectedHeader({ alg: 'ES256', kid: this.kid })
      .sign(this.signer);
  }
}

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

const issuer = new Issuer();
const attempt = newAttempt({
  organizationId: 'o',
  returnTo: '/',
  redirectUri: 'http://127.0.0.1/api/v1/auth/sign-on/callback/acme',
});
const wanted = { scopes: 'openid email', roleClaim: '' };
let provider: Provider;

before(() => issuer.start());
beforeEach(async () => {
  await issuer.reset();
  provider = new Provider({ issuer: issuer.url, clientId: 'client', clientSecret: 'se:cret' });
});
after(() => {
  issuer.server.closeAllConnections();
  issuer.server.close();
});

/** What the browser brings back. */
function query(change: Readonly<Record<string, string | undefined>> = {}): string {
  const all = { code: 'c', state: attempt.state, iss: issuer.url, ...change };
  return new URLSearchParams(
    Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
  ).toString();
}

const finish = (rawQuery = query(), more = wanted) => provider.finish(attempt, rawQuery, more);

async function refused(
  reason: string,
  work: () => Promise<unknown> = () => finish(),
): Promise<ProviderFailed> {
  try {
    await work();
  } catch (error) {
    assert.ok(error instanceof ProviderFailed, String(error));
    assert.equal(error.reason, reason, String(error.options.cause));
    return error;
  }
  return assert.fail('it was taken');
}

describe('a sign-in at a provider', () => {
  test('begins with PKCE, state and nonce, and ends with who it is', async () => {
    const { searchParams: begun } = await provider.begin(attempt, 'openid email');
    assert.equal(begun.get('code_challenge_method'), 'S256');
    assert.equal(begun.get('state'), attempt.state);
    assert.equal(begun.get('nonce'), attempt.nonce);
    assert.equal(begun.get('redirect_uri'), attempt.redirectUri);
    assert.ok(!begun.toString().includes(attempt.verifier));
    const who = await finish();
    assert.deepEqual(
      [who.issuer, who.subject, who.email, who.emailVerified],
      [issuer.url, 'a', 'a@x.example', undefined],
    );
    assert.equal(issuer.tokenRequest.get('code_verifier'), attempt.verifier);
  });

  test('requests claims missing in the ID token; address and verification have one source', async () => {
    issuer.claims = { email_verified: true };
    issuer.userinfo = { email: 'other@x.example', email_verified: false, groups: ['g'] };
    const who = await finish(query(), { ...wanted, roleClaim: 'groups' });
    assert.deepEqual([who.email, who.emailVerified, who.claims['groups']], ['a@x.example', true, ['g']]);
    issuer.claims = { email: undefined, email_verified: true };
    const other = await finish();
    assert.deepEqual([other.email, other.emailVerified], ['other@x.example', false]);
    issuer.userinfo = { sub: 'somebody else', email: 'x@x.example' };
    await refused('invalid');
  });

  test('any mismatch is refused', async () => {
    await refused('invalid', () => finish(query({ state: 'x' })));
    await refused('invalid', () => finish(query({ state: undefined })));
    await refused('invalid', () => finish(query({ iss: 'https://other.example' })));
    await refused('invalid', () => finish(query({ code: undefined })));
    assert.ok(!issuer.asked.includes('/token'), 'and no code goes anywhere');
    await refused('declined', () => finish(query({ code: undefined, error: 'access_denied' })));
    await refused('invalid', () => finish(query({ code: undefined, error: 'access_denied', state: 'x' })));
    const now = Math.floor(Date.now() / 1000);
    const wrong: readonly Claims[] = [
      { nonce: 'of another sign-in' },
      { nonce: undefined },
      { aud: 'another client' },
      { aud: ['client', 'another'], azp: 'another' },
      { iss: 'https://other.example' },
      { exp: now - limits.clockToleranceSeconds - 5 },
      { nbf: now + limits.clockToleranceSeconds + 60 },
      { iat: now + limits.clockToleranceSeconds + 60, exp: now + 3600 },
      { sub: undefined },
      { sub: '' },
    ];
    for (const claims of wrong) {
      issuer.claims = claims;
      await refused('invalid');
    }
  });

  test('a signature by a key that the provider has not published is none', async () => {
    issuer.signer = (await generateKeyPair('ES256')).privateKey;
    await refused('invalid');
  });

  test('an issuer that promises to name itself in the way back must do so', async () => {
    issuer.metadata = { authorization_response_iss_parameter_supported: true };
    await refused('invalid', () => finish(query({ iss: undefined })));
  });

  test('a code that is over is the person’s to begin again; a client that is not known is the operator’s', async () => {
    issuer.token = (response) =>
      json(response, { error: 'invalid_grant', error_description: 'the code c' }, 400);
    const over = await refused('invalid');
    assert.ok(!JSON.stringify([over.message, String(over.options.cause)]).includes('the code c'));
    issuer.token = (response) => json(response, { error: 'invalid_client' }, 401);
    assert.match(String((await refused('provider')).options.cause), /invalid_client/);
  });
});

describe('a provider that is not as it should be', () => {
  test('with another issuer, a pattern, or plain HTTP elsewhere', async () => {
    for (const metadata of [{ issuer: 'https://other.example' }, { issuer: `${issuer.url}/{tenantid}` }]) {
      issuer.metadata = metadata;
      provider = new Provider({ issuer: issuer.url, clientId: 'client', clientSecret: undefined });
      await refused('provider', () => provider.begin(attempt, 'openid'));
    }
  });

  test('its metadata is requested once, failures are not cached, and waits and answers are bounded', async () => {
    issuer.discovery = (response) => void response.writeHead(500).end();
    await refused('provider', () => provider.begin(attempt, 'openid'));
    issuer.discovery = (response) =>
      json(response, { issuer: issuer.url, filler: 'x'.repeat(limits.providerAnswerBytesMax) });
    await refused('provider', () => provider.begin(attempt, 'openid'));
    issuer.discovery = undefined;
    await Promise.all([provider.begin(attempt, 'openid'), provider.begin(attempt, 'openid')]);
    await provider.begin(attempt, 'openid');
    assert.equal(issuer.asked.length, 3);
    const held: ServerResponse[] = [];
    issuer.token = (response) => void held.push(response);
    const begun = performance.now();
    const all = await Promise.allSettled(
      Array.from({ length: limits.providerWaitingMax + 1 }, () => finish()),
    );
    assert.ok(all.every((one) => one.status === 'rejected' && one.reason instanceof ProviderFailed));
    assert.ok(performance.now() - begun < limits.providerMsMax * 3);
    assert.ok(held.length <= limits.providerWaitingMax);
  });

  test('new keys are fetched when a token names one', async () => {
    await finish();
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    Object.assign(issuer, { signer: privateKey, kid: 'two' });
    issuer.published.push({ ...(await exportJWK(publicKey)), kid: 'two', alg: 'ES256', use: 'sig' });
    const later = new Provider({ issuer: issuer.url, clientId: 'client', clientSecret: undefined });
    assert.equal((await later.finish(attempt, query(), wanted)).subject, 'a');
    assert.ok(Math.abs(await provider.clockAheadMs()) < 5_000);
  });
});
