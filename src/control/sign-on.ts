import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/time/clock.ts';
import { Problem } from '../base/errors/problem.ts';
import type { Storage } from '../storage/storage.ts';
import { isPlainEmail } from './email-address.ts';
import { cutName } from './names.ts';
import type { SignOnSettings } from './sign-on-settings.ts';
import { identityOfSubject, identityOfUser, identityTable } from './identities.ts';
import { changeRole, findByEmail, findUser, type NewUser, type Role, type User } from './users.ts';

/** Whom a provider vouches for: what it has signed, and what it says of that person. */
export interface Identity {
  /** Together with the issuer the one thing that never changes and is never given to another person. */
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | undefined;
  /** Undefined where the provider does not say. */
  readonly emailVerified: boolean | undefined;
  readonly name: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Why a person whom the provider vouches for is not signed in; the page has words for each. */
export type SignOnRefusal =
  | 'unverified'
  | 'unknown'
  | 'disabled'
  | 'role'
  | 'last_admin'
  | 'linked'
  | 'unlinked';

const refusalWords: Readonly<Record<SignOnRefusal, string>> = {
  unverified: 'The sign-on of your organization does not vouch for your e-mail address.',
  unknown: 'You are not a user of this organization: ask its administrator.',
  disabled: 'Your access has been ended: ask the administrator of the organization.',
  role: 'Nothing that the sign-on of your organization says of you gives you a role here: ask its administrator.',
  last_admin:
    'The sign-on of your organization does not make you an administrator any more, and you are the last one: let another one sign in first.',
  linked:
    'Your e-mail address belongs to somebody else in the sign-on of your organization: ask its administrator.',
  unlinked:
    'Your organization does not let its sign-on take over a user who was there before: ask its administrator.',
};

/** `user`: whom it is about, where that is known. */
export class SignOnRefused extends Problem {
  readonly reason: SignOnRefusal;
  readonly user: User | undefined;

  constructor(reason: SignOnRefusal, user?: User) {
    super('forbidden', refusalWords[reason], { members: { sign_on: reason } });
    this.reason = reason;
    this.user = user;
  }
}

/** What a sign-in by a provider has changed of the user. */
export interface SignedOn {
  readonly user: User;
  readonly created: boolean;
  /** As the user was before, where the role is another one now. */
  readonly roleBefore: User | undefined;
  readonly linked: boolean;
}

const claimCharactersMax = 200;

/** Claims are a text, a number or a list of these; anything else says nothing. */
function valuesOfClaim(claim: unknown): ReadonlySet<string> {
  const list = Array.isArray(claim) ? claim : [claim];
  const texts = list.filter((one) => typeof one === 'string' || typeof one === 'number').map(String);
  return new Set(texts.filter(({ length }) => length <= claimCharactersMax));
}

/** A claim by its name; a name with dots also finds a member of objects, such as `realm_access.roles`. */
function claimOf(claims: Identity['claims'], name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

/**
 * The role that the claims give: the highest one with a value among them, else the default. `unchanged` where roles are not
 * the provider's; undefined where it gives none.
 */
function roleOfClaims(settings: SignOnSettings, claims: Identity['claims']): Role | 'unchanged' | undefined {
  if (settings.roleClaim === '') return 'unchanged';
  const values = valuesOfClaim(claimOf(claims, settings.roleClaim));
  const byRole = [
    ['admin', settings.adminValues],
    ['auditor', settings.auditorValues],
    ['member', settings.memberValues],
  ] as const;
  return byRole.find(([, wanted]) => wanted.some((value) => values.has(value)))?.[0] ?? settings.defaultRole;
}

/** What the decision needs of the users of the organization. */
interface Users {
  readonly storage: Storage;
  readonly clock: Clock;
  /** Throws Problem `conflict`, with the user as before, where the change would leave nobody who is an administrator. */
  keepingAnAdmin(user: User, change: () => Promise<User>): Promise<User>;
  create(input: NewUser): Promise<User>;
}

/**
 * Who an identity is in an organization (docs/sign-on.md), with the role that its claims give:
 *
 *     issuer and subject linked to a user? ─yes────────────────────────┐
 *     address verified? ─no─▶ unverified                               │
 *     a user with it? ─yes─▶ linked to another subject? ─yes─▶ linked  │
 *                      │     no─▶ may be linked? ─no─▶ unlinked        │
 *                      │          yes─▶ link it ───────────────────────┴─▶ disabled? role? ─▶ signed on
 *                      no──▶ create? ─no─▶ unknown
 *
 * Run it alone of its organization. Throws SignOnRefused, and then nothing has been changed.
 */
export async function signOn(users: Users, settings: SignOnSettings, identity: Identity): Promise<SignedOn> {
  const role = roleOfClaims(settings, identity.claims);
  const known = await userBySubject(users.storage, settings, identity);
  const user = known ?? (await userByAddress(users.storage, settings, identity));
  if (user === undefined) {
    if (!settings.createUsers) throw new SignOnRefused('unknown');
    const newRole = role === 'unchanged' ? (settings.defaultRole ?? 'member') : role;
    if (newRole === undefined) throw new SignOnRefused('role');
    const created = await users.create(newUser(identity, newRole));
    await link(users, created, identity);
    return { user: created, created: true, roleBefore: undefined, linked: true };
  }
  if (user.disabledMicros !== undefined) throw new SignOnRefused('disabled', user);
  if (role === undefined) throw new SignOnRefused('role', user);
  const hasOtherRole = role !== 'unchanged' && role !== user.role;
  const now = hasOtherRole ? await withRole(users, user, role) : user;
  if (known === undefined) await link(users, user, identity);
  return {
    user: now,
    created: false,
    roleBefore: hasOtherRole ? user : undefined,
    linked: known === undefined,
  };
}

/** From now on the user is known by issuer and subject. */
async function link({ storage, clock }: Users, user: User, { issuer, subject }: Identity): Promise<void> {
  const now = clock();
  const change = { issuer, subject, linkedMicros: now };
  await identityTable.update(storage, await identityOfUser(storage, user), change, now);
}

/** A user who has signed in this way before. */
async function userBySubject(
  storage: Storage,
  { id }: SignOnSettings,
  identity: Identity,
): Promise<User | undefined> {
  const known = await identityOfSubject(storage, id, identity);
  return known && findUser(storage, { user: known.id, organization: id });
}

function isVerified({ trustEmail }: SignOnSettings, { emailVerified }: Identity): boolean {
  return emailVerified === true || (emailVerified === undefined && trustEmail);
}

/** A user who has not signed in this way before, or not by the connection as it is now. */
async function userByAddress(
  storage: Storage,
  settings: SignOnSettings,
  identity: Identity,
): Promise<User | undefined> {
  const { email } = identity;
  if (email === undefined || !isPlainEmail(email) || !isVerified(settings, identity))
    throw new SignOnRefused('unverified');
  const user = await findByEmail(storage, settings.id, email);
  if (user === undefined) return undefined;
  const { issuer, linkedMicros = 0 } = await identityOfUser(storage, user);
  // An address that the provider has given to somebody else since does not bring that person another's access.
  const isAnothers = issuer === identity.issuer && linkedMicros >= settings.connectedMicros;
  if (isAnothers) throw new SignOnRefused('linked', user);
  if (!settings.linkEmail) throw new SignOnRefused('unlinked', user);
  return user;
}

function newUser({ email = '', name = '' }: Identity, role: Role): NewUser {
  const shown = cutName(name.replaceAll(/[\p{Cc}\p{Cs}]/gu, '').trim());
  return {
    email,
    name: shown === '' ? email : shown,
    role,
    // Nobody knows it.
    password: randomBytes(32).toString('base64url'),
  };
}

async function withRole(users: Users, user: User, role: Role): Promise<User> {
  const reference = { user: user.id, organization: user.organizationId };
  try {
    return await users.keepingAnAdmin(user, () => changeRole(users.storage, reference, role, users.clock));
  } catch (error) {
    throw error instanceof Problem && error.code === 'conflict'
      ? new SignOnRefused('last_admin', user)
      : error;
  }
}
