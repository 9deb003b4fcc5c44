import { randomBytes } from 'node:crypto';
import { changeOfUser } from '../../control/change-events.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { requirePasswords } from '../require-passwords.ts';
import { recordedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';
import { userView } from '../views.ts';

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

/** Of a user who chooses one by a link: until then nobody knows it. */
function unknownPassword(): string {
  return randomBytes(32).toString('base64url');
}
