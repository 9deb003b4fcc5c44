import { hashPassword, noPassword } from '../../control/passwords.ts';
import { changeRole, checkNewUser, createUser, disableUser } from '../../control/users.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { ownUser } from '../own-user.ts';
import { preparedChange, recordedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';
import { requirePasswords } from './passwords.ts';
import { userView } from '../views.ts';

/** GET /api/v1/portal/users: every user of the organization (contract: Credentials). */
export function usersHandler({ directory }: EndpointDeps): SessionHandler {
  return (_, { organization }) =>
    jsonReply(200, 'Users', { data: directory.users(organization.id).map(userView) });
}

/** POST /api/v1/portal/users: a new user (contract: Credentials). */
export function createUserHandler(deps: EndpointDeps): SessionHandler {
  return async (context, caller) => {
    const given = await readJson(context, 'NewUser');
    const { password, ...input } = given;
    const organization = caller.organization.id;
    const user = await preparedChange(deps, context, caller, async () => {
      if (password !== undefined) requirePasswords(deps, organization);
      checkNewUser(deps.directory, { ...input, organization });
      // Who has none chooses one by a link.
      const passwordHash = password === undefined ? noPassword : await hashPassword(password);
      return createUser({ ...input, passwordHash, organization });
    });
    return jsonReply(201, 'User', userView(user));
  };
}

/** PATCH /api/v1/portal/users/{id}: another role, which holds in open sessions at once (contract: Credentials). */
export function changeUserHandler(deps: EndpointDeps): SessionHandler {
  return async (context, caller) => {
    const { role } = await readJson(context, 'UserChange');
    const change = changeRole(ownUser(caller, context.parameter('id')), role);
    const { now } = await recordedChange(deps, context, caller, change);
    return jsonReply(200, 'User', userView(now));
  };
}

/** POST /api/v1/portal/users/{id}/disable: the end of a user's access; again, it changes nothing (contract: Credentials). */
export function disableUserHandler(deps: EndpointDeps): SessionHandler {
  return async (context, caller) => {
    const change = disableUser(ownUser(caller, context.parameter('id')));
    const { now } = await recordedChange(deps, context, caller, change);
    return jsonReply(200, 'User', userView(now));
  };
}
