import type { Rate } from '../base/time/rates.ts';

/** `admin`: everything in its organization; `auditor`: reads and exports events; `member`: own receipts only. */
export type Role = 'admin' | 'auditor' | 'member';

/** What a key may do. `scim`: users of the organization, for its directory (docs/sign-on.md). */
export type Scope = 'read' | 'write' | 'scim';

/** A tenant. Times of all records are Unix microseconds. */
export interface Organization {
  /** UUID in lower case. */
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  /** Days events are kept; 0: for ever; undefined: as the service's configuration says. */
  readonly retentionDays: number | undefined;
  /** Who sees receipts of transfers: users their own, or nobody (contract: Read, receipts). */
  readonly receipts: 'own' | 'off';
  readonly createdMicros: number;
  readonly deletedMicros: number | undefined;
}

export interface User {
  /** UUID in lower case. */
  readonly id: string;
  readonly organizationId: string;
  readonly email: string;
  /** See `foldEmail`. */
  readonly emailLower: string;
  readonly name: string;
  readonly role: Role;
  /** argon2id */
  readonly passwordHash: string;
  /** Sessions carry it; one that carries another number has ended (contract: Sessions). */
  readonly credentialVersion: number;
  readonly createdMicros: number;
  readonly changedMicros: number;
  readonly disabledMicros: number | undefined;
}

/** By what a user is known elsewhere. */
export interface UserIdentity {
  /** The user's id. */
  readonly id: string;
  readonly organizationId: string;
  /** The provider that the user signs in by; empty without one, as is the user's name there. */
  readonly issuer: string;
  readonly subject: string;
  readonly linkedMicros: number | undefined;
  /** The user's name in the directory that provisions it (SCIM), or empty. */
  readonly externalId: string;
}

/** How people of an organization sign in (docs/sign-on.md). */
export interface SignOnSettings {
  /** The organization's id. */
  readonly id: string;
  /** `own`: one of the organization; `service`: the one of the configuration, where there is one; `off`: none. */
  readonly provider: 'own' | 'service' | 'off';
  readonly issuer: string;
  readonly clientId: string;
  /** Sealed; empty: a client without a secret. */
  readonly clientSecret: string;
  /** Separated by spaces. */
  readonly scopes: string;
  readonly trustEmail: boolean;
  /** Whether a verified address finds a user who is not linked to an identity yet. */
  readonly linkEmail: boolean;
  readonly createUsers: boolean;
  /** Empty: roles are what they are here. */
  readonly roleClaim: string;
  readonly adminValues: readonly string[];
  readonly auditorValues: readonly string[];
  readonly memberValues: readonly string[];
  /** Undefined: who has none of the values is refused. */
  readonly defaultRole: Role | undefined;
  readonly passwords: boolean;
  /** Identities that were linked before this may be linked anew, by a verified address. */
  readonly connectedMicros: number;
  /** When an administrator first signed in by the connection as it is. */
  readonly provenMicros: number | undefined;
}

/** A credential of a program. The key itself is nowhere: only digests are stored. */
export interface ApiKey {
  readonly id: string;
  /** Undefined: a key of all organizations, which may only write. */
  readonly organizationId: string | undefined;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** SHA-256 of the key, hexadecimal. */
  readonly digest: string;
  /** SHA-256 of the key before the last rotation, or empty; good until `previousUntilMicros`. */
  readonly previousDigest: string;
  readonly previousUntilMicros: number | undefined;
  /** Undefined: the service's own limit. */
  readonly rateLimit: Rate | undefined;
  readonly createdMicros: number;
  readonly expiresMicros: number | undefined;
  readonly revokedMicros: number | undefined;
}

/** A session that was ended before it expired, such as by a logout. */
export interface EndedSession {
  /** Claim `jti`. */
  readonly id: string;
  readonly expiresMicros: number;
}

/**
 * What is kept of an organization: of one without a policy, everything. The setting of an organization says what its
 * administrators want; this is what holds, and follows the setting where nothing would go, or once somebody has confirmed how
 * much does.
 */
export interface RetentionPolicy {
  /** The organization's id. */
  readonly id: string;
  /** Undefined: for ever. */
  readonly days: number | undefined;
  /** Not undefined: nothing is removed, whatever `days` says. */
  readonly heldMicros: number | undefined;
  readonly holdReason: string;
  /** The place in the journal of its last change, by which events name the policy; 0: none. */
  readonly version: number;
}

/** What is left of an organization that was deleted: what there was of it, and the last checkpoint that was signed. */
export interface Deletion {
  /** The organization's id. */
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  /** Who deleted it, as far as the operating system knew. */
  readonly operator: string;
  readonly events: number;
  readonly users: number;
  readonly apiKeys: number;
  /** A signed note; empty where there was none. */
  readonly checkpoint: string;
  readonly startedMicros: number;
  readonly finishedMicros: number | undefined;
}

/** A person who was taken out of stored events: one for each time. */
export interface StoredErasure {
  readonly id: string;
  readonly organizationId: string;
  readonly pseudonym: string;
  /** Who did it, as far as the operating system knew. */
  readonly operator: string;
  readonly events: number;
  /** SHA-256 over the list of its events, in hex (tlog/erasure.ts). */
  readonly digest: string;
  /** The id of the user who was erased with the events; the nil UUID where there is none. */
  readonly account: string;
  /** Its place in the journal: texts of the account before it are erased. */
  readonly place: number;
  readonly startedMicros: number;
  readonly finishedMicros: number | undefined;
}

/** Damage of the journal that an operator has looked at: what is known counts again. */
export interface AcceptedDamage {
  /** Its place. */
  readonly id: string;
  readonly operator: string;
}

/** A key with a secret that its caller may not have received. */
export interface UnseenKey {
  readonly id: string;
  /** Of the secret. */
  readonly digest: string;
}

/** A call that changed something, by which its repeat is known. */
export interface StoredCall {
  readonly id: string;
  readonly organizationId: string | undefined;
  /** Digest of the request. */
  readonly request: string;
  readonly micros: number;
  /** The first answer; undefined also where that had a secret. */
  readonly result?: unknown;
  readonly unseen?: UnseenKey | undefined;
}

/** The kinds of records. */
export interface Records {
  readonly organization: Organization;
  readonly user: User;
  readonly identity: UserIdentity;
  readonly sign_on: SignOnSettings;
  readonly api_key: ApiKey;
  readonly ended_session: EndedSession;
  readonly policy: RetentionPolicy;
  readonly deletion: Deletion;
  readonly erasure: StoredErasure;
  readonly accepted_damage: AcceptedDamage;
  readonly call: StoredCall;
}

/** What a record is from now on; of a kind and an id the last one counts. */
export type Part = { [Kind in keyof Records]: readonly [Kind, Records[Kind]] }[keyof Records];
