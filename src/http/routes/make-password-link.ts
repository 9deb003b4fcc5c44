import { formatMicros } from '../../base/time/timestamp.ts';
import { changeOfUser } from '../../control/change-events.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { recordedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';
import { requirePasswords } from '../require-passwords.ts';
import { requireOther } from '../require-other.ts';

/**
 * POST /api/v1/portal/users/{id}/password-link: a token by which somebody else chooses a password, once (contract:
 * Credentials). It changes nothing until it is used, and is handed out only once it is recorded.
 */
export function makePasswordLinkHandler(deps: EndpointDeps): SessionHandler {
  const { administration, passwordLinks } = deps;
  return async (context, caller) => {
    const id = requireOther(context, caller);
    requirePasswords(deps, caller.organization.id);
    const { link } = await recordedChange(
      deps,
      context,
      caller,
      async () => {
        const user = await administration.activeUser(caller.organization.id, id);
        return { user, link: await passwordLinks.issue(user) };
      },
      ({ user }) => [changeOfUser(user, 'passwordLinkMade')],
    );
    const { token, expiresMicros } = link;
    return jsonReply(201, 'PasswordLink', { token, expires_at: formatMicros(expiresMicros) });
  };
}
