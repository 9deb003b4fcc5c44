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

export function usersHandler({ directory }: EndpointDeps): SessionHandler {
  return (_, { organization }) =>
    jsonReply(200, 'Users', { data: directory.users(organization.id).map(userView) });
}

export function createUserHandler(deps: EndpointDeps): SessionHandler {
  return async (context, caller) => {
    const given = await readJson(context, 'NewUser');
    const { password, ...input } = given;
    const organization = caller.organization.id;
    const user = await preparedChange(deps, context, caller, async () => {
      if (password !== undefined) requirePasswords(deps, organization);
      checkNewUser(deps.directory, { ...input, organization });
      // The user chooses one by a link.
      const passwordHash = password === undefined ? noPassword : await hashPassword(password);
      return createUser({ ...input, passwordHash, organization });
    });
    return jsonReply(201, 'User', userView(user));
  };
}

/** Role changes apply to open sessions immediately. */
export function changeUserHandler(deps: EndpointDeps): SessionHandler {
  return async (context, caller) => {
    const { role } = await readJson(context, 'UserChange');
    const change = changeRole(ownUser(caller, context.parameter('id')), role);
    const { now } = await recordedChange(deps, context, caller, change);
    return jsonReply(200, 'User', userView(now));
  };
}

export function disableUserHandler(deps: EndpointDeps): SessionHandler {
  return async (context, caller) => {
    const change = disableUser(ownUser(caller, context.parameter('id')));
    const { now } = await recordedChange(deps, context, caller, change);
    return jsonReply(200, 'User', userView(now));
  };
}
