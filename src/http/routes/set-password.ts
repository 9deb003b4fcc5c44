import { changeOfUser } from '../../control/change-events.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { recordedChange } from '../recorded-change.ts';
import { requirePasswords } from '../require-passwords.ts';
import { requireOther } from '../require-other.ts';

/**
 * POST /api/v1/portal/users/{id}/password: another password for somebody else; ends that user's sessions (contract:
 * Credentials).
 */
export function setPasswordHandler(deps: EndpointDeps): SessionHandler {
  return async (context, caller) => {
    const { password } = await readJson(context, 'NewPassword');
    const id = requireOther(context, caller);
    requirePasswords(deps, caller.organization.id);
    await recordedChange(
      deps,
      context,
      caller,
      () => deps.administration.setPassword(caller.organization.id, id, password),
      (user) => [changeOfUser(user, 'passwordChanged')],
    );
    return { status: 204 };
  };
}
