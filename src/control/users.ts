import { randomUUID } from 'node:crypto';
import { addressOfPseudonym, isAddressOfPseudonym } from '../base/events/pseudonym.ts';
import { type Clock, systemClock } from '../base/time/clock.ts';
import { Problem } from '../base/errors/problem.ts';
import { everyReplicaOf } from '../storage/cluster.ts';
import type { Parameters, Storage } from '../storage/storage.ts';
import {
  ControlTable,
  counter,
  field,
  optionalTime,
  putUnique,
  type RowOf,
  time,
  version,
} from './control-table.ts';
import { foldEmail, parseEmail } from './email-address.ts';
import { displayName, isUuid } from './names.ts';
import { findOrganization } from './organizations.ts';
import { dummyHash, hashPassword } from './passwords.ts';

/** `admin`: everything in its organization; `auditor`: reads and exports events; `member`: own receipts only. */
export type Role = 'admin' | 'auditor' | 'member';

export const roles: readonly Role[] = ['admin', 'auditor', 'member'];

export const userTable = new ControlTable('users', 'UUID', {
  /** UUID in lower case. */
  id: field<string>('id'),
  organizationId: field<string>('org'),
  email: field<string>('email'),
  /** See `foldEmail`. */
  emailLower: field<string>('email_lower'),
  name: field<string>('name'),
  /** Whatever is not known counts as the role that may do least. */
  role: field<Role>('role', (text: string) => roles.find((role) => role === text) ?? 'member'),
  passwordHash: field<string>('password_hash'),
  /** Sessions carry it; one that carries another number has ended (contract: Sessions). */
  credentialVersion: counter('credential_version'),
  createdMicros: time('created_at'),
  disabledMicros: optionalTime('disabled_at'),
  deletedMicros: optionalTime('deleted_at'),
  version: version(),
});

export type User = RowOf<typeof userTable>;

export interface NewUser {
  readonly email: string;
  readonly name: string;
  readonly role: string;
  /** Asked for when everything else is known to be good. */
  readonly password: string | (() => Promise<string>);
}

/** Which user an operator means: an id, or an e-mail address, with the organization where the address is in several. */
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

function usersWhere(storage: Storage, condition: string, parameters?: Parameters): Promise<User[]> {
  return userTable.select(
    storage,
    `${condition} AND deleted_at IS NULL ORDER BY email_lower, org`,
    parameters,
  );
}

function withEmail(storage: Storage, organizationId: string, emailLower: string): Promise<User[]> {
  return usersWhere(storage, 'org = {org:UUID} AND email_lower = {email:String}', {
    org: organizationId,
    email: emailLower,
  });
}

/** The user of an organization with this address, whatever the case of its ASCII letters. */
export async function findByEmail(
  storage: Storage,
  organizationId: string,
  email: string,
): Promise<User | undefined> {
  const [user] = await withEmail(storage, organizationId, foldEmail(email));
  return user;
}

/** Those of an organization among these ids. */
export function usersOfIds(
  storage: Storage,
  organizationId: string,
  ids: readonly string[],
): Promise<User[]> {
  return usersWhere(storage, 'org = {org:UUID} AND id IN {ids:Array(UUID)}', { org: organizationId, ids });
}

/** The users of an organization, or of all of them. Throws Problem `not_found`. */
export async function listUsers(storage: Storage, organization?: string): Promise<User[]> {
  if (organization === undefined) return usersWhere(storage, 'true');
  const { id } = await findOrganization(storage, organization);
  return usersWhere(storage, 'org = {org:UUID}', { org: id });
}

/** The one user a reference means. Throws Problem `not_found`, or `malformed` where several match. */
export async function findUser(storage: Storage, reference: UserReference): Promise<User> {
  const emailLower = foldEmail(reference.user);
  const organization =
    reference.organization === undefined
      ? undefined
      : await findOrganization(storage, reference.organization);
  const found = isUuid(reference.user)
    ? await usersWhere(storage, 'id = {id:UUID}', { id: reference.user })
    : await usersWhere(storage, 'email_lower = {email:String}', { email: emailLower });
  const users = found.filter((user) => organization === undefined || user.organizationId === organization.id);
  const user = users[0];
  if (user === undefined) throw new Problem('not_found', `no user ${JSON.stringify(reference.user)}`);
  if (users.length > 1) {
    throw new Problem('malformed', `${reference.user} is in several organizations: name one of them`);
  }
  return user;
}

/**
 * Makes a user. Throws Problem `malformed` for bad input, `not_found` for the organization and `conflict` for an
 * address that the organization has already, disabled users included.
 */
export async function createUser(
  storage: Storage,
  input: NewUser & { readonly organization: string },
  clock: Clock = systemClock,
): Promise<User> {
  const email = parseEmail(input.email);
  const name = displayName(input.name);
  const role = parseRole(input.role);
  const organization = await findOrganization(storage, input.organization);
  const emailLower = foldEmail(email);
  const taken = new Problem('conflict', `${email} is a user of ${organization.slug} already`);
  const find = () => withEmail(storage, organization.id, emailLower);
  if ((await find()).length > 0) throw taken;
  const { password } = input;
  const passwordHash = await hashPassword(typeof password === 'string' ? password : await password());
  const now = clock();
  const user: User = {
    id: randomUUID(),
    organizationId: organization.id,
    email,
    emailLower,
    name,
    role,
    passwordHash,
    credentialVersion: 1,
    createdMicros: now,
    disabledMicros: undefined,
    deletedMicros: undefined,
    version: now,
  };
  await putUnique(userTable, storage, user, find, taken);
  return user;
}

/** Ends a user's access and sessions; one that is disabled already stays as it is. Throws Problem as `findUser`. */
export async function disableUser(
  storage: Storage,
  reference: UserReference,
  clock: Clock = systemClock,
): Promise<User> {
  const current = await findUser(storage, reference);
  if (current.disabledMicros !== undefined) return current;
  const disabledMicros = clock();
  return endSessions(storage, current, { disabledMicros }, disabledMicros);
}

/** Gives a disabled user access again; one that has it stays as it is. Throws Problem as `findUser`, or `conflict`. */
export async function enableUser(
  storage: Storage,
  reference: UserReference,
  clock: Clock = systemClock,
): Promise<User> {
  const current = await findUser(storage, reference);
  if (isAddressOfPseudonym(current.email))
    throw new Problem('conflict', 'This account was erased: make another user.');
  if (current.disabledMicros === undefined) return current;
  return userTable.update(storage, current, { disabledMicros: undefined }, clock());
}

/**
 * Takes the person out of an account: it has a pseudonym for name and address from now on, no password, and is disabled. What
 * it was is removed from the table, too. Undefined where there is no such account, or that has been done.
 */
export async function eraseUser(
  storage: Storage,
  id: string,
  pseudonym: string,
  clock: Clock = systemClock,
): Promise<User | undefined> {
  const [user] = await usersWhere(storage, 'id = {id:UUID}', { id });
  const email = addressOfPseudonym(pseudonym);
  if (user === undefined) return undefined;
  const isErased = user.email === email;
  if (isErased && !(await hasMore(storage, user))) return undefined;
  const now = clock();
  const change = { name: pseudonym, email, emailLower: email, passwordHash: dummyHash };
  const disabledMicros = user.disabledMicros ?? now;
  const erased = isErased ? user : await endSessions(storage, user, { ...change, disabledMicros }, now);
  await storage.removeRows('users', { column: 'id', id, below: erased.version });
  // By what a provider or a directory knows the person.
  await storage.removeRows('user_identities', { column: 'id', id });
  return erased;
}

/** Whether there is more of an erased account than its row, as a run was killed before it had removed that. */
async function hasMore(storage: Storage, { id, version: newest }: User): Promise<boolean> {
  const rows = await storage.rows(
    `SELECT 1 FROM ${everyReplicaOf(storage, 'users')} WHERE id = {id:UUID} AND version < {newest:UInt64}
     UNION ALL SELECT 1 FROM ${everyReplicaOf(storage, 'user_identities')} WHERE id = {id:UUID}`,
    { id, newest },
  );
  return rows.length > 0;
}

/** Gives a user another role; sessions have it at once. Throws Problem as `findUser`, or `malformed`. */
export async function changeRole(
  storage: Storage,
  reference: UserReference,
  role: string,
  clock: Clock = systemClock,
): Promise<User> {
  const current = await findUser(storage, reference);
  return userTable.update(storage, current, { role: parseRole(role) }, clock());
}

/** Changes the password, which ends the user's sessions. Throws Problem as `findUser`, or `malformed`. */
export async function setPassword(
  storage: Storage,
  reference: UserReference,
  password: string,
  clock: Clock = systemClock,
): Promise<User> {
  // Hashing takes its time, and what is read before it may be another's change by the end of it.
  const passwordHash = await hashPassword(password);
  const current = await findUser(storage, reference);
  return endSessions(storage, current, { passwordHash }, clock());
}

function endSessions(storage: Storage, user: User, change: Partial<User>, now: number): Promise<User> {
  const ending = ({ credentialVersion }: User) => ({ ...change, credentialVersion: credentialVersion + 1 });
  return userTable.update(storage, user, ending, now);
}
