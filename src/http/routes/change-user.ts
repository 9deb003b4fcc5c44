import { changeOfUser } from '../../control/change-events.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { recordedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';
import { userView } from '../views.ts';

/** PATCH /api/v1/portal/users/{id}: another role, which holds in open sessions at once (contract: Credentials). */
export function changeUserHandler(deps: EndpointDeps): SessionHandler {
  return async (context, caller) => {
    const { role } = await readJson(context, 'UserChange');
    const { now } = await recordedChange(
      deps,
      context,
      caller,
      () => deps.administration.changeRole(caller.organization.id, context.parameter('id'), role),
      ({ before, now }) => (before === now ? [] : [changeOfUser(now, 'roleChanged', before)]),
    );
    return jsonReply(200, 'User', userView(now));
  };
}
