import { limits } from './limits.ts';
import type { Storage } from '../storage/storage.ts';
import { type ApiKeyRow, apiKeyColumns, readApiKey } from './api-keys.ts';
import type { ControlRows } from './directory-state.ts';
import { type EndedSessionRow, endedSessionColumns, readEndedSession } from './ended-sessions.ts';
import { type OrganizationRow, organizationColumns, readOrganization } from './organizations.ts';
import type { ControlTable } from './rows.ts';
import { readUser, type UserRow, userColumns } from './users.ts';

type Newest = Readonly<Record<'now' | ControlTable, string | number>>;

/** The engine's own time and, of every table, the time of its last write; one cheap question instead of four. */
const newestQuery = `SELECT toUnixTimestamp64Micro(now64(6)) AS now,
  (SELECT toUnixTimestamp64Micro(max(written)) FROM organizations) AS organizations,
  (SELECT toUnixTimestamp64Micro(max(written)) FROM users) AS users,
  (SELECT toUnixTimestamp64Micro(max(written)) FROM api_keys) AS api_keys,
  (SELECT toUnixTimestamp64Micro(max(written)) FROM ended_sessions) AS ended_sessions`;

const options = { timeoutMs: limits.controlRefreshMsMax } as const;

/**
 * What was written at or after a moment of the engine's clock, and that clock now. Older versions of a row may come
 * along: the state keeps the newest. Everything is read before anything is applied, so a key never appears before
 * its organization.
 */
export async function readWritten(
  storage: Storage,
  sinceMicros: number,
): Promise<{ rows: ControlRows; engineMicros: number }> {
  const newest = (await storage.rows<Newest>(newestQuery, {}, options))[0];
  if (newest === undefined) throw new Error('the engine did not tell its time');

  /** Page by page in the order of the key, so that a large table never needs one large answer. */
  async function written<Row extends { readonly id: string }>(
    table: ControlTable,
    columns: string,
  ): Promise<Row[]> {
    const rows: Row[] = [];
    if (Number(newest?.[table]) < sinceMicros) return rows;
    const type = table === 'organizations' || table === 'users' ? 'UUID' : 'String';
    for (;;) {
      const after = rows.at(-1)?.id;
      const further = after === undefined ? '' : `AND id > {after:${type}}`;
      const page = await storage.rows<Row>(
        `SELECT ${columns} FROM ${table} FINAL WHERE written >= fromUnixTimestamp64Micro({since:Int64}) ${further}
         ORDER BY id LIMIT ${limits.controlPageRowsMax}`,
        { since: sinceMicros, ...(after !== undefined && { after }) },
        options,
      );
      rows.push(...page);
      if (page.length < limits.controlPageRowsMax) return rows;
    }
  }

  const [organizations, users, apiKeys, endedSessions] = await Promise.all([
    written<OrganizationRow>('organizations', organizationColumns),
    written<UserRow>('users', userColumns),
    written<ApiKeyRow>('api_keys', apiKeyColumns),
    written<EndedSessionRow>('ended_sessions', endedSessionColumns),
  ]);
  const rows = {
    organizations: organizations.map(readOrganization),
    users: users.map(readUser),
    apiKeys: apiKeys.map(readApiKey),
    endedSessions: endedSessions.map(readEndedSession),
  };
  return { rows, engineMicros: Number(newest.now) };
}
