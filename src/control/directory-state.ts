import type { ApiKey } from './api-keys.ts';
import type { EndedSession } from './ended-sessions.ts';
import type { Organization } from './organizations.ts';
import type { RetentionPolicy } from './retention.ts';
import { defaultSignOn, type SignOnSettings } from './sign-on-settings.ts';
import type { User } from './users.ts';

/** Rows of the control tables, in any order and with older versions among them. */
export interface ControlRows {
  readonly organizations: readonly Organization[];
  readonly users: readonly User[];
  readonly apiKeys: readonly ApiKey[];
  readonly endedSessions: readonly EndedSession[];
  readonly policies: readonly RetentionPolicy[];
  readonly signOns: readonly SignOnSettings[];
}

/** Takes rows in any order and keeps the newest of every id; those that were not known in this version. */
function keepNewest<T extends { readonly id: string; readonly version: number }>(
  held: Map<string, T>,
  rows: readonly T[],
): T[] {
  return rows.filter((row) => {
    const before = held.get(row.id);
    if (before !== undefined && before.version >= row.version) return false;
    held.set(row.id, row);
    return true;
  });
}

function unlessDeleted<T extends { readonly deletedMicros: number | undefined }>(row?: T): T | undefined {
  return row?.deletedMicros === undefined ? row : undefined;
}

/** The newest row of every id that was applied so far, found by what requests know. */
export class DirectoryState {
  readonly #organizations = new Map<string, Organization>();
  readonly #users = new Map<string, User>();
  readonly #apiKeys = new Map<string, ApiKey>();
  readonly #endedSessions = new Map<string, EndedSession>();
  readonly #policies = new Map<string, RetentionPolicy>();
  readonly #signOns = new Map<string, SignOnSettings>();
  readonly #idsByEmail = new Map<string, ReadonlySet<string>>();
  #bySlug = new Map<string, Organization>();
  #version = 0;

  organizationById(id: string): Organization | undefined {
    return unlessDeleted(this.#organizations.get(id));
  }

  organizationBySlug(slug: string): Organization | undefined {
    return this.#bySlug.get(slug);
  }

  /** By slug. */
  organizations(): readonly Organization[] {
    return [...this.#bySlug.values()];
  }

  /** What is kept of an organization; undefined where no policy says so, and everything is. */
  policyOf(organization: string): RetentionPolicy | undefined {
    return this.#policies.get(organization);
  }

  apiKey(id: string): ApiKey | undefined {
    return this.#apiKeys.get(id);
  }

  userById(id: string): User | undefined {
    return unlessDeleted(this.#users.get(id));
  }

  /** Users of every organization with this address in lower case, disabled ones included. */
  usersByEmail(emailLower: string): readonly User[] {
    return [...(this.#idsByEmail.get(emailLower) ?? [])].flatMap((id) => this.userById(id) ?? []);
  }

  /** How people of an organization sign in. */
  signOnOf(organizationId: string): SignOnSettings {
    return this.#signOns.get(organizationId) ?? defaultSignOn(organizationId);
  }

  /** True for the `jti` of a session that was ended before it expired. */
  sessionEnded(id: string): boolean {
    return this.#endedSessions.has(id);
  }

  /** Another number whenever anything changed. */
  version(): number {
    return this.#version;
  }

  protected apply(rows: ControlRows, nowMicros: number): void {
    const organizations = keepNewest(this.#organizations, rows.organizations);
    const addressesBefore = new Map(rows.users.map(({ id }) => [id, this.#users.get(id)?.emailLower]));
    const users = keepNewest(this.#users, rows.users);
    const ended = rows.endedSessions.filter(({ expiresMicros }) => expiresMicros >= nowMicros);
    const changes = [
      organizations.length,
      users.length,
      keepNewest(this.#apiKeys, rows.apiKeys).length,
      keepNewest(this.#endedSessions, ended).length,
      keepNewest(this.#policies, rows.policies).length,
      keepNewest(this.#signOns, rows.signOns).length,
    ];
    if (organizations.length > 0) this.#indexSlugs();
    for (const { id, emailLower } of users) {
      // Only an erasure changes an address: the one before is forgotten, or would go on meaning this user.
      this.#forgetAddress(id, addressesBefore.get(id));
      this.#idsByEmail.set(emailLower, new Set([...(this.#idsByEmail.get(emailLower) ?? []), id]));
    }
    if (changes.some((count) => count > 0)) this.#version += 1;
    for (const [id, { expiresMicros }] of this.#endedSessions)
      if (expiresMicros < nowMicros) this.#endedSessions.delete(id);
  }

  #forgetAddress(id: string, emailLower = ''): void {
    const others = [...(this.#idsByEmail.get(emailLower) ?? [])].filter((other) => other !== id);
    if (others.length > 0) this.#idsByEmail.set(emailLower, new Set(others));
    else this.#idsByEmail.delete(emailLower);
  }

  #indexSlugs(): void {
    const live = [...this.#organizations.values()].filter((one) => one.deletedMicros === undefined);
    live.sort((a, b) => (a.slug < b.slug ? -1 : a.slug > b.slug ? 1 : a.createdMicros - b.createdMicros));
    this.#bySlug = new Map();
    for (const one of live) if (!this.#bySlug.has(one.slug)) this.#bySlug.set(one.slug, one);
  }
}
