import { Problem } from '../../base/errors/problem.ts';
import { changeOfUser } from '../../control/change-events.ts';
import { checkPassword } from '../../control/passwords.ts';
import type { EndpointDeps } from '../deps.ts';
import { readJson } from '../json-body.ts';
import { requirePasswords } from '../require-passwords.ts';
import { recordedChange } from '../recorded-change.ts';
import type { Handler } from '../router.ts';
import { isHostOf } from '../tenant-host.ts';

/**
 * POST /api/v1/auth/password: a password by the token of a link, which ends with it, as do the user's sessions (contract:
 * Credentials). Everything that is wrong with a token is one and the same 401.
 */
export function usePasswordLinkHandler(deps: EndpointDeps): Handler {
  const { administration, config, directory, passwordLinks } = deps;
  return async (context) => {
    const { token, new: password } = await readJson(context, 'PasswordByLink');
    checkPassword(password);
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
    await recordedChange(
      deps,
      context,
      { user },
      () => administration.setPassword(organizationId, id, password, credentialVersion),
      (changed) => [changeOfUser(changed, 'passwordReset')],
    );
    return { status: 204 };
  };
}
