import { changeOfUser } from '../../control/change-events.ts';
import type { Role } from '../../control/users.ts';
import type { SessionHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { type ChangeDeps, recordedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';
import { userView } from '../views.ts';

interface NewUserBody {
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly password: string;
}

const schema = {
  type: 'object',
  required: ['email', 'name', 'role', 'password'],
  additionalProperties: false,
  properties: {
    email: { type: 'string' },
    name: { type: 'string' },
    role: { enum: ['admin', 'auditor', 'member'] },
    password: { type: 'string' },
  },
} as const;

/** POST /api/v1/portal/users: a new user (contract: Credentials). */
export function createUserHandler(deps: ChangeDeps): SessionHandler {
  return async (context, caller) => {
    const input = await readJson<NewUserBody>(context, schema);
    const user = await recordedChange(
      deps,
      context,
      caller,
      () => deps.administration.createUser(caller.organization.id, input),
      (made) => [changeOfUser(made, 'userCreated')],
    );
    return jsonReply(201, userView(user));
  };
}
