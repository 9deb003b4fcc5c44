import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { call, type HttpAnswer } from './http.ts';

/** The claims of an account. */
export type Account = Readonly<Record<string, unknown>> & { readonly sub: string };

/** A real OpenID Connect provider whose accounts sign in without a prompt. */
export interface OidcProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The account that signs in; undefined: the sign-in is declined. */
  account: Account | undefined;
  stop(): Promise<void>;
}

interface Library {
  readonly Provider: new (issuer: string, configuration: object) => ProviderOfLibrary;
}

interface ProviderOfLibrary {
  readonly Grant: new (of: object) => { addOIDCScope(scope: string): void; save(): Promise<string> };
  callback(): (request: IncomingMessage, response: ServerResponse) => void;
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
}

const scopes = 'openid email profile groups';
const [clientId, clientSecret] = ['auditlog', 'a secret of the client, long enough'];

/** On a free port; redirects only to these addresses. */
export async function startOidcProvider(redirectUris: readonly string[]): Promise<OidcProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const started: OidcProvider = {
    issuer,
    clientId,
    clientSecret,
    account: undefined,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  const { Provider } = (await import('oidc-provider')) as Library;
  const provider = new Provider(
    issuer,
    configurationOf(started, redirectUris, () => provider),
  );
  const answer = provider.callback();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith('/interaction/') !== true) return answer(request, response);
    const { account } = started;
    const result =
      account === undefined
        ? { error: 'access_denied' }
        : { login: { accountId: account.sub, remember: false } };
    provider.interactionFinished(request, response, result).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  return started;
}

function configurationOf(
  started: OidcProvider,
  redirectUris: readonly string[],
  provider: () => ProviderOfLibrary,
): object {
  return {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: redirectUris }],
    scopes: scopes.split(' '),
    claims: { email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    cookies: { keys: ['a key for cookies'] },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, sub: string) => ({
      accountId: sub,
      claims: () => (started.account?.sub === sub ? started.account : { sub }),
    }),
    loadExistingGrant: async ({
      oidc,
    }: {
      oidc: { client: { clientId: string }; session: { accountId: string } };
    }) => {
      const { Grant } = provider();
      const grant = new Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope(scopes);
      await grant.save();
      return grant;
    },
  };
}

/** A browser reduced to redirects and cookies by origin. */
export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();
  /** Addresses of origins without DNS. */
  readonly #addresses: Readonly<Record<string, string>>;

  constructor(addresses: Readonly<Record<string, string>> = {}) {
    this.#addresses = addresses;
  }

  /** The Cookie header of an origin. */
  cookies(origin: string): string {
    return [...(this.#cookies.get(origin) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  async get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
    const { origin, host } = new URL(url);
    const address = this.#addresses[origin];
    const to = address === undefined ? url : `${address}${url.slice(origin.length)}`;
    const cookie = this.cookies(origin);
    const answer = await call(to, {
      headers: { accept: 'text/html', host, ...(cookie && { cookie }), ...headers },
    });
    const jar = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, jar);
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]*)=([^;]*)/.exec(line) ?? [];
      if (value === '' || /max-age=0\b/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  }

  /** Follows redirects to the end, or to an address that `until` accepts; returns the address. */
  async follow(url: string, until: (url: string) => boolean): Promise<string> {
    let at = url;
    for (let redirects = 0; redirects < 12; redirects += 1) {
      const answer = await this.get(at);
      const { location } = answer.headers;
      if (location === undefined)
        throw new Error(`${at} ended with ${answer.status}: ${answer.text.slice(0, 300)}`);
      at = new URL(location, at).href;
      if (until(at)) return at;
    }
    throw new Error(`too many redirects, at ${at}`);
  }
}
