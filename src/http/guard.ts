import { limits } from './limits.ts';
import { Problem } from '../base/problem.ts';
import type { Rate } from '../base/rates.ts';
import type { ApiKey } from '../control/api-keys.ts';
import type { Session, Sessions } from '../control/sessions.ts';
import type { Endpoint, RateClass, SessionCaller } from './endpoint.ts';
import { hasScope, type KeyCheck, unauthorizedKey } from './authenticate.ts';
import { clientOfAddress } from './client-address.ts';
import type { RateLimiter, Verdict } from './rate-limit.ts';
import type { Reply } from './response.ts';
import type { RequestContext } from './request-context.ts';
import type { Handler, Route } from './router.ts';
import type { SessionCookie } from './session-cookie.ts';
import { isHostOf } from './tenant-host.ts';
import { toProblem } from './to-problem.ts';

export interface GuardDeps {
  readonly checkKey: KeyCheck;
  readonly sessions: Sessions;
  readonly cookie: SessionCookie;
  readonly limiter: RateLimiter;
  /** Undefined: no limit of that class. */
  readonly rates: Readonly<Record<RateClass, Rate | undefined>>;
  readonly tenantDomain: string | undefined;
}

/**
 * Puts access control and rate limits before the handlers of endpoints (contract: Authentication, Errors, Sessions):
 *
 *     key      API key good? ─no─▶ 401, or 429 for an address with too many failures
 *              rate of the key ─over─▶ 429     scope? ─no─▶ 401 on reads, 403 on writes
 *     session  cookie good, host its own? ─no─▶ 401, or 429 likewise     rate of the user ─over─▶ 429
 *              role? ─no─▶ 403     change: JSON and same origin? ─no─▶ 415, 403
 *              checks a password: rate of the address' logins ─over─▶ 429
 *     login    rate of the address ─over─▶ 429     JSON and same origin, as a change
 */
export function guardEndpoints(endpoints: readonly Endpoint[], deps: GuardDeps): Route[] {
  return endpoints.map((endpoint) => ({ ...endpoint, handler: guarded(endpoint, deps) }));
}

function guarded(endpoint: Endpoint, deps: GuardDeps): Handler {
  switch (endpoint.access) {
    case 'open':
      return endpoint.handler;
    case 'login':
      return (context) => {
        const verdict = consume(deps, 'login', guesses(context));
        return limited(context, verdict, () => {
          requireSameOriginJson(context);
          return endpoint.handler(context);
        });
      };
    case 'key':
      return async (context) => {
        const key = await keyOrRefusal(context, deps);
        const verdict = consume(deps, endpoint.rate, `${endpoint.rate} ${key.id}`, key.rateLimit);
        return limited(context, verdict, () => {
          requireScope(key, endpoint.scope);
          return endpoint.handler(context, { key });
        });
      };
    case 'session':
      return async (context) => {
        const caller = await sessionOrRefusal(context, deps);
        const verdict = consume(deps, 'tenant', `tenant ${caller.user.id}`);
        return limited(context, verdict, () => {
          if (!endpoint.roles.includes(caller.user.role)) {
            throw new Problem('forbidden', `This needs the role ${endpoint.roles.join(' or ')}.`);
          }
          if (endpoint.changes) requireSameOriginJson(context);
          if (endpoint.checksPassword) countGuess(context, deps);
          return endpoint.handler(context, caller);
        });
      };
    default:
      return endpoint satisfies never;
  }
}

/** A key of all organizations cannot have the scope "read", so a reader always has an organization. */
function requireScope(key: ApiKey, scope: 'read' | 'write'): void {
  if (hasScope(key, scope) && (scope === 'write' || key.organizationId !== undefined)) return;
  if (scope === 'read') throw unauthorizedKey();
  throw new Problem('forbidden', 'This API key does not have the scope "write".');
}

async function keyOrRefusal(context: RequestContext, deps: GuardDeps): Promise<ApiKey> {
  const known = deps.checkKey.known(context);
  if (known !== undefined) return known;
  // Guessing must not cost the engine anything either: an address past its limit is refused before the second look.
  const rate = deps.rates.audit;
  const verdict = rate === undefined ? undefined : deps.limiter.peek(refusals('audit', context), rate);
  if (verdict !== undefined && !verdict.allowed) throw tooMany(verdict);
  return (await deps.checkKey.fresh(context)) ?? refuse(unauthorizedKey(), context, deps, 'audit');
}

function refusals(rate: RateClass, context: RequestContext): string {
  return `refused ${rate} ${clientOfAddress(context.head.ip)}`;
}

/** Passwords that an address may try, wherever it does. */
function guesses(context: RequestContext): string {
  return `login ${clientOfAddress(context.head.ip)}`;
}

function countGuess(context: RequestContext, deps: GuardDeps): void {
  const verdict = consume(deps, 'login', guesses(context));
  if (verdict?.allowed === false) throw tooMany(verdict);
}

async function sessionOrRefusal(context: RequestContext, deps: GuardDeps): Promise<SessionCaller> {
  const session = await sessionOf(context, deps);
  if (session !== undefined) {
    const { user, organization, id, expiresMicros, token } = session;
    return { user, organization, session: { id, expiresMicros, token } };
  }
  const problem = new Problem('unauthorized', 'Sign in first: there is no session that is valid here.');
  return refuse(problem, context, deps, 'tenant');
}

/**
 * Of several cookies the first that is good on this host. With good ones of different users nobody can tell who is
 * meant, so there is none.
 */
async function sessionOf(context: RequestContext, deps: GuardDeps): Promise<Session | undefined> {
  const { cookie, sessions, tenantDomain } = deps;
  const host = context.header('host');
  const tokens = cookie.read(context).filter(({ length }) => length <= limits.sessionTokenCharactersMax);
  const verified = await Promise.all(tokens.map((token) => sessions.verify(token)));
  const [first, ...others] = verified.filter(
    (session) => session !== undefined && isHostOf(session.organization.slug, host, tenantDomain),
  );
  return others.every((other) => other?.user.id === first?.user.id) ? first : undefined;
}

/** Guessing is slow: refusals count for the address, and past the limit all of its refusals look the same. */
function refuse(problem: Problem, context: RequestContext, deps: GuardDeps, rate: RateClass): never {
  const verdict = consume(deps, rate, refusals(rate, context));
  if (verdict === undefined) throw problem;
  throw verdict.allowed ? withHeaders(problem, verdict) : tooMany(verdict);
}

function consume(deps: GuardDeps, rateClass: RateClass, client: string, own?: Rate): Verdict | undefined {
  const rate = own ?? deps.rates[rateClass];
  return rate === undefined ? undefined : deps.limiter.consume(client, rate);
}

function headersOf({ limit, remaining, resetSeconds }: Verdict): Record<string, string> {
  return {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': String(resetSeconds),
  };
}

function tooMany(verdict: Verdict): Problem {
  const { limit, resetSeconds } = verdict;
  return new Problem(
    'rate_limited',
    `More than ${limit} requests in the window; try again in ${resetSeconds} s.`,
    {
      retryAfterSeconds: resetSeconds,
      headers: headersOf(verdict),
    },
  );
}

function withHeaders(problem: Problem, verdict: Verdict): Problem {
  // A limit that the problem itself is about counts more than the one that was not passed.
  const headers = { ...headersOf(verdict), ...problem.options.headers };
  return new Problem(problem.code, problem.message, { ...problem.options, headers });
}

/** The handler's answer or problem with the state of the limit in its headers; a 429 when the limit is passed. */
async function limited(
  context: RequestContext,
  verdict: Verdict | undefined,
  handle: () => Promise<Reply> | Reply,
): Promise<Reply> {
  if (verdict !== undefined && !verdict.allowed) throw tooMany(verdict);
  try {
    const reply = await handle();
    if (verdict === undefined) return reply;
    return { ...reply, headers: { ...reply.headers, ...headersOf(verdict) } };
  } catch (error) {
    const problem = toProblem(error, context.head.method !== 'GET');
    throw verdict === undefined ? problem : withHeaders(problem, verdict);
  }
}

/**
 * What a page of another site cannot send with the cookie: a form has another Content-Type, a script's request is
 * asked about first, and a browser names the origin (contract: Sessions).
 */
function requireSameOriginJson(context: RequestContext): void {
  const origin = context.header('origin');
  if (origin !== undefined && !isOwnOrigin(origin, context)) {
    throw new Problem('forbidden', 'The Origin of this request is not the host that it is sent to.');
  }
  const type = (context.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    throw new Problem('unsupported_media', 'Content-Type must be application/json.', {
      headers: { Accept: 'application/json' },
    });
  }
}

/** Of a request known to be over TLS only the TLS origin counts: anybody on the way can make a page of the other. */
function isOwnOrigin(origin: string, context: RequestContext): boolean {
  const [, scheme, host] = /^(https?):\/\/([^/]+)$/.exec(origin.toLowerCase()) ?? [];
  if (host === undefined || (context.head.secure && scheme !== 'https')) return false;
  // Browsers leave the scheme's own port out of an origin; proxies may write it into Host.
  const ownPort = scheme === 'https' ? /:443$/ : /:80$/;
  return host.replace(ownPort, '') === context.header('host')?.toLowerCase().replace(ownPort, '');
}
