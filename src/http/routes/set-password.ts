import { Problem } from '../../base/problem.ts';
import { changeOfUser } from '../../control/change-events.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { recordedChange } from '../recorded-change.ts';

/**
 * POST /api/v1/portal/users/{id}/password: another password for somebody else; ends that user's sessions (contract:
 * Credentials). Throws Problem `forbidden` for one's own, or whoever finds an open session could keep the account.
 */
export function setPasswordHandler(deps: EndpointDeps): SessionHandler {
  return async (context, caller) => {
    const { password } = await readJson(context, 'NewPassword');
    const id = context.parameter('id');
    if (id.toLowerCase() === caller.user.id) {
      const detail = 'Your own password is changed with the current one, at /api/v1/portal/password.';
      throw new Problem('forbidden', detail);
    }
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
