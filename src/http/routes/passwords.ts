import { hash } from 'node:crypto';
import { Problem } from '../../base/errors/problem.ts';
import { formatMicros } from '../../base/time/timestamp.ts';
import { makePasswordLink } from '../../control/password-links.ts';
import { checkPassword, hashPassword } from '../../control/passwords.ts';
import { findUser, setPassword } from '../../control/users.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionCaller, SessionHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { passwordAttempt, mayUsePassword, usersOfAddress } from '../password-attempt.ts';
import { ownUser } from '../own-user.ts';
import { isRepeat, preparedChange, recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import { jsonReply } from '../response.ts';
import type { Handler } from '../router.ts';
import { ownPasswordRefused } from '../self-audit-events.ts';
import { selfAuditOrigin } from '../self-audit.ts';
import { isHostOf } from '../tenant-host.ts';

/** Ends that user's sessions (contract: Credentials). */
export function setPasswordHandler(deps: EndpointDeps): SessionHandler {
  return async (context, caller) => {
    const { password } = await readJson(context, 'NewPassword');
    const id = requireOther(context, caller);
    const user = ownUser(caller, id);
    await preparedChange(deps, context, caller, async () => {
      requirePasswords(deps, caller.organization.id);
      findUser(deps.directory, user);
      return setPassword(user, await hashPassword(password));
    });
    return { status: 204 };
  };
}

/** Returns a token with which another user chooses a password, once. */
export function makePasswordLinkHandler(deps: EndpointDeps): SessionHandler {
  return async (context, caller) => {
    const id = requireOther(context, caller);
    const link = await preparedChange(deps, context, caller, async () => {
      requirePasswords(deps, caller.organization.id);
      return makePasswordLink(ownUser(caller, id));
    });
    const token = await deps.passwordLinks.token(link);
    return jsonReply(201, 'PasswordLink', { token, expires_at: formatMicros(link.expiresMicros) });
  };
}

/** Ends the token and the user's sessions. Every fault of a token gives the same 401 (contract: Credentials). */
export function usePasswordLinkHandler(deps: EndpointDeps): Handler {
  const { config, directory, passwordLinks } = deps;
  return async (context) => {
    const { token, new: password } = await readJson(context, 'PasswordByLink');
    checkPassword(password);
    // A used link no longer names a user.
    const actor = { type: 'App/System', id: hash('sha256', token) } as const;
    if (await isRepeat(deps, context, { actor })) return { status: 204 };
    const user = await passwordLinks.verify(token);
    const slug = user && directory.organizationById(user.organizationId)?.slug;
    if (
      user === undefined ||
      slug === undefined ||
      !isHostOf(slug, context.header('host'), config.tenantDomain)
    ) {
      throw new Problem('unauthorized', 'This link is not good, or not any more.');
    }
    const { id, organizationId, credentialVersion } = user;
    requirePasswords(deps, organizationId);
    const reference = { user: id, organization: organizationId };
    const passwordHash = await hashPassword(password);
    const change = setPassword(reference, passwordHash, { credentialVersion, byLink: true });
    await recordedChange(deps, context, { user, caller: actor.id }, change);
    return { status: 204 };
  };
}

/** Ends all sessions of the user, including this one. */
export function ownPasswordHandler(deps: EndpointDeps): SessionHandler {
  const { passwords, directory, config, cookie, selfAudit } = deps;
  return async (context, caller) => {
    const { current, new: password } = await readJson(context, 'PasswordChange');
    const { user, organization } = caller;
    const done = { status: 204, headers: { 'Set-Cookie': cookie.clear(context) } };
    // In a repeat the current password is already the new one.
    if (await isRepeat(deps, context, caller)) return done;
    requirePasswords(deps, organization.id);
    checkPassword(password);
    const attempt = passwordAttempt(context, config.tenantDomain, { email: user.email, signedIn: user });
    // Shares the count of logins.
    const isRight = await passwords.check(attempt, async (verify) => {
      // The check may have waited.
      const { passwordHash, disabledMicros } = directory.userById(user.id) ?? user;
      const matches = await verify(disabledMicros === undefined ? passwordHash : undefined, current);
      if (!matches) return undefined;
      const all = usersOfAddress(deps, context, user.email).filter((one) => mayUsePassword(deps, one));
      return { value: true, ofAll: all.length === 1 };
    });
    if (isRight === undefined) {
      await selfAudit.recordBefore(ownPasswordRefused(user), selfAuditOrigin(context));
      throw new Problem('forbidden', 'The current password is not right.');
    }
    const change = setPassword(ownUser(caller, user.id), await hashPassword(password));
    await recordedChange(deps, context, caller, change);
    return done;
  };
}

/**
 * Throws Problem `forbidden` for the caller's own id: one's own password needs the current one, or an open session could take
 * over an account.
 */
function requireOther(context: RequestContext, { user }: Pick<SessionCaller, 'user'>): string {
  const id = context.parameter('id');
  if (id.toLowerCase() !== user.id) return id;
  const detail = 'Your own password is changed with the current one, at /api/v1/portal/password.';
  throw new Problem('forbidden', detail);
}

/** Throws Problem `conflict` if passwords are off in the organization. */
export function requirePasswords(
  { directory }: Pick<EndpointDeps, 'directory'>,
  organizationId: string,
): void {
  if (directory.signOnOf(organizationId).passwords) return;
  const detail = 'Passwords are off in this organization: people sign in by its provider.';
  throw new Problem('conflict', detail);
}
