import { Problem } from '../base/errors/problem.ts';
import { type Change, changeOfUser } from './change-events.ts';
import { type Changed, type Decide, unchanged } from './decision.ts';
import { foldEmail } from './email-address.ts';
import { displayName, isUuid } from './names.ts';
import type { Part, Role, User } from './records.ts';
import type { ControlState } from './state.ts';
import { checkNotErased, createUser, keepAnAdmin, type NewUser } from './users.ts';

export interface ProvisionedUser {
  readonly user: User;
  readonly externalId: string;
}

export interface UserLookup {
  readonly by: 'email' | 'externalId' | 'id';
  readonly value: string;
}

/** Absent members stay. */
export interface Provisioning {
  readonly active?: boolean | undefined;
  readonly role?: Role | undefined;
  /** Without `role`: a user with one of these gets the lowest role. */
  readonly withoutRoles?: readonly Role[] | undefined;
  readonly name?: string | undefined;
  readonly externalId?: string | undefined;
}

/** The changed members. Throws Problem `malformed`. */
function changeOfProvisioning(user: User, change: Provisioning, nowMicros: number): Partial<User> {
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

/** Throws Problem `not_found`. */
export function provisionedUser(state: ControlState, organization: string, id: string): ProvisionedUser {
  const user = isUuid(id) ? state.userById(id.toLowerCase()) : undefined;
  if (user?.organizationId !== organization)
    throw new Problem('not_found', 'There is no such user in this organization.');
  return { user, externalId: state.identityOf(user).externalId };
}

/** By address; all, or those of the lookup. */
export function provisionedUsers(
  state: ControlState,
  organization: string,
  lookup?: UserLookup,
): ProvisionedUser[] {
  const withName = (user: User) => ({ user, externalId: state.identityOf(user).externalId });
  const all = state.users(organization).map(withName);
  if (lookup === undefined) return all;
  const { by, value } = lookup;
  return all.filter(({ user, externalId }) => {
    if (by === 'email') return user.emailLower === foldEmail(value);
    return by === 'id' ? user.id === value.toLowerCase() : value !== '' && externalId === value;
  });
}

/** Throws Problem `malformed`, `conflict`. */
export function provisionUser(
  organization: string,
  input: NewUser,
  more: Provisioning,
): Decide<Changed<ProvisionedUser>> {
  const make = createUser({ ...input, organization });
  return (state, moment) => {
    const made = make(state, moment);
    const before = { user: made.result, externalId: '' };
    const { parts, now } = provision(state, before, more, moment.micros);
    const isNew = !parts.some(([kind]) => kind === 'user');
    return {
      parts: [...(isNew ? made.parts : []), ...parts],
      changes: [changeOfUser(now.user, 'userCreated'), ...accessChanges(before.user, now.user)],
      result: { before, now },
    };
  };
}

/**
 * Throws Problem `malformed`, `not_found`, and `conflict` for the last administrator and an erased account.
 */
export function changeProvisioned(
  organization: string,
  id: string,
  change: Provisioning,
): Decide<Changed<ProvisionedUser>> {
  return (state, { micros }) => {
    const before = provisionedUser(state, organization, id);
    // The directory may still have the person.
    checkNotErased(before.user);
    const { parts, now } = provision(state, before, change, micros);
    if (parts.length === 0) return unchanged({ before, now: before });
    keepAnAdmin(state, before.user, now.user);
    return { parts, changes: changesOf(before, now), result: { before, now } };
  };
}

function provision(state: ControlState, before: ProvisionedUser, change: Provisioning, micros: number) {
  const members = changeOfProvisioning(before.user, change, micros);
  const user =
    Object.keys(members).length > 0 ? { ...before.user, ...members, changedMicros: micros } : before.user;
  const { externalId = before.externalId } = change;
  const identity = { ...state.identityOf(user), externalId };
  const parts: Part[] = [
    ...(user === before.user ? [] : [['user', user] as const]),
    ...(externalId === before.externalId ? [] : [['identity', identity] as const]),
  ];
  return { parts, now: { user, externalId } };
}

function changesOf(before: ProvisionedUser, now: ProvisionedUser): Change[] {
  const [was, is] = [before.user, now.user];
  const isOther = was.name !== is.name || before.externalId !== now.externalId;
  return [
    ...(isOther ? [changeOfUser(is, 'userUpdated')] : []),
    ...(was.role === is.role ? [] : [changeOfUser(is, 'roleChanged', was)]),
    ...accessChanges(was, is),
  ];
}

function accessChanges(was: User, is: User): Change[] {
  const isActive = is.disabledMicros === undefined;
  if ((was.disabledMicros === undefined) === isActive) return [];
  return [changeOfUser(is, isActive ? 'userEnabled' : 'userDisabled')];
}
