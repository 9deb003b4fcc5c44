import { Problem } from '../../base/errors/problem.ts';
import { changeOfUser } from '../../control/change-events.ts';
import { checkPassword } from '../../control/passwords.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { attemptOf, mayUsePassword, usersOfAddress } from '../password-attempt.ts';
import { requirePasswords } from '../require-passwords.ts';
import { recordedChange } from '../recorded-change.ts';
import { selfAuditOrigin } from '../self-audit.ts';
import { ownPasswordRefused } from '../self-audit-events.ts';

/** POST /api/v1/portal/password: another password of one's own; ends one's sessions, this one too (contract: Credentials). */
export function ownPasswordHandler(deps: EndpointDeps): SessionHandler {
  const { administration, passwords, directory, config, cookie, selfAudit } = deps;
  return async (context, caller) => {
    const { current, new: password } = await readJson(context, 'PasswordChange');
    const { user, organization } = caller;
    requirePasswords(deps, organization.id);
    checkPassword(password);
    const attempt = attemptOf(context, config.tenantDomain, { email: user.email, signedIn: user });
    // The count that logins have: guesses count together.
    const isRight = await passwords.check(attempt, async (verify) => {
      // As it is now: the check may have waited.
      const { passwordHash, disabledMicros } = directory.userById(user.id) ?? user;
      const matches = await verify(disabledMicros === undefined ? passwordHash : undefined, current);
      if (!matches) return undefined;
      const all = usersOfAddress(deps, context, user.email).filter((one) => mayUsePassword(deps, one));
      return { value: true, ofAll: all.length === 1 };
    });
    if (isRight === undefined) {
      await selfAudit.recordAfter(ownPasswordRefused(user), selfAuditOrigin(context));
      throw new Problem('forbidden', 'The current password is not right.');
    }
    await recordedChange(
      deps,
      context,
      caller,
      () => administration.setPassword(organization.id, user.id, password),
      (changed) => [changeOfUser(changed, 'passwordChanged')],
    );
    return { status: 204, headers: { 'Set-Cookie': cookie.clear(context) } };
  };
}
