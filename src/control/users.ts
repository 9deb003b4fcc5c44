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

/** With a hashed password (`hashPassword`). */
export interface NewUser {
  readonly email: string;
  readonly name: string;
  readonly role: string;
  readonly passwordHash: string;
}

/** An id, or an address, with the organization (slug or id) if several have it. */
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

/** Ignores the case of ASCII letters. */
export function findByEmail(state: ControlState, organizationId: string, email: string): User | undefined {
  return state.usersByEmail(foldEmail(email)).find((user) => user.organizationId === organizationId);
}

/** By address. Throws Problem `not_found`. */
export function listUsers(state: ControlState, organization?: string): readonly User[] {
  return state.users(organization === undefined ? undefined : findOrganization(state, organization).id);
}

/** Does not reveal whether the user is in another organization. */
function missingWords({ user, organization }: UserReference): string {
  return organization === undefined
    ? `no user ${JSON.stringify(user)}`
    : 'There is no such user in this organization.';
}

/** Throws Problem `not_found`, or `malformed` if several match. */
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

/** Before the command asks for a password. Throws as `createUser`. */
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

/** Throws Problem `malformed`. */
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

/** Throws Problem `malformed`, `not_found` for the organization, and `conflict` if it has the address, also of a disabled user. */
export function createUser(input: NewUser & { readonly organization: string }): Decide<User> {
  const make = newUser(input);
  return (state, { micros }) => {
    checkNewUser(state, input);
    return make(findOrganization(state, input.organization).id, micros);
  };
}

/** Another credential version ends the sessions. */
const withSessionsEnded = (user: User): User => ({
  ...user,
  credentialVersion: user.credentialVersion + 1,
});

/** Throws Problem `conflict` if no administrator would be left. */
export function keepAnAdmin(state: ControlState, before: User, now: User): void {
  const isAdmin = (user: User): boolean => user.role === 'admin' && user.disabledMicros === undefined;
  if (!isAdmin(before) || isAdmin(now)) return;
  if (!state.users(before.organizationId).some((user) => isAdmin(user) && user.id !== before.id))
    throw new Problem('conflict', 'This is the last administrator of the organization.');
}

/** Ends access and sessions. Idempotent. Throws Problem as `findUser`, and `conflict` for the last administrator. */
export function disableUser(reference: UserReference): Decide<Changed<User>> {
  return (state, { micros }) => {
    const before = findUser(state, reference);
    if (before.disabledMicros !== undefined) return unchanged({ before, now: before });
    const now = withSessionsEnded({ ...before, changedMicros: micros, disabledMicros: micros });
    keepAnAdmin(state, before, now);
    return changedUser(before, now, 'userDisabled');
  };
}

/** Idempotent. Throws Problem as `findUser`, or `conflict`. */
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

/** Throws Problem `conflict` for an erased person. */
export function checkNotErased({ email }: User): void {
  if (isAddressOfPseudonym(email))
    throw new Problem('conflict', 'This account was erased: make another user.');
}

/** Sessions have the role at once. Throws Problem as `findUser`, `malformed`, and `conflict` for the last administrator. */
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

/** Ends the sessions. Throws Problem as `findUser`, and `unauthorized` if the password is no longer that of `credentialVersion`. */
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

/** A pseudonym without a password, disabled, linked nowhere. No parts if there is no account or it is erased already. */
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
