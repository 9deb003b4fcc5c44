import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  type ClientAuth,
  ClientError,
  type Configuration,
  type CustomFetch,
  ClientSecretPost,
  ClientSecretBasic,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  type IDToken,
  None,
} from 'openid-client';
import { isLoopback } from '../base/network/issuer.ts';
import { memoizeFor } from '../base/waiting/single-flight.ts';
import type { Identity } from '../control/sign-on.ts';
import { limits } from './limits.ts';
import { toFailure, ProviderFailed, unavailable } from './provider-failed.ts';

/** How long metadata is kept; an unknown key is fetched sooner. */
const providerKeptMs = 3_600_000;
/** The longest subject (OpenID Connect Core, 2), and the longest e-mail address. */
const subjectCharactersMax = 255;
const emailCharactersMax = 254;

export interface ProviderClient {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
}

export interface Checks {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Needed claims; requested from the provider if the ID token lacks them. */
interface Wanted {
  readonly scopes: string;
  readonly roleClaim: string;
}

/** Fetches metadata when needed and after `providerKeptMs`, and keys again for an unknown one, at most once a minute. */
export class Provider {
  readonly #discovered: () => Promise<Configuration>;
  #waiting = 0;

  constructor(client: ProviderClient) {
    this.#discovered = memoizeFor(providerKeptMs, () => discover(client));
  }

  /** How far its clock is ahead, to a second. Rejects with ProviderFailed. */
  clockAheadMs(): Promise<number> {
    return this.#bounded(async () => {
      const { issuer } = (await this.#discovered()).serverMetadata();
      const { headers, body } = await boundedFetch(issuer, plainGet);
      await body?.cancel();
      const date = Date.parse(headers.get('date') ?? '');
      return Number.isNaN(date) ? 0 : date - Date.now();
    });
  }

  /** The URL to send the browser to. Rejects with ProviderFailed. */
  begin({ redirectUri, state, nonce, verifier }: Checks, scopes: string): Promise<URL> {
    return this.#bounded(async () =>
      buildAuthorizationUrl(await this.#discovered(), {
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: scopes,
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }),
    );
  }

  /** Verifies state, issuer (RFC 9207), code with the PKCE verifier, and the ID token. Rejects with ProviderFailed. */
  finish(checks: Checks, rawQuery: string, wanted: Wanted): Promise<Identity> {
    return this.#bounded(async () => {
      const configuration = await this.#discovered();
      const tokens = await authorizationCodeGrant(
        configuration,
        new URL(`${checks.redirectUri}?${rawQuery}`),
        {
          pkceCodeVerifier: checks.verifier,
          expectedState: checks.state,
          expectedNonce: checks.nonce,
          idTokenExpected: true,
        },
      );
      const claims = tokens.claims();
      if (claims === undefined) throw new ClientError('no ID token');
      // The library checks only `exp`: a future token would be valid until then.
      if (claims.iat > Date.now() / 1000 + limits.clockToleranceSeconds)
        throw new ClientError('the ID token was issued in the future');
      // An empty subject would match everybody.
      if (claims.sub === '' || claims.sub.length > subjectCharactersMax)
        throw new ClientError('the subject is empty or too long');
      const needsMore = claims['email'] === undefined || lacks(claims, wanted.roleClaim);
      const asks = needsMore && configuration.serverMetadata().userinfo_endpoint !== undefined;
      const more = asks ? await fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
      return readIdentity(claims, more);
    });
  }

  async #bounded<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= limits.providerWaitingMax)
      throw new ProviderFailed(
        'provider',
        'Too many sign-ins are waiting for the identity provider of your organization.',
      );
    this.#waiting += 1;
    try {
      // For all requests together; the library's own limit is for each.
      return await unlessAborted(work(), AbortSignal.timeout(limits.providerMsMax));
    } catch (error) {
      throw toFailure(error);
    } finally {
      this.#waiting -= 1;
    }
  }
}

const plainGet = { method: 'GET', redirect: 'manual', headers: {}, body: undefined } as const;

function lacks(claims: IDToken, roleClaim: string): boolean {
  const [top = ''] = roleClaim.split('.');
  return roleClaim !== '' && claims[roleClaim] === undefined && claims[top] === undefined;
}

/** The issuer must equal the configured one: the library allows a pattern for Microsoft's hosts. */
async function discover({ issuer, clientId, clientSecret }: ProviderClient): Promise<Configuration> {
  const url = new URL(issuer);
  try {
    const client = { [clockTolerance]: limits.clockToleranceSeconds };
    const configuration = await discovery(url, clientId, client, authentication(clientSecret), {
      timeout: limits.providerMsMax / 1000,
      [customFetch]: boundedFetch,
      execute: [enableNonRepudiationChecks, ...(isLoopback(url) ? [allowInsecureRequests] : [])],
    });
    const issuer = configuration.serverMetadata().issuer;
    if (new URL(issuer).href !== url.href)
      throw new Error(`the provider reports the issuer ${issuer.slice(0, 200)}`);
    return configuration;
  } catch (error) {
    throw unavailable(error);
  }
}

/** Sends the client secret in a header, which every provider must support unless its metadata excludes it. */
function authentication(secret: string | undefined): ClientAuth {
  if (secret === undefined) return None();
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    (methods.includes('client_secret_basic') ? basic : post)(server, ...request);
  };
}

/** Signed claims of the ID token have priority; address and its verification come from one source. */
function readIdentity(claims: IDToken, more: Readonly<Record<string, unknown>>): Identity {
  const source = claims['email'] === undefined ? more : claims;
  const { email, email_verified: verified } = source as Record<string, unknown>;
  const all: Readonly<Record<string, unknown>> = { ...more, ...claims };
  const name = all['name'] ?? all['preferred_username'];
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: typeof email === 'string' && email.length <= emailCharactersMax ? email : undefined,
    // Some providers send it as text.
    emailVerified: verified === undefined ? undefined : verified === true || verified === 'true',
    name: typeof name === 'string' ? name : undefined,
    claims: all,
  };
}

/** The result of `work`, or a rejection with the signal's reason. The work continues: only for reads. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Fails beyond `limits.providerAnswerBytesMax`. */
const boundedFetch: CustomFetch = async (url, { body, ...options }) => {
  const response = await fetch(url, { ...options, body: body ?? null });
  if (response.body === null) return response;
  let bytes = 0;
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length;
        if (bytes > limits.providerAnswerBytesMax)
          controller.error(
            new Error(`The answer of the provider exceeds ${limits.providerAnswerBytesMax} bytes`),
          );
        else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(counted, { status, statusText, headers });
};
