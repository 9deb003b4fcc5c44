import type { Rate } from '../base/time/rates.ts';

/** `admin`: everything; `auditor`: reads and exports events; `member`: own receipts only. */
export type Role = 'admin' | 'auditor' | 'member';

/** `scim`: the organization's users, for its directory (docs/sign-on.md). */
export type Scope = 'read' | 'write' | 'scim';

/** Times of all records are Unix microseconds. */
export interface Organization {
  /** UUID in lower case. */
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  /** Days; 0: for ever; undefined: the service's default. */
  readonly retentionDays: number | undefined;
  /** Whether users see receipts of their transfers (contract: Read, receipts). */
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
  /** A session with another number has ended (contract: Sessions). */
  readonly credentialVersion: number;
  readonly createdMicros: number;
  readonly changedMicros: number;
  readonly disabledMicros: number | undefined;
}

export interface UserIdentity {
  readonly id: string;
  readonly organizationId: string;
  /** The provider; both are empty without one. */
  readonly issuer: string;
  readonly subject: string;
  readonly linkedMicros: number | undefined;
  /** Name in the SCIM directory, or empty. */
  readonly externalId: string;
}

/** Sign-on of an organization (docs/sign-on.md). */
export interface SignOnSettings {
  readonly id: string;
  /** `service`: the configuration's connection, if it has one. */
  readonly provider: 'own' | 'service' | 'off';
  readonly issuer: string;
  readonly clientId: string;
  /** Sealed; empty without a secret. */
  readonly clientSecret: string;
  /** Separated by spaces. */
  readonly scopes: string;
  readonly trustEmail: boolean;
  /** Whether a verified address finds an unlinked user. */
  readonly linkEmail: boolean;
  readonly createUsers: boolean;
  /** Empty: roles are set here. */
  readonly roleClaim: string;
  readonly adminValues: readonly string[];
  readonly auditorValues: readonly string[];
  readonly memberValues: readonly string[];
  /** Undefined: users without any of the values are refused. */
  readonly defaultRole: Role | undefined;
  readonly passwords: boolean;
  /** Identities linked earlier may be linked again, by a verified address. */
  readonly connectedMicros: number;
  /** First sign-in of an administrator by this connection. */
  readonly provenMicros: number | undefined;
}

/** A credential of a program; only digests of it are stored. */
export interface ApiKey {
  readonly id: string;
  /** Undefined: may write for all organizations. */
  readonly organizationId: string | undefined;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** SHA-256 in hex. */
  readonly digest: string;
  /** The one before the last rotation, or empty; valid until `previousUntilMicros`. */
  readonly previousDigest: string;
  readonly previousUntilMicros: number | undefined;
  /** Undefined: the service's limit. */
  readonly rateLimit: Rate | undefined;
  readonly createdMicros: number;
  readonly expiresMicros: number | undefined;
  readonly revokedMicros: number | undefined;
}

/** Ended before it expired. */
export interface EndedSession {
  /** Claim `jti`. */
  readonly id: string;
  readonly expiresMicros: number;
}

/** The retention in force; without one everything is kept. It follows the organization's setting once no event would go, or once confirmed. */
export interface RetentionPolicy {
  readonly id: string;
  /** Undefined: for ever. */
  readonly days: number | undefined;
  /** Defined: nothing is removed. */
  readonly heldMicros: number | undefined;
  readonly holdReason: string;
  /** Place of its last change in the journal, which events name; 0: none. */
  readonly version: number;
}

/** The record of a deleted organization. */
export interface Deletion {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  /** Name of the operator. */
  readonly operator: string;
  readonly events: number;
  readonly users: number;
  readonly apiKeys: number;
  /** A signed note, or empty. */
  readonly checkpoint: string;
  readonly startedMicros: number;
  readonly finishedMicros: number | undefined;
}

/** One erasure of a person from stored events. */
export interface StoredErasure {
  readonly id: string;
  readonly organizationId: string;
  readonly pseudonym: string;
  /** Name of the operator. */
  readonly operator: string;
  readonly events: number;
  /** SHA-256 of the list of events, in hex (tlog/erasure.ts). */
  readonly digest: string;
  /** The user erased with the events, or the nil UUID. */
  readonly account: string;
  /** Place in the journal: earlier texts of the account are erased. */
  readonly place: number;
  readonly startedMicros: number;
  readonly finishedMicros: number | undefined;
}

/** Damage of the journal that an operator has accepted. */
export interface AcceptedDamage {
  readonly id: string;
  readonly operator: string;
}

/** The events of a row that a command wrote are in a later row: its server hands them to ingest. */
export interface HandedEvents {
  /** The row's place. */
  readonly id: string;
  readonly organizationId: string | undefined;
}

/** A key whose secret its caller may not have received. */
export interface UnseenKey {
  readonly id: string;
  readonly digest: string;
}

/** A call, to recognize its repeat. */
export interface StoredCall {
  readonly id: string;
  readonly organizationId: string | undefined;
  readonly request: string;
  readonly micros: number;
  /** The first answer; undefined if it had a secret. */
  readonly result?: unknown;
  readonly unseen?: UnseenKey | undefined;
}

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
  readonly handed_events: HandedEvents;
  readonly call: StoredCall;
}

/** The last one of a kind and id counts. */
export type Part = { [Kind in keyof Records]: readonly [Kind, Records[Kind]] }[keyof Records];
