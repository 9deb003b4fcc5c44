import { limits as controlLimits } from '../../control/limits.ts';
import { errorFacts } from '../../base/log.ts';
import { Problem } from '../../base/problem.ts';
import type { Schemas } from '../../contract/document.ts';
import type { Organization } from '../../control/organizations.ts';
import type { PasswordVerifier } from '../../control/passwords.ts';
import type { User } from '../../control/users.ts';
import type { EndpointDeps } from '../deps.ts';
import { readJson } from '../json-body.ts';
import { attemptOf } from '../password-attempt.ts';
import type { RequestContext } from '../request-context.ts';
import type { Handler } from '../router.ts';
import { jsonReply } from '../response.ts';
import { slugOfHost } from '../tenant-host.ts';
import { trailOrigin } from '../trail.ts';
import { loginFailed, loginSucceeded } from '../trail-events.ts';

/**
 * POST /api/v1/auth/login-handler: checks the credentials and sets the cookie of a new session (contract: Sessions).
 * Everything that is wrong with the credentials is one and the same 401.
 */
export function loginHandler(deps: EndpointDeps): Handler {
  const { sessions, passwords, cookie, trail, config } = deps;
  return async (context) => {
    requireTenantHost(context, config.tenantDomain);
    const credentials = await readJson(context, 'Credentials');
    const attempt = attemptOf(context, config.tenantDomain, credentials);
    const found = await passwords.check(attempt, (verify) => findUser(deps, context, credentials, verify));
    if (found === undefined) {
      throw new Problem('unauthorized', 'E-mail address, password or organization are not right.');
    }
    const { user, organization } = found;
    const session = await sessions.issue(user, organization);
    await trail.recordBefore(loginSucceeded(user), trailOrigin(context));
    const maxAgeSeconds = Math.max(1, Math.round((session.expiresMicros - Date.now() * 1000) / 1_000_000));
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

interface Candidate {
  readonly user: User;
  readonly organization: Organization;
}

/** The user that the credentials are right for. A failure is recorded with everybody who may have been meant. */
async function findUser(
  deps: EndpointDeps,
  context: RequestContext,
  credentials: Schemas['Credentials'],
  verify: PasswordVerifier['verify'],
): Promise<Candidate | undefined> {
  await deps.directory.freshen(controlLimits.controlFreshMsMax);
  const candidates = findCandidates(deps, context, credentials);
  // One password check, whoever is or is not there: the time it takes must not tell.
  const only = candidates.length === 1 ? candidates[0] : undefined;
  const active = only?.user.disabledMicros === undefined ? only : undefined;
  const matches = await verify(active?.user.passwordHash, credentials.password);
  if (active !== undefined && matches) return active;
  // Not waited for: an answer that takes as long as a write would tell that there is such a user.
  for (const { user } of candidates) {
    const failed = loginFailed(user, { ambiguous: candidates.length > 1 });
    deps.trail.recordAfter(failed, trailOrigin(context)).catch((error: unknown) => {
      deps.log.error(errorFacts(error), 'a failed login could not be recorded');
    });
  }
  return undefined;
}

/** Users with the address in the organizations that the request may mean: the host's, the one named, or any. */
function findCandidates(
  deps: EndpointDeps,
  context: RequestContext,
  credentials: Schemas['Credentials'],
): Candidate[] {
  const { directory, config } = deps;
  const hostSlug = slugOfHost(context.header('host'), config.tenantDomain);
  const slug = hostSlug ?? credentials.organization;
  if (credentials.organization !== undefined && credentials.organization !== slug) return [];
  return directory.usersByEmail(credentials.email.toLowerCase()).flatMap((user) => {
    const organization = directory.organizationById(user.organizationId);
    if (organization === undefined || (slug !== undefined && organization.slug !== slug)) return [];
    return [{ user, organization }];
  });
}
