import { randomUUID } from 'node:crypto';
import { Problem } from '../base/errors/problem.ts';
import { addressOfPseudonym, isAddressOfPseudonym } from '../base/events/pseudonym.ts';
import { changeOfUser } from './change-events.ts';
import { type Changed, type Decide, type Decision, unchanged } from './decision.ts';
import { foldEmail, parseEmail } from './email-address.ts';
import { displayName, isUuid } from './names.ts';
import { findOrganization } from './organizations.ts';
import { noPassword } from './passwords.ts';
import type { Role, User } from './records.ts';
import type { ControlState } from './state.ts';

export type { Role, User } from './records.ts';

export const roles: readonly Role[] = ['admin', 'auditor', 'member'];

const usersPerOrganizationMax = 20_000;

/** A user who is to be made; its password hashed (`hashPassword`). */
export interface NewUser {
  readonly email: string;
  readonly name: string;
  readonly role: string;
  readonly passwordHash: string;
}

/** Which user is meant: an id, or an e-mail address, with the organization (slug or id) where the address is in several. */
export interface UserReference {
  readonly user: string;
  readonly organization?: string | undefined;
}

/** Throws Problem `malformed`. */
export function parseRole(text: string): Role {
  const role = roles.find((known) => known === text);
  if (role === undefined) throw new Problem('malformed', `role must be one of ${roles.join(', ')}`);
  return role;
}

/** The user of an organization with this address, whatever the case of its ASCII letters. */
export function findByEmail(state: ControlState, organizationId: string, email: string): User | undefined {
  return state.usersByEmail(foldEmail(email)).find((user) => user.organizationId === organizationId);
}

/** The users of an organization, or of all of them, by address. Throws Problem `not_found`. */
export function listUsers(state: ControlState, organization?: string): readonly User[] {
  return state.users(organization === undefined ? undefined : findOrganization(state, organization).id);
}

/** Nothing tells a user of another organization from one that does not exist. */
function missingWords({ user, organization }: UserReference): string {
  return organization === undefined
    ? `no user ${JSON.stringify(user)}`
    : 'There is no such user in this organization.';
}

/** The one user a reference means. Throws Problem `not_found`, or `malformed` where several match. */
export function findUser(state: ControlState, reference: UserReference): User {
  const organization =
    reference.organization === undefined ? undefined : findOrganization(state, reference.organization);
  const known = isUuid(reference.user)
    ? [state.userById(reference.user.toLowerCase())].filter((user) => user !== undefined)
    : state.usersByEmail(foldEmail(reference.user));
  const users = known.filter((user) => organization === undefined || user.organizationId === organization.id);
  const user = users[0];
  if (user === undefined) throw new Problem('not_found', missingWords(reference));
  if (users.length > 1)
    throw new Problem('malformed', `${reference.user} is in several organizations: name one of them`);
  return user;
}

/** What is wrong with a new user is known before anybody is asked for a password. Throws as `createUser`. */
export function checkNewUser(
  state: ControlState,
  input: Omit<NewUser, 'passwordHash'> & { readonly organization: string },
): void {
  const email = parseEmail(input.email);
  displayName(input.name);
  parseRole(input.role);
  const organization = findOrganization(state, input.organization);
  if (findByEmail(state, organization.id, email) !== undefined)
    throw new Problem('conflict', `${email} is a user of ${organization.slug} already`);
  if (state.users(organization.id).length >= usersPerOrganizationMax)
    throw new Problem('conflict', `The organization has ${usersPerOrganizationMax} users already.`);
}

/** What a new user of an organization comes to. Throws Problem `malformed`. */
export function newUser(input: NewUser): (organizationId: string, micros: number) => Decision<User> {
  const email = parseEmail(input.email);
  const facts = {
    id: randomUUID(),
    email,
    emailLower: foldEmail(email),
    name: displayName(input.name),
    role: parseRole(input.role),
    passwordHash: input.passwordHash,
    credentialVersion: 1,
  };
  return (organizationId, micros) => {
    const times = { createdMicros: micros, changedMicros: micros, disabledMicros: undefined };
    const user: User = { ...facts, organizationId, ...times };
    return { parts: [['user', user]], changes: [changeOfUser(user, 'userCreated')], result: user };
  };
}

/**
 * Makes a user. Throws Problem `malformed` for bad input, `not_found` for the organization and `conflict` for an
 * address that the organization has already, disabled users included.
 */
export function createUser(input: NewUser & { readonly organization: string }): Decide<User> {
  const make = newUser(input);
  return (state, { micros }) => {
    checkNewUser(state, input);
    return make(findOrganization(state, input.organization).id, micros);
  };
}

/** A user after a change; another credential version ends the sessions. */
const withSessionsEnded = (user: User): User => ({
  ...user,
  credentialVersion: user.credentialVersion + 1,
});

/** Throws Problem `conflict` where a user's change would leave the organization without an administrator. */
export function keepAnAdmin(state: ControlState, before: User, now: User): void {
  const isAdmin = (user: User): boolean => user.role === 'admin' && user.disabledMicros === undefined;
  if (!isAdmin(before) || isAdmin(now)) return;
  if (!state.users(before.organizationId).some((user) => isAdmin(user) && user.id !== before.id))
    throw new Problem('conflict', 'This is the last administrator of the organization.');
}

/**
 * Ends a user's access and sessions; one that is disabled already stays as it is. Throws Problem as `findUser`, and `conflict` for
 * the last administrator.
 */
export function disableUser(reference: UserReference): Decide<Changed<User>> {
  return (state, { micros }) => {
    const before = findUser(state, reference);
    if (before.disabledMicros !== undefined) return unchanged({ before, now: before });
    const now = withSessionsEnded({ ...before, changedMicros: micros, disabledMicros: micros });
    keepAnAdmin(state, before, now);
    return changedUser(before, now, 'userDisabled');
  };
}

/** Gives a disabled user access again; one that has it stays as it is. Throws Problem as `findUser`, or `conflict`. */
export function enableUser(reference: UserReference): Decide<Changed<User>> {
  return (state, { micros }) => {
    const before = findUser(state, reference);
    checkNotErased(before);
    if (before.disabledMicros === undefined) return unchanged({ before, now: before });
    return changedUser(
      before,
      { ...before, changedMicros: micros, disabledMicros: undefined },
      'userEnabled',
    );
  };
}

/** Throws Problem `conflict` for the account of a person who was erased. */
export function checkNotErased({ email }: User): void {
  if (isAddressOfPseudonym(email))
    throw new Problem('conflict', 'This account was erased: make another user.');
}

/**
 * Gives a user another role; sessions have it at once. Throws Problem as `findUser`, `malformed`, and `conflict` for the last
 * administrator.
 */
export function changeRole(reference: UserReference, text: string): Decide<Changed<User>> {
  const role = parseRole(text);
  return (state, { micros }) => {
    const before = findUser(state, reference);
    if (before.role === role) return unchanged({ before, now: before });
    const now = { ...before, changedMicros: micros, role };
    keepAnAdmin(state, before, now);
    const change = changeOfUser(now, 'roleChanged', before);
    return { parts: [['user', now]], changes: [change], result: { before, now } };
  };
}

/**
 * Changes the password (`hashPassword`), which ends the user's sessions. `credentialVersion` is what the change was allowed for: where
 * the password is another one by now, it is refused. Throws Problem as `findUser`, and `unauthorized`.
 */
export function setPassword(
  reference: UserReference,
  passwordHash: string,
  {
    credentialVersion,
    byLink = false,
  }: { readonly credentialVersion?: number; readonly byLink?: boolean } = {},
): Decide<Changed<User>> {
  return (state, { micros }) => {
    const before = findUser(state, reference);
    if (credentialVersion !== undefined && before.credentialVersion !== credentialVersion)
      throw new Problem('unauthorized', 'The password has been changed meanwhile.');
    const now = withSessionsEnded({ ...before, changedMicros: micros, passwordHash });
    return changedUser(before, now, byLink ? 'passwordReset' : 'passwordChanged');
  };
}

function changedUser(
  before: User,
  now: User,
  what: 'userDisabled' | 'userEnabled' | 'passwordChanged' | 'passwordReset',
): Decision<Changed<User>> {
  return { parts: [['user', now]], changes: [changeOfUser(now, what)], result: { before, now } };
}

/**
 * The account of a person who was erased: a pseudonym for name and address, no password, disabled, known nowhere else. No parts
 * where there is no such account, or that has been done.
 */
export function erasedAccount(state: ControlState, id: string, pseudonym: string, micros: number) {
  const user = state.userById(id);
  const email = addressOfPseudonym(pseudonym);
  if (user === undefined || user.email === email) return [];
  const { organizationId } = user;
  const now = withSessionsEnded({
    ...user,
    changedMicros: micros,
    name: pseudonym,
    email,
    emailLower: email,
    passwordHash: noPassword,
    disabledMicros: user.disabledMicros ?? micros,
  });
  const nowhere = { id, organizationId, issuer: '', subject: '', linkedMicros: undefined, externalId: '' };
  return [['user', now] as const, ['identity', nowhere] as const];
}
