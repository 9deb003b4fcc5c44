import { Problem } from '../../base/errors/problem.ts';
import { errorFacts } from '../../base/observability/log.ts';
import type { Organization } from '../../control/organizations.ts';
import { type Identity, signOn, SignOnRefused } from '../../control/sign-on.ts';
import { signOnProven, type SignOnSettings } from '../../control/sign-on-settings.ts';
import type { Attempt } from '../../sign-on/attempt.ts';
import { limits as attemptLimits } from '../../sign-on/limits.ts';
import { ProviderFailed } from '../../sign-on/provider-failed.ts';
import type { EndpointDeps } from '../deps.ts';
import { limits } from '../limits.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import { type Reply, seeOther } from '../response.ts';
import type { Handler } from '../router.ts';
import { attemptCookie } from '../session-cookie.ts';
import { signIns } from '../sign-in-metrics.ts';
import { nameOfProvider } from '../sign-on-address.ts';
import { isHostOf } from '../tenant-host.ts';
import { toProblem } from '../problem-reply.ts';
import { selfAuditOrigin } from '../self-audit.ts';
import { loginSucceeded, signOnFailed } from '../self-audit-events.ts';

interface Begun {
  readonly attempt: Attempt;
  readonly organization: Organization;
  readonly settings: SignOnSettings;
}

/**
 * A provider sends the browser back to it (contract: Sessions).
 *
 *     cookie of an attempt, of this organization and provider? ─no─▶ over
 *     this attempt not used before?                            ─no─▶ over
 *     state, issuer, code for tokens, signature, nonce …       ─no─▶ declined, invalid, provider
 *     a user of the organization?                              ─no─▶ unknown, role, …        (events 1002)
 *     1001 recorded ─▶ session in a cookie, on to the page
 */
export function signOnCallbackHandler(deps: EndpointDeps): Handler {
  return async (context) => {
    const begun = await findBeginning(deps, context);
    if (begun === undefined || !(await isFirst(deps, begun))) {
      signIns.inc({ way: 'openid_connect', outcome: 'over' });
      throw over();
    }
    let identity: Identity | undefined;
    try {
      identity = await askIdentity(deps, begun, context);
      return await signedIn(deps, context, begun, identity);
    } catch (error) {
      throw await failed(deps, context, begun, { error, identity });
    }
  };
}

function over(): Problem {
  const detail = 'This sign-in was begun elsewhere, or is over: begin again.';
  return new Problem('unauthorized', detail, { members: { sign_on: 'over' } });
}

async function findBeginning(deps: EndpointDeps, context: RequestContext): Promise<Begun | undefined> {
  const { attempts, config, directory, providers } = deps;
  const texts = attemptCookie(config.serviceName, context).read(context);
  const ours = texts.filter(({ length }) => length <= limits.sessionTokenCharactersMax);
  for (const text of ours) {
    const attempt = await attempts.open(text);
    const organization = attempt && directory.organizationById(attempt.organizationId);
    if (attempt === undefined || organization === undefined) continue;
    const settings = directory.signOnOf(organization.id);
    const isItsOwn =
      providers.isThere(settings) &&
      context.parameter('provider') === nameOfProvider(settings, organization) &&
      isHostOf(organization.slug, context.header('host'), config.tenantDomain);
    if (isItsOwn) return { attempt, organization, settings };
  }
  return undefined;
}

/** A `state` is valid once, even if the provider accepts a code twice. Past the bound the oldest is forgotten. */
async function isFirst({ rateCounter }: EndpointDeps, { attempt }: Begun): Promise<boolean> {
  const once = { requests: 1, windowMs: attemptLimits.attemptMs };
  return (await rateCounter.consume(`state ${attempt.state}`, once)).allowed;
}

async function askIdentity(
  { providers }: EndpointDeps,
  { attempt, settings }: Begun,
  { head }: RequestContext,
): Promise<Identity> {
  const identity = await providers.of(settings)?.finish(attempt, head.rawQuery, settings);
  if (identity === undefined) throw over();
  return identity;
}

async function signedIn(
  deps: EndpointDeps,
  context: RequestContext,
  { attempt, organization, settings }: Begun,
  identity: Identity,
): Promise<Reply> {
  const { config, cookie, directory, sessions, selfAudit } = deps;
  const actor = { name: `Sign-on by ${identity.issuer}`, type: 'App/System' } as const;
  const decide = signOn(settings, identity);
  const { user } = await recordedChange(deps, context, { actor }, decide);
  const session = await sessions.issue(user, organization);
  await selfAudit.recordBefore(loginSucceeded(user, wayOf(identity)), selfAuditOrigin(context));
  if (user.role === 'admin' && settings.provenMicros === undefined)
    await directory.change({ actor }, signOnProven(settings));
  signIns.inc({ way: 'openid_connect', outcome: 'ok' });
  const maxAgeSeconds = Math.floor(config.sessionTtlMs / 1000);
  const attemptOver = attemptCookie(config.serviceName, context).clear(context);
  return seeOther(attempt.returnTo, {
    'Set-Cookie': [cookie.set(context, session.token, maxAgeSeconds), attemptOver],
  });
}

const wayOf = ({ issuer, subject }: Identity) => ({ way: 'openid_connect', issuer, subject }) as const;

/** Also removes the attempt, since a state is valid once. */
async function failed(
  { config, log, selfAudit }: EndpointDeps,
  context: RequestContext,
  { organization, settings }: Begun,
  { error, identity }: { readonly error: unknown; readonly identity: Identity | undefined },
): Promise<Problem> {
  const problem = toProblem(error, true);
  const known = error instanceof SignOnRefused || error instanceof ProviderFailed;
  const reason = known ? error.reason : 'failed';
  signIns.inc({ way: 'openid_connect', outcome: reason });
  const facts = { request_id: context.head.requestId, organization: organization.slug, reason };
  log.warn({ ...facts, ...errorFacts(problem.options.cause ?? problem) }, 'a sign-in by a provider failed');
  const event = signOnFailed(organization.id, {
    reason,
    way: identity === undefined ? { way: 'openid_connect', issuer: settings.issuer } : wayOf(identity),
    user: error instanceof SignOnRefused ? error.user : undefined,
    claimedEmail: identity?.email,
  });
  await selfAudit.recordBefore(event, selfAuditOrigin(context));
  const headers = {
    ...problem.options.headers,
    'Set-Cookie': attemptCookie(config.serviceName, context).clear(context),
  };
  return new Problem(problem.code, problem.message, { ...problem.options, headers });
}
