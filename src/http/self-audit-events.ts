import { type ServiceEvent, userActor } from '../control/change-events.ts';
import type { User } from '../control/users.ts';

/** Codes of activities that are not changes; a test compares them with the registry. */
export const selfAuditCodes = { loginSucceeded: 1001, loginFailed: 1002, passwordChange: 1010 } as const;

const by = (user: User) => ({ organizationId: user.organizationId, actor: userActor(user) });

const succeeded = { level: 'INFO', result: { title: 'OK', code: 200 } } as const;

/** `way`: a password, or the name of a provider. */
export function loginSucceeded(user: User, way: SignInWay = { way: 'password' }): ServiceEvent {
  const msg = `${user.email} signed in`;
  return { ...by(user), code: selfAuditCodes.loginSucceeded, msg, ...succeeded, extra: { ...way } };
}

export interface SignInWay {
  readonly way: 'password' | 'openid_connect';
  readonly issuer?: string;
  readonly subject?: string;
}

/** `claimedEmail` comes from the provider and need not be the user's. */
export function signOnFailed(
  organizationId: string,
  facts: {
    readonly reason: string;
    readonly way: SignInWay;
    readonly user?: User | undefined;
    readonly claimedEmail?: string | undefined;
  },
): ServiceEvent {
  const { reason, way, user, claimedEmail } = facts;
  return {
    organizationId,
    actor: user === undefined ? { type: 'User' } : userActor(user),
    code: selfAuditCodes.loginFailed,
    level: 'WARN',
    msg: `A sign-in by the provider was refused (${reason})`,
    result: { title: 'Refused', code: 401 },
    extra: { reason, ...way, claimed_email: claimedEmail },
  };
}

/** Contains no typed text. `ambiguous`: several organizations have the address and none was named. */
export function loginFailed(user: User, { ambiguous = false, passwordsOff = false } = {}): ServiceEvent {
  const wrong = passwordsOff ? 'passwords are off' : 'wrong password';
  const reason = user.disabledMicros === undefined ? wrong : 'disabled user';
  return {
    ...by(user),
    code: selfAuditCodes.loginFailed,
    level: 'WARN',
    msg: `A login as ${user.email} was refused`,
    result: { title: 'Refused', code: 401 },
    extra: { reason: ambiguous ? 'organization not named' : reason, way: 'password' },
  };
}

export function ownPasswordRefused(user: User): ServiceEvent {
  return {
    ...by(user),
    code: selfAuditCodes.passwordChange,
    level: 'WARN',
    msg: `A change of the password of ${user.email} was refused`,
    target: { id: user.id, name: user.email, type: 'user' },
    result: { title: 'Refused', code: 403 },
    extra: { reason: 'wrong current password' },
  };
}
