import type { ApiKey } from './api-keys.ts';
import type { EndedSession } from './ended-sessions.ts';
import type { Organization } from './organizations.ts';
import type { User } from './users.ts';

/** Rows of the control tables, in any order and with older versions among them. */
export interface ControlRows {
  readonly organizations: readonly Organization[];
  readonly users: readonly User[];
  readonly apiKeys: readonly ApiKey[];
  readonly endedSessions: readonly EndedSession[];
}

interface Versioned {
  readonly id: string;
  readonly version: number;
}

/** Takes rows in any order and keeps the newest of every id; the changed pairs go to `onChange`. */
function keepNewest<T extends Versioned>(
  held: Map<string, T>,
  rows: readonly T[],
  onChange: (before: T | undefined, now: T) => void = () => {},
): boolean {
  let changed = false;
  for (const row of rows) {
    const before = held.get(row.id);
    if (before !== undefined && before.version >= row.version) continue;
    held.set(row.id, row);
    onChange(before, row);
    changed = true;
  }
  return changed;
}

/** The newest row of every id that was applied so far, found by what requests know. */
export function createDirectoryState() {
  const organizations = new Map<string, Organization>();
  const users = new Map<string, User>();
  const apiKeys = new Map<string, ApiKey>();
  const endedSessions = new Map<string, EndedSession>();
  const idsByEmail = new Map<string, readonly string[]>();
  let bySlug = new Map<string, Organization>();
  let version = 0;

  function indexSlugs(): void {
    const live = [...organizations.values()].filter((one) => one.deletedMicros === undefined);
    live.sort((a, b) => (a.slug < b.slug ? -1 : a.slug > b.slug ? 1 : a.createdMicros - b.createdMicros));
    bySlug = new Map();
    for (const one of live) if (!bySlug.has(one.slug)) bySlug.set(one.slug, one);
  }

  function indexUser(before: User | undefined, now: User): void {
    // An address never changes, so a user is entered once; deleted ones are left out on the way to the caller.
    if (before !== undefined) return;
    idsByEmail.set(now.emailLower, [...(idsByEmail.get(now.emailLower) ?? []), now.id]);
  }

  function forgetExpired(nowMicros: number): void {
    for (const [id, session] of endedSessions)
      if (session.expiresMicros < nowMicros) endedSessions.delete(id);
  }

  const organizationById = (id: string): Organization | undefined => {
    const found = organizations.get(id);
    return found?.deletedMicros === undefined ? found : undefined;
  };

  const userById = (id: string): User | undefined => {
    const found = users.get(id);
    return found?.deletedMicros === undefined ? found : undefined;
  };

  const usersByEmail = (emailLower: string): readonly User[] =>
    (idsByEmail.get(emailLower) ?? []).flatMap((id) => userById(id) ?? []);

  const apply = (rows: ControlRows, nowMicros: number): void => {
    const organizationsChanged = keepNewest(organizations, rows.organizations);
    const changed = [
      organizationsChanged,
      keepNewest(users, rows.users, indexUser),
      keepNewest(apiKeys, rows.apiKeys),
      keepNewest(
        endedSessions,
        rows.endedSessions.filter((session) => session.expiresMicros >= nowMicros),
      ),
    ];
    if (organizationsChanged) indexSlugs();
    if (changed.includes(true)) version += 1;
    forgetExpired(nowMicros);
  };

  return {
    apply,
    organizationById,
    organizationBySlug: (slug: string) => bySlug.get(slug),
    organizations: () => [...bySlug.values()],
    apiKey: (id: string) => apiKeys.get(id),
    userById,
    usersByEmail,
    sessionEnded: (id: string) => endedSessions.has(id),
    version: () => version,
  };
}
