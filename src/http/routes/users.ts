import { limits } from '../limits.ts';
import { Problem } from '../../base/problem.ts';
import { formatMicros } from '../../base/timestamp.ts';
import type { Administration } from '../../control/administration.ts';
import { changeOfUser } from '../../control/change-events.ts';
import type { Directory } from '../../control/directory.ts';
import type { PasswordThrottle } from '../../control/password-throttle.ts';
import { checkPassword } from '../../control/passwords.ts';
import type { Role, User } from '../../control/users.ts';
import type { Endpoint, SessionCaller } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { attemptOf } from '../password-attempt.ts';
import { type ChangeDeps, recordedChange } from '../recorded-change.ts';
import type { Reply } from '../response.ts';
import type { RequestContext } from '../router.ts';
import type { SessionCookie } from '../session-cookie.ts';
import { trailOrigin } from '../trail.ts';
import { ownPasswordRefused } from '../trail-events.ts';

export interface UserDeps extends ChangeDeps {
  readonly administration: Administration;
  /** The one that logins use: guesses count together. */
  readonly passwords: PasswordThrottle;
  readonly directory: Pick<Directory, 'refresh' | 'userById'>;
  readonly tenantDomain: string | undefined;
  readonly cookie: Pick<SessionCookie, 'clear'>;
}

interface NewUserBody {
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly password: string;
}

const newUserSchema = {
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

const newPasswordSchema = {
  type: 'object',
  required: ['password'],
  additionalProperties: false,
  properties: { password: { type: 'string' } },
} as const;

const ownPasswordSchema = {
  type: 'object',
  required: ['current', 'new'],
  additionalProperties: false,
  properties: { current: { type: 'string' }, new: { type: 'string' } },
} as const;

const path = '/api/v1/portal/users';

/**
 * The users of the organization, for its administrators, and the own password, for everyone (contract: Credentials):
 *
 *     GET  /api/v1/portal/users                  every user
 *     POST /api/v1/portal/users                  a new user
 *     POST /api/v1/portal/users/{id}/disable     the end of a user's access; again, it changes nothing
 *     POST /api/v1/portal/users/{id}/password    another password for somebody else; ends that user's sessions
 *     POST /api/v1/portal/password               another password of one's own; ends one's sessions, this one too
 */
export function userEndpoints(deps: UserDeps): Endpoint[] {
  const roles = ['admin'] as const;
  const body = { maxBytes: limits.jsonBodyBytesMax };
  return [
    {
      method: 'GET',
      path,
      name: 'users',
      access: 'session',
      roles,
      handler: async (_, { organization }) => {
        const users = await deps.administration.users(organization.id);
        return { status: 200, body: JSON.stringify({ data: users.map(view) }) };
      },
    },
    {
      method: 'POST',
      path,
      name: 'create user',
      access: 'session',
      roles,
      changes: true,
      body,
      handler: (context, caller) => create(deps, context, caller),
    },
    {
      method: 'POST',
      path: `${path}/*`,
      name: 'change user',
      access: 'session',
      roles,
      changes: true,
      body,
      handler: (context, caller) => {
        const [id = '', action, ...more] = context.path.slice(path.length + 1).split('/');
        if (more.length === 0 && action === 'disable') return disable(deps, context, caller, id);
        if (more.length === 0 && action === 'password') return setPassword(deps, context, caller, id);
        throw new Problem('not_found', 'There is nothing at this path.');
      },
    },
    {
      method: 'POST',
      path: '/api/v1/portal/password',
      name: 'own password',
      access: 'session',
      roles: ['admin', 'auditor', 'member'],
      changes: true,
      checksPassword: true,
      body,
      handler: (context, caller) => changeOwnPassword(deps, context, caller),
    },
  ];
}

/** What may be shown of a user; members without a value are left out. */
function view({ id, email, name, role, createdMicros, disabledMicros }: User) {
  return {
    id,
    email,
    name,
    role,
    created_at: formatMicros(createdMicros),
    disabled_at: disabledMicros === undefined ? undefined : formatMicros(disabledMicros),
  };
}

async function create(deps: UserDeps, context: RequestContext, caller: SessionCaller): Promise<Reply> {
  const input = await readJson<NewUserBody>(context, newUserSchema);
  const user = await recordedChange(deps, context, caller, async () => {
    const result = await deps.administration.createUser(caller.organization.id, input);
    return { result, changes: [changeOfUser(result, 'userCreated')] };
  });
  return { status: 201, body: JSON.stringify(view(user)) };
}

async function disable(
  deps: UserDeps,
  context: RequestContext,
  caller: SessionCaller,
  id: string,
): Promise<Reply> {
  const user = await recordedChange(deps, context, caller, async () => {
    const { before, now } = await deps.administration.disableUser(caller.organization.id, id);
    return { result: now, changes: before === now ? [] : [changeOfUser(now, 'userDisabled')] };
  });
  return { status: 200, body: JSON.stringify(view(user)) };
}

async function setPassword(
  deps: UserDeps,
  context: RequestContext,
  caller: SessionCaller,
  id: string,
): Promise<Reply> {
  const { password } = await readJson<{ readonly password: string }>(context, newPasswordSchema);
  if (id.toLowerCase() === caller.user.id) {
    // Else whoever finds an open session could keep the account.
    throw new Problem(
      'forbidden',
      'Your own password is changed with the current one, at /api/v1/portal/password.',
    );
  }
  await recordedChange(deps, context, caller, async () => {
    const result = await deps.administration.setPassword(caller.organization.id, id, password);
    return { result, changes: [changeOfUser(result, 'passwordChanged')] };
  });
  return { status: 204 };
}

async function changeOwnPassword(
  deps: UserDeps,
  context: RequestContext,
  caller: SessionCaller,
): Promise<Reply> {
  const { current, new: password } = await readJson<{ readonly current: string; readonly new: string }>(
    context,
    ownPasswordSchema,
  );
  const { user, organization } = caller;
  checkPassword(password);
  const attempt = attemptOf(context, deps.tenantDomain, { email: user.email, signedIn: user });
  const isRight = await deps.passwords.check(attempt, async (verify) => {
    // As it is now: the check may have waited.
    const { passwordHash, disabledMicros } = deps.directory.userById(user.id) ?? user;
    const matches = await verify(disabledMicros === undefined ? passwordHash : undefined, current);
    return matches ? true : undefined;
  });
  if (isRight === undefined) {
    await deps.trail.recordAfter(ownPasswordRefused(user), trailOrigin(context));
    throw new Problem('forbidden', 'The current password is not right.');
  }
  await recordedChange(deps, context, caller, async () => {
    const result = await deps.administration.setPassword(organization.id, user.id, password);
    return { result, changes: [changeOfUser(result, 'passwordChanged')] };
  });
  return { status: 204, headers: { 'Set-Cookie': deps.cookie.clear(context) } };
}
