import { Problem } from '../base/errors/problem.ts';
import { changeOfLink, changeOfUser } from './change-events.ts';
import type { Decide } from './decision.ts';
import { isPlainEmail } from './email-address.ts';
import { cutName } from './names.ts';
import { noPassword } from './passwords.ts';
import type { Part, Role, SignOnSettings, User } from './records.ts';
import type { ControlState } from './state.ts';
import { createUser, findByEmail, keepAnAdmin, type NewUser } from './users.ts';

/** A person as the provider signed it. */
export interface Identity {
  /** With the issuer unique and permanent. */
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | undefined;
  /** Undefined if not stated. */
  readonly emailVerified: boolean | undefined;
  readonly name: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The page has words for each. */
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

/** `user`: if known. */
export class SignOnRefused extends Problem {
  readonly reason: SignOnRefusal;
  readonly user: User | undefined;

  constructor(reason: SignOnRefusal, user?: User) {
    super('forbidden', refusalWords[reason], { members: { sign_on: reason } });
    this.reason = reason;
    this.user = user;
  }
}

export interface SignedOn {
  readonly user: User;
  readonly created: boolean;
  /** Before a change of the role. */
  readonly roleBefore: User | undefined;
  readonly linked: boolean;
}

const claimCharactersMax = 200;

/** A text, a number or a list of these; others are ignored. */
function valuesOfClaim(claim: unknown): ReadonlySet<string> {
  const list = Array.isArray(claim) ? claim : [claim];
  const texts = list.filter((one) => typeof one === 'string' || typeof one === 'number').map(String);
  return new Set(texts.filter(({ length }) => length <= claimCharactersMax));
}

/** Dots also find members of objects, such as `realm_access.roles`. */
function claimOf(claims: Identity['claims'], name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

/** The highest role with a value among the claims, else the default. `unchanged` if roles are set here; undefined: no role. */
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
 * Throws SignOnRefused, and Problem `malformed`, `conflict`.
 */
export function signOn(settings: SignOnSettings, identity: Identity): Decide<SignedOn> {
  const role = roleOfClaims(settings, identity.claims);
  return (state, moment) => {
    const known = state.userBySubject(settings.id, identity.issuer, identity.subject);
    const user = known ?? userByAddress(state, settings, identity);
    const linked = (one: User): Part => [
      'identity',
      {
        ...state.identityOf(one),
        issuer: identity.issuer,
        subject: identity.subject,
        linkedMicros: moment.micros,
      },
    ];
    if (user === undefined) {
      const made = create(settings, identity, role)(state, moment);
      const result = { user: made.result, created: true, roleBefore: undefined, linked: true };
      return { ...made, parts: [...made.parts, linked(made.result)], result };
    }
    if (user.disabledMicros !== undefined) throw new SignOnRefused('disabled', user);
    if (role === undefined) throw new SignOnRefused('role', user);
    const now =
      role === 'unchanged' || role === user.role ? user : { ...user, changedMicros: moment.micros, role };
    if (now !== user) keepAdmin(state, user, now);
    return {
      parts: [
        ...(now === user ? [] : [['user', now] as const]),
        ...(known === undefined ? [linked(user)] : []),
      ],
      changes: [
        ...(known === undefined ? [changeOfLink(now, identity)] : []),
        ...(now === user ? [] : [changeOfUser(now, 'roleChanged', user)]),
      ],
      result: {
        user: now,
        created: false,
        roleBefore: now === user ? undefined : user,
        linked: known === undefined,
      },
    };
  };
}

function create(
  settings: SignOnSettings,
  identity: Identity,
  role: Role | 'unchanged' | undefined,
): Decide<User> {
  if (!settings.createUsers) throw new SignOnRefused('unknown');
  const newRole = role === 'unchanged' ? (settings.defaultRole ?? 'member') : role;
  if (newRole === undefined) throw new SignOnRefused('role');
  return createUser({ ...facts(identity, newRole), passwordHash: noPassword, organization: settings.id });
}

function isVerified({ trustEmail }: SignOnSettings, { emailVerified }: Identity): boolean {
  return emailVerified === true || (emailVerified === undefined && trustEmail);
}

/** First time, or first time by the current connection. */
function userByAddress(state: ControlState, settings: SignOnSettings, identity: Identity): User | undefined {
  const { email } = identity;
  if (email === undefined || !isPlainEmail(email) || !isVerified(settings, identity))
    throw new SignOnRefused('unverified');
  const user = findByEmail(state, settings.id, email);
  if (user === undefined) return undefined;
  const { issuer, linkedMicros = 0 } = state.identityOf(user);
  // A provider may have given the address to another person.
  const isAnothers = issuer === identity.issuer && linkedMicros >= settings.connectedMicros;
  if (isAnothers) throw new SignOnRefused('linked', user);
  if (!settings.linkEmail) throw new SignOnRefused('unlinked', user);
  return user;
}

function facts({ email = '', name = '' }: Identity, role: Role): Omit<NewUser, 'passwordHash'> {
  const shown = cutName(name.replaceAll(/[\p{Cc}\p{Cs}]/gu, '').trim());
  return { email, name: shown === '' ? email : shown, role };
}

function keepAdmin(state: ControlState, before: User, now: User): void {
  try {
    keepAnAdmin(state, before, now);
  } catch (error) {
    throw error instanceof Problem && error.code === 'conflict'
      ? new SignOnRefused('last_admin', before)
      : error;
  }
}
