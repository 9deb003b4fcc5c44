import { limits as controlLimits } from '../../control/limits.ts';
import { errorFacts } from '../../base/observability/log.ts';
import { Problem } from '../../base/errors/problem.ts';
import type { Schemas } from '../../contract/document.ts';
import type { Right } from '../../control/password-throttle.ts';
import type { PasswordVerifier } from '../../control/passwords.ts';
import type { EndpointDeps } from '../deps.ts';
import { readJson } from '../json-body.ts';
import { attemptOf, type Candidate, mayUsePassword, usersOfAddress } from '../password-attempt.ts';
import type { RequestContext } from '../request-context.ts';
import type { Handler } from '../router.ts';
import { jsonReply } from '../response.ts';
import { signIns } from '../sign-in-metrics.ts';
import { slugOfHost } from '../tenant-host.ts';
import { selfAuditOrigin } from '../self-audit.ts';
import { loginFailed, loginSucceeded } from '../self-audit-events.ts';

/** Accounts of an address that a login without an organization tries, oldest first. With fewer accounts it makes as many checks. */
const loginOrganizationsMax = 4;

/**
 * POST /api/v1/auth/login-handler: checks the credentials and sets the cookie of a new session (contract: Sessions).
 * Everything that is wrong with the credentials is one and the same 401.
 */
export function loginHandler(deps: EndpointDeps): Handler {
  const { sessions, passwords, cookie, selfAudit, config } = deps;
  return async (context) => {
    requireTenantHost(context, config.tenantDomain);
    const credentials = await readJson(context, 'Credentials');
    const attempt = attemptOf(context, config.tenantDomain, credentials);
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

/** Where organizations have hosts of their own, nobody can be signed in on another: the session would not be good there. */
function requireTenantHost(context: RequestContext, tenantDomain: string | undefined): void {
  if (tenantDomain === undefined || slugOfHost(context.header('host'), tenantDomain) !== undefined) return;
  throw new Problem('unauthorized', 'Sign in on the host of your organization.');
}

/** The one refusal; it names organizations to whoever knows the password that is good in each of them. */
function refused(choice: readonly Candidate[] = []): Problem {
  if (choice.length === 0)
    return new Problem('unauthorized', 'E-mail address, password or organization are not right.');
  const organizations = choice
    .map(({ organization: { id, slug, name } }) => ({ id, slug, name }))
    .toSorted((a, b) => a.name.localeCompare(b.name));
  return new Problem('unauthorized', 'Name one of the organizations.', { members: { organizations } });
}

/**
 * The users that the credentials are right for; undefined where there is none. Where nobody is signed in, every user who
 * may have been meant has it recorded; else nobody does, as a user of the same address elsewhere would tell its
 * organization when and from where somebody signs in to another.
 *
 * As many hashes are computed whoever is or is not there, and whichever is right: the time must not tell in how many
 * organizations an address is known. The oldest accounts are held against first, so that whoever makes another one with
 * somebody's address cannot keep him out.
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
  // Not waited for: an answer that takes as long as a write would tell that there is such a user.
  for (const candidate of right.length === 1 ? [] : candidates) {
    const ambiguous = right.includes(candidate) || (usable.includes(candidate) && !meant.includes(candidate));
    const passwordsOff = !deps.directory.signOnOf(candidate.organization.id).passwords;
    const failed = loginFailed(candidate.user, { ambiguous, passwordsOff });
    deps.selfAudit.recordAfter(failed, selfAuditOrigin(context)).catch((error: unknown) => {
      deps.log.error(errorFacts(error), 'a failed login could not be recorded');
    });
  }
  if (right.length === 0) return undefined;
  return { value: right, ofAll: right.length === all.filter((one) => mayUsePassword(deps, one)).length };
}
