import { limits as controlLimits } from '../../control/limits.ts';
import { errorFacts } from '../../base/observability/log.ts';
import { Problem } from '../../base/errors/problem.ts';
import type { Schemas } from '../../contract/document.ts';
import type { Right } from '../../control/password-throttle.ts';
import type { PasswordVerifier } from '../../control/passwords.ts';
import type { EndpointDeps } from '../deps.ts';
import { readJson } from '../json-body.ts';
import { passwordAttempt, type Candidate, mayUsePassword, usersOfAddress } from '../password-attempt.ts';
import type { RequestContext } from '../request-context.ts';
import type { Handler } from '../router.ts';
import { jsonReply } from '../response.ts';
import { signIns } from '../sign-in-metrics.ts';
import { slugOfHost } from '../tenant-host.ts';
import { selfAuditOrigin } from '../self-audit.ts';
import { loginFailed, loginSucceeded } from '../self-audit-events.ts';

/** Accounts of an address that a login without an organization tries. With fewer accounts it makes as many checks. */
const loginOrganizationsMax = 4;

/** Every fault of the credentials gives the same 401 (contract: Sessions). */
export function loginHandler(deps: EndpointDeps): Handler {
  const { sessions, passwords, cookie, selfAudit, config } = deps;
  return async (context) => {
    requireTenantHost(context, config.tenantDomain);
    const credentials = await readJson(context, 'Credentials');
    const attempt = passwordAttempt(context, config.tenantDomain, credentials);
    const found = await passwords.check(attempt, (verify) => findUsers(deps, context, credentials, verify));
    const [first, ...others] = found ?? [];
    if (first === undefined || others.length > 0) {
      signIns.inc({ way: 'password', outcome: 'refused' });
      throw refused(credentials.list_organizations === true ? found : undefined);
    }
    const { user, organization } = first;
    const session = await sessions.issue(user, organization);
    await selfAudit.recordBefore(loginSucceeded(user), selfAuditOrigin(context));
    signIns.inc({ way: 'password', outcome: 'ok' });
    const maxAgeSeconds = Math.floor(config.sessionTtlMs / 1000);
    const { id, slug, name } = organization;
    const answer = {
      user: { name: user.name, email: user.email, role: user.role },
      organization: { id, slug, name },
    };
    return jsonReply(200, 'LoggedIn', answer, {
      'Set-Cookie': cookie.set(context, session.token, maxAgeSeconds),
    });
  };
}

/** Where organizations have their own hosts, a session is valid on that host only. */
function requireTenantHost(context: RequestContext, tenantDomain: string | undefined): void {
  if (tenantDomain === undefined || slugOfHost(context.header('host'), tenantDomain) !== undefined) return;
  throw new Problem('unauthorized', 'Sign in on the host of your organization.');
}

/** `choice`: organizations to name, once the password was right in each of them. */
function refused(choice: readonly Candidate[] = []): Problem {
  if (choice.length === 0)
    return new Problem('unauthorized', 'E-mail address, password or organization are not right.');
  const organizations = choice
    .map(({ organization: { id, slug, name } }) => ({ id, slug, name }))
    .toSorted((a, b) => a.name.localeCompare(b.name));
  return new Problem('unauthorized', 'Name one of the organizations.', { members: { organizations } });
}

/**
 * Undefined if the login fails; then each user who may have been meant gets an event. If it succeeds, the others get none, since
 * it would reveal the login to another organization. The number of hashes is constant, so the time reveals nothing about the
 * address. The oldest accounts come first, so nobody can lock a user out with new accounts of the same address.
 */
async function findUsers(
  deps: EndpointDeps,
  context: RequestContext,
  credentials: Schemas['Credentials'],
  verify: PasswordVerifier['verify'],
): Promise<Right<readonly Candidate[]> | undefined> {
  await deps.directory.freshen(controlLimits.controlFreshMsMax);
  const { email, organization: named } = credentials;
  const all = usersOfAddress(deps, context, email);
  const candidates = all.filter(({ organization }) => named === undefined || organization.slug === named);
  const slug = slugOfHost(context.header('host'), deps.config.tenantDomain) ?? named;
  const possible = Math.min(loginOrganizationsMax, deps.directory.organizations().length);
  const checks = slug === undefined ? Math.max(1, possible) : 1;
  const usable = candidates.filter((one) => mayUsePassword(deps, one));
  const meant = usable.toSorted((a, b) => a.user.createdMicros - b.user.createdMicros).slice(0, checks);
  const right: Candidate[] = [];
  for (let at = 0; at < checks; at += 1) {
    const candidate = meant[at];
    const matches = await verify(candidate?.user.passwordHash, credentials.password);
    if (candidate !== undefined && matches) right.push(candidate);
  }
  // Not awaited: an answer as slow as a write would reveal that the user exists.
  for (const candidate of right.length === 1 ? [] : candidates) {
    const ambiguous = right.includes(candidate) || (usable.includes(candidate) && !meant.includes(candidate));
    const passwordsOff = !deps.directory.signOnOf(candidate.organization.id).passwords;
    const failed = loginFailed(candidate.user, { ambiguous, passwordsOff });
    deps.selfAudit.recordAfter(failed, selfAuditOrigin(context)).catch((error: unknown) => {
      deps.log.error(errorFacts(error), 'A failed login could not be recorded');
    });
  }
  if (right.length === 0) return undefined;
  return { value: right, ofAll: right.length === all.filter((one) => mayUsePassword(deps, one)).length };
}
