import { randomBytes } from 'node:crypto';
import type { Administration } from '../../control/administration.ts';
import { changeOfUser } from '../../control/change-events.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { recordedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';
import { requirePasswords } from './passwords.ts';
import { userView } from '../views.ts';

/** GET /api/v1/portal/users: every user of the organization (contract: Credentials). */
export function usersHandler(administration: Administration): SessionHandler {
  return async (_, { organization }) =>
    jsonReply(200, 'Users', { data: (await administration.users(organization.id)).map(userView) });
}

/** POST /api/v1/portal/users: a new user (contract: Credentials). */
export function createUserHandler(deps: EndpointDeps): SessionHandler {
  return async (context, caller) => {
    const given = await readJson(context, 'NewUser');
    if (given.password !== undefined) requirePasswords(deps, caller.organization.id);
    const { password = unknownPassword(), ...input } = given;
    const user = await recordedChange(
      deps,
      context,
      caller,
      () => deps.administration.createUser(caller.organization.id, { ...input, password }),
      (made) => [changeOfUser(made, 'userCreated')],
    );
    return jsonReply(201, 'User', userView(user));
  };
}

/** The password of a user who will choose one by a link: until then nobody knows it. */
function unknownPassword(): string {
  return randomBytes(32).toString('base64url');
}

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
