import { changeOfUser } from '../../control/change-events.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { recordedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';
import { userView } from '../views.ts';

/** POST /api/v1/portal/users/{id}/disable: the end of a user's access; again, it changes nothing (contract: Credentials). */
export function disableUserHandler(deps: EndpointDeps): SessionHandler {
  return async (context, caller) => {
    const { now } = await recordedChange(
      deps,
      context,
      caller,
      () => deps.administration.disableUser(caller.organization.id, context.parameter('id')),
      ({ before, now }) => (before === now ? [] : [changeOfUser(now, 'userDisabled')]),
    );
    return jsonReply(200, 'User', userView(now));
  };
}
