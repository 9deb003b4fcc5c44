import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../base/clock.ts';
import { Problem } from '../base/problem.ts';
import type { Storage } from '../storage/storage.ts';
import { findOrganization } from './organizations.ts';
import { hashPassword } from './passwords.ts';
import {
  currentRows,
  dateTimeText,
  dateTimeTextOrNull,
  displayName,
  isUuid,
  type MicrosText,
  microsOrUndefined,
  nextVersion,
} from './rows.ts';

/** `admin`: everything in its organization; `auditor`: reads and exports events; `member`: own receipts only. */
export type Role = 'admin' | 'auditor' | 'member';

const roles: readonly Role[] = ['admin', 'auditor', 'member'];

export interface User {
  /** UUID in lower case. */
  readonly id: string;
  readonly organizationId: string;
  readonly email: string;
  readonly emailLower: string;
  readonly name: string;
  readonly role: Role;
  readonly passwordHash: string;
  /** Sessions carry it; one that carries another number has ended (contract: Sessions). */
  readonly credentialVersion: number;
  readonly createdMicros: number;
  readonly disabledMicros: number | undefined;
  readonly deletedMicros: number | undefined;
  readonly version: number;
}

export interface UserRow {
  readonly id: string;
  readonly org: string;
  readonly email: string;
  readonly email_lower: string;
  readonly name: string;
  readonly role: string;
  readonly password_hash: string;
  readonly credential_version: number;
  readonly created_micros: MicrosText;
  readonly disabled_micros: MicrosText | null;
  readonly deleted_micros: MicrosText | null;
  readonly version: MicrosText;
}

export const userColumns =
  'id, org, email, email_lower, name, role, password_hash, credential_version, ' +
  'toUnixTimestamp64Micro(created_at) AS created_micros, toUnixTimestamp64Micro(disabled_at) AS disabled_micros, ' +
  'toUnixTimestamp64Micro(deleted_at) AS deleted_micros, version';

/** Which user an operator means: an id, or an e-mail address, with the organization where the address is in several. */
export interface UserReference {
  readonly user: string;
  readonly organization?: string | undefined;
}

const emailPattern = /^[^\s@\p{Cc}\p{Cs}]{1,64}@[^\s@\p{Cc}\p{Cs}]{1,253}$/u;
const emailCharactersMax = 254;

export function readUser(row: UserRow): User {
  return {
    id: row.id,
    organizationId: row.org,
    email: row.email,
    emailLower: row.email_lower,
    name: row.name,
    // Whatever is not known counts as the role that may do least.
    role: roles.find((role) => role === row.role) ?? 'member',
    passwordHash: row.password_hash,
    credentialVersion: row.credential_version,
    createdMicros: Number(row.created_micros),
    disabledMicros: microsOrUndefined(row.disabled_micros),
    deletedMicros: microsOrUndefined(row.deleted_micros),
    version: Number(row.version),
  };
}

function parseEmail(text: string): string {
  const email = text.trim();
  if (email.length <= emailCharactersMax && emailPattern.test(email)) return email;
  throw new Problem('malformed', 'email must be an e-mail address');
}

function parseRole(text: string): Role {
  const role = roles.find((known) => known === text);
  if (role === undefined) throw new Problem('malformed', `role must be ${roles.join(', ')}`);
  return role;
}

async function write(storage: Storage, user: User): Promise<void> {
  await storage.insertRows('users', [
    {
      id: user.id,
      org: user.organizationId,
      email: user.email,
      email_lower: user.emailLower,
      name: user.name,
      role: user.role,
      password_hash: user.passwordHash,
      credential_version: user.credentialVersion,
      created_at: dateTimeText(user.createdMicros),
      disabled_at: dateTimeTextOrNull(user.disabledMicros),
      deleted_at: dateTimeTextOrNull(user.deletedMicros),
      version: user.version,
    },
  ]);
}

async function usersWhere(
  storage: Storage,
  condition: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<User[]> {
  const where = `${condition} AND deleted_at IS NULL ORDER BY email_lower, org`;
  const rows = await currentRows<UserRow>(storage, 'users', userColumns, where, parameters);
  return rows.map(readUser);
}

function withEmail(storage: Storage, organizationId: string, emailLower: string): Promise<User[]> {
  return usersWhere(storage, 'org = {org:UUID} AND email_lower = {email:String}', {
    org: organizationId,
    email: emailLower,
  });
}

/** The users of an organization, or of all of them. Throws Problem `not_found`. */
export async function listUsers(storage: Storage, organization?: string): Promise<User[]> {
  if (organization === undefined) return usersWhere(storage, 'true', {});
  const { id } = await findOrganization(storage, organization);
  return usersWhere(storage, 'org = {org:UUID}', { org: id });
}

/** The one user a reference means. Throws Problem `not_found`, or `malformed` where several match. */
export async function findUser(storage: Storage, reference: UserReference): Promise<User> {
  const emailLower = reference.user.toLowerCase();
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
  input: {
    readonly organization: string;
    readonly email: string;
    readonly name: string;
    readonly role: string;
    readonly password: string;
  },
  clock: Clock = systemClock,
): Promise<User> {
  const email = parseEmail(input.email);
  const name = displayName('name', input.name);
  const role = parseRole(input.role);
  const organization = await findOrganization(storage, input.organization);
  const passwordHash = await hashPassword(input.password);
  const now = clock();
  const user: User = {
    id: randomUUID(),
    organizationId: organization.id,
    email,
    emailLower: email.toLowerCase(),
    name,
    role,
    passwordHash,
    credentialVersion: 1,
    createdMicros: now,
    disabledMicros: undefined,
    deletedMicros: undefined,
    version: now,
  };
  const taken = new Problem('conflict', `${email} is a user of ${organization.slug} already`);
  if ((await withEmail(storage, organization.id, user.emailLower)).length > 0) throw taken;
  await write(storage, user);
  // As with slugs: of two that passed the check together, whoever looks last sees both and withdraws.
  if ((await withEmail(storage, organization.id, user.emailLower)).some((other) => other.id !== user.id)) {
    await write(storage, { ...user, deletedMicros: now, version: nextVersion(clock(), now) });
    throw taken;
  }
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
  const now = clock();
  const user = {
    ...current,
    disabledMicros: now,
    credentialVersion: current.credentialVersion + 1,
    version: nextVersion(now, current.version),
  };
  await write(storage, user);
  return user;
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
  const user = {
    ...current,
    passwordHash,
    credentialVersion: current.credentialVersion + 1,
    version: nextVersion(clock(), current.version),
  };
  await write(storage, user);
  return user;
}
