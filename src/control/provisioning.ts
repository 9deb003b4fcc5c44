import { displayName } from './names.ts';
import type { Role, User } from './users.ts';

/** A user with the name that its directory has for it; empty without one. */
export interface ProvisionedUser {
  readonly user: User;
  readonly externalId: string;
}

/** Whom a directory looks for. */
export interface UserLookup {
  readonly by: 'email' | 'externalId' | 'id';
  readonly value: string;
}

/** What a directory says of a user; what it leaves out stays. */
export interface Provisioning {
  readonly active?: boolean | undefined;
  readonly role?: Role | undefined;
  /** Where no role is given: a user who has one of these has the least from now on. */
  readonly withoutRoles?: readonly Role[] | undefined;
  readonly name?: string | undefined;
  readonly externalId?: string | undefined;
}

/** The members of a user that become others by it. Throws Problem `malformed`. */
export function changeOfProvisioning(user: User, change: Provisioning, nowMicros: number): Partial<User> {
  const { active, withoutRoles = [] } = change;
  const role = change.role ?? (withoutRoles.includes(user.role) ? 'member' : undefined);
  const name = change.name === undefined ? user.name : displayName(change.name);
  const isActive = user.disabledMicros === undefined;
  return {
    ...(name !== user.name && { name }),
    ...(role !== undefined && role !== user.role && { role }),
    ...(active === true && !isActive && { disabledMicros: undefined }),
    // Another number ends the sessions.
    ...(active === false &&
      isActive && { disabledMicros: nowMicros, credentialVersion: user.credentialVersion + 1 }),
  };
}
