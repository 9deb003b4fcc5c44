import { counter } from '../base/observability/metrics.ts';
import { Problem } from '../base/errors/problem.ts';
import type { Rate, Verdict } from '../base/time/rates.ts';
import type { ApiKey } from '../control/api-keys.ts';
import { authenticateKey, authenticateKeyFresh, isUnknownKey } from '../control/authenticate-key.ts';
import type { Session } from '../control/sessions.ts';
import { keyId } from '../control/key-text.ts';
import { presentedKey, unauthorizedKey } from './authenticate.ts';
import { clientOfAddress } from './client-address.ts';
import type { EndpointDeps } from './deps.ts';
import type { Endpoint, EndpointOf, KeyCaller, RateClass } from './endpoint.ts';
import { limits } from './limits.ts';
import { rateHeaders, tooManyRequests, withRateHeaders } from './rate-limit.ts';
import { requestCall } from './recorded-change.ts';
import type { RequestContext } from './request-context.ts';
import type { Reply } from './response.ts';
import type { Handler, Route } from './router.ts';
import { requireOwnSite, requireSameOriginJson } from './same-origin.ts';
import { isHostOf } from './tenant-host.ts';
import { changesSomething, toProblem } from './problem-reply.ts';

/** A request held for longer has its credential checked again. */
const credentialHeldMsMax = 500;

type GuardDeps = Pick<
  EndpointDeps,
  'directory' | 'keyUses' | 'organizationOf' | 'clock' | 'sessions' | 'cookie' | 'config' | 'rateCounter'
>;

type Count = Verdict | undefined | Promise<Verdict | undefined>;

interface KeyUse extends KeyCaller {
  readonly verdict: Verdict | undefined;
}

export function guardEndpoints(endpoints: readonly Endpoint[], deps: GuardDeps): Route[] {
  const guard = new Guard(deps);
  return endpoints.map((endpoint) => ({ ...endpoint, handler: guard.handlerOf(endpoint) }));
}

/**
 * Checks before a handler (contract: Authentication, Errors, Sessions):
 *
 *     key      certificate, if TLS_CLIENT_CA is set ─no─▶ 401 on reads, 403 on writes
 *              valid API key ─no─▶ 401, or 429 for an address with too many failures
 *              rate of the key ─over─▶ 429     scope ─no─▶ 401 on reads, 403 on writes and for SCIM
 *     session  valid cookie on its own host ─no─▶ 401, or 429 as above     rate of the user ─over─▶ 429
 *              role ─no─▶ 403     change: JSON and same origin ─no─▶ 415, 403     read: same site ─no─▶ 403
 *              checks a password: login rate of the address ─over─▶ 429
 *     both     request held for long: credential still valid ─no─▶ 401
 *     visitor  rate of the address ─over─▶ 429
 *     login    rate of the address ─over─▶ 429     JSON and same origin, as a change
 */
class Guard {
  readonly #deps: GuardDeps;
  readonly #limited = counter('auditlog_rate_limited_total', 'Requests beyond a RATE_LIMIT', ['limit']);

  constructor(deps: GuardDeps) {
    this.#deps = deps;
  }

  handlerOf(endpoint: Endpoint): Handler {
    switch (endpoint.access) {
      case 'open':
        return endpoint.handler;
      case 'login':
        return (context) => this.#login(endpoint, context);
      case 'visitor':
        return (context) => this.#byVisitor(endpoint, context);
      case 'read key':
        return (context) => this.#byReadKey(endpoint, context);
      case 'scim key':
        return (context) => this.#byScimKey(endpoint, context);
      case 'write key':
        return (context) => this.#byWriteKey(endpoint, context);
      case 'session':
        return (context) => this.#bySession(endpoint, context);
      default:
        return endpoint satisfies never;
    }
  }

  async #login({ handler }: EndpointOf<'login'>, context: RequestContext): Promise<Reply> {
    this.#deps.directory.requireWhole();
    return limited(context, await this.#countGuess(context), () => {
      requireSameOriginJson(context);
      return handler(context);
    });
  }

  async #byVisitor({ rate, handler }: EndpointOf<'visitor'>, context: RequestContext): Promise<Reply> {
    const client = `${rate} ${clientOfAddress(context.head.ip)}`;
    return limited(context, await this.#count(rate, client), () => handler(context));
  }

  async #byReadKey({ rate, handler }: EndpointOf<'read key'>, context: RequestContext): Promise<Reply> {
    this.#requireCertificate(context, 'unauthorized');
    const { key, organization, verdict } = await this.#requireKey(context, rate);
    return limited(context, verdict, () => {
      // A key of all organizations cannot have this scope, so a reader always has an organization.
      if (!key.scopes.includes('read') || organization === undefined) throw unauthorizedKey();
      const stillGood = lookedAtAgain(() => this.#goodKey(context));
      return ifStillGood(handler(context, { key, organization }), stillGood);
    });
  }

  #byWriteKey({ rate, handler }: EndpointOf<'write key'>, context: RequestContext): Promise<Reply> | Reply {
    this.#requireCertificate(context, 'forbidden');
    return whenKnown(this.#requireKey(context, rate), ({ key, organization, verdict }) =>
      limited(context, verdict, () => {
        if (!key.scopes.includes('write')) {
          throw new Problem('forbidden', 'This API key does not have the scope "write".');
        }
        if (key.organizationId !== undefined && organization === undefined) {
          throw new Problem('forbidden', 'The organization of this API key no longer exists.');
        }
        const stillGood = lookedAtAgain(() => this.#goodKey(context));
        return handler(context, { key, organization, stillGood });
      }),
    );
  }

  async #byScimKey({ rate, handler }: EndpointOf<'scim key'>, context: RequestContext): Promise<Reply> {
    this.#requireCertificate(context, 'unauthorized');
    const { key, organization, verdict } = await this.#requireKey(context, rate);
    return limited(context, verdict, () => {
      if (!key.scopes.includes('scim') || organization === undefined)
        throw new Problem('forbidden', 'This API key does not have the scope "scim".');
      return handler(context, { key, organization });
    });
  }

  async #bySession(endpoint: EndpointOf<'session'>, context: RequestContext): Promise<Reply> {
    const repeated = await this.#repeated(endpoint, context);
    const session = repeated ?? (await this.#goodSession(context));
    const { user } = session;
    const verdict = await this.#count('tenant', `tenant ${user.id}`);
    return withHeaders(context, sessionHeaders(session), () =>
      limited(context, verdict, () => {
        requireMeantSession(context, session);
        if (repeated === undefined) requireRole(endpoint, session);
        return this.#answerSession(endpoint, context, session);
      }),
    );
  }

  /**
   * The session of a repeated change that has ended it, or its role; undefined otherwise. A change that makes a secret always needs
   * a valid session.
   */
  async #repeated({ changes, roles, makesSecret }: EndpointOf<'session'>, context: RequestContext) {
    if (changes === undefined || makesSecret === true || context.header('idempotency-key') === undefined)
      return undefined;
    const current = await this.#findSession(context);
    if (current !== undefined && roles.includes(current.user.role)) return undefined;
    const session = current ?? (await this.#findSession(context, true));
    if (session === undefined) return undefined;
    const { directory } = this.#deps;
    await directory.refresh();
    return directory.call(requestCall(context, session).id ?? '') === undefined ? undefined : session;
  }

  async #answerSession(
    endpoint: EndpointOf<'session'>,
    context: RequestContext,
    session: Session,
  ): Promise<Reply> {
    if (endpoint.changes) requireSameOriginJson(context);
    else requireOwnSite(context);
    if (endpoint.checksPassword) requireAllowed(await this.#countGuess(context));
    const stillGood = lookedAtAgain(async () => requireRole(endpoint, await this.#goodSession(context)));
    const reply = endpoint.handler(context, session);
    // By then the change is made, such as the end of this session.
    return endpoint.changes ? reply : ifStillGood(reply, stillGood);
  }

  /** With TLS_CLIENT_CA a key counts only together with a certificate. */
  #requireCertificate({ head }: RequestContext, code: 'unauthorized' | 'forbidden'): void {
    if (this.#deps.config.tls?.clientCa === undefined || head.certified) return;
    throw new Problem(code, 'API keys need a client certificate that this server trusts.');
  }

  #requireKey(context: RequestContext, rate: RateClass): Promise<KeyUse> | KeyUse {
    return whenKnown(this.#goodKey(context), (key) => {
      this.#deps.keyUses.note(key.id);
      const organization = this.#deps.organizationOf(key.organizationId ?? '');
      const count = this.#count(rate, `${rate} ${key.id}`, key.rateLimit);
      return whenKnown(count, (verdict) => ({ key, organization, verdict }));
    });
  }

  #goodKey(context: RequestContext): Promise<ApiKey> | ApiKey {
    const { directory, clock } = this.#deps;
    const presented = presentedKey(context);
    directory.requireWhole(directory.apiKey(keyId(presented ?? '') ?? '')?.organizationId);
    return authenticateKey(directory, presented, clock()) ?? this.#freshKey(context, presented);
  }

  async #freshKey(context: RequestContext, presented: string | undefined): Promise<ApiKey> {
    const { directory, clock, config, rateCounter } = this.#deps;
    const { audit } = config.rateLimits;
    // Guessing must not load the engine: an address past its limit is refused before the lookup.
    if (audit !== undefined) {
      const refused = await rateCounter.peek(refusedClient(context, 'audit'), audit);
      requireAllowed(this.#counted('audit', refused));
    }
    const key = await authenticateKeyFresh(directory, presented, clock);
    if (key === undefined)
      throw await this.#refusal(unauthorizedKey(isUnknownKey(directory, presented)), context, 'audit');
    return key;
  }

  async #goodSession(context: RequestContext): Promise<Session> {
    this.#deps.directory.requireWhole();
    const session = await this.#findSession(context);
    if (session !== undefined) return session;
    const problem = new Problem('unauthorized', 'Missing or invalid session; sign in first.');
    throw await this.#refusal(problem, context, 'tenant');
  }

  /**
   * The first cookie that is valid on this host. Valid cookies of different users are ambiguous, so none
   * counts.
   */
  async #findSession(context: RequestContext, evenEnded = false): Promise<Session | undefined> {
    const { cookie, sessions, config } = this.#deps;
    const host = context.header('host');
    const tokens = cookie.read(context).filter(({ length }) => length <= limits.sessionTokenCharactersMax);
    const verified = await Promise.all(tokens.map((token) => sessions.verify(token, evenEnded)));
    const [first, ...others] = verified.filter(
      (session) => session !== undefined && isHostOf(session.organization.slug, host, config.tenantDomain),
    );
    return others.every((other) => other?.user.id === first?.user.id) ? first : undefined;
  }

  /** Refusals count for the address; past the limit all look the same. */
  async #refusal(problem: Problem, context: RequestContext, rate: RateClass): Promise<Problem> {
    const verdict = await this.#count(rate, refusedClient(context, rate));
    if (verdict === undefined) return problem;
    return verdict.allowed ? withRateHeaders(problem, verdict) : tooManyRequests(verdict);
  }

  #countGuess(context: RequestContext): Count {
    return this.#count('login', `login ${clientOfAddress(context.head.ip)}`);
  }

  #count(rateClass: RateClass, client: string, own?: Rate): Count {
    const rate = own ?? this.#deps.config.rateLimits[rateClass];
    if (rate === undefined) return undefined;
    const verdict = this.#deps.rateCounter.consume(client, rate);
    return verdict instanceof Promise
      ? verdict.then((late) => this.#counted(rateClass, late))
      : this.#counted(rateClass, verdict);
  }

  #counted(limit: RateClass, verdict: Verdict): Verdict {
    if (!verdict.allowed) this.#limited.inc({ limit });
    return verdict;
  }
}

function requireRole({ roles }: EndpointOf<'session'>, { user }: Session): void {
  if (!roles.includes(user.role))
    throw new Problem('forbidden', `This needs the role ${roles.join(' or ')}.`);
}

function lookedAtAgain(look: () => unknown): () => unknown {
  const begunMs = performance.now();
  return () => (performance.now() - begunMs > credentialHeldMsMax ? look() : undefined);
}

/** Avoids promises for known values: several would cost a single event as much as its key. */
function whenKnown<T, R>(value: Promise<T> | T, use: (value: T) => Promise<R> | R): Promise<R> | R {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** The answer to a read; a refusal if the credential expired meanwhile. */
async function ifStillGood(reply: Promise<Reply> | Reply, stillGood: () => unknown): Promise<Reply> {
  const made = await reply;
  try {
    await stillGood();
    return made;
  } catch (error) {
    if ('stream' in made) made.stream.destroy();
    else made.release?.();
    throw error;
  }
}

function refusedClient({ head }: RequestContext, rate: RateClass): string {
  return `refused ${rate} ${clientOfAddress(head.ip)}`;
}

function requireAllowed(verdict: Verdict | undefined): void {
  if (verdict?.allowed === false) throw tooManyRequests(verdict);
}

/** Adds the rate headers to an answer or problem; 429 if the limit is exceeded. */
function limited(
  context: RequestContext,
  verdict: Verdict | undefined,
  handle: () => Promise<Reply> | Reply,
): Promise<Reply> | Reply {
  requireAllowed(verdict);
  return verdict === undefined ? handle() : withHeaders(context, rateHeaders(verdict), handle);
}

async function withHeaders(
  context: RequestContext,
  headers: Readonly<Record<string, string>>,
  handle: () => Promise<Reply> | Reply,
): Promise<Reply> {
  try {
    const reply = await handle();
    return { ...reply, headers: { ...reply.headers, ...headers } };
  } catch (error) {
    const problem = toProblem(error, changesSomething(context.head));
    throw new Problem(problem.code, problem.message, {
      ...problem.options,
      headers: { ...headers, ...problem.options.headers },
    });
  }
}

/** Another tab may have replaced the cookie (contract: Sessions). A missing header matches any. */
function requireMeantSession(context: RequestContext, session: Session): void {
  const isMeant = Object.entries(sessionHeaders(session)).every(
    ([name, id]) => (context.header(name.toLowerCase()) ?? id) === id,
  );
  if (!isMeant)
    throw new Problem('unauthorized', 'The session belongs to another user than this request names.');
}

/** Lets a page notice a replaced cookie (contract: Sessions). */
function sessionHeaders({ user, organization }: Session): Readonly<Record<string, string>> {
  return { 'X-Session-User': user.id, 'X-Session-Organization': organization.id };
}
