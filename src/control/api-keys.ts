import { type Clock, systemClock } from '../base/time/clock.ts';
import { parseDurationMs } from '../base/time/units.ts';
import { Problem } from '../base/errors/problem.ts';
import { formatRate, parseRate, type Rate } from '../base/time/rates.ts';
import type { Storage } from '../storage/storage.ts';
import { ControlTable, field, optionalTime, type RowOf, time, version } from './control-table.ts';
import { displayName } from './names.ts';
import { keyDigest, newKeyId, newKeyText } from './key-text.ts';
import { findOrganization, type Organization } from './organizations.ts';

/** `scim`: users of the organization, for its directory (docs/sign-on.md). */
export type Scope = 'read' | 'write' | 'scim';

const nilUuid = '00000000-0000-0000-0000-000000000000';
const scopes: readonly Scope[] = ['read', 'write', 'scim'];

export const apiKeyTable = new ControlTable('api_keys', 'String', {
  id: field<string>('id'),
  /** Undefined: a key of all organizations, which may only write. */
  organizationId: {
    select: 'org, all_organizations',
    read: ({ org, all_organizations: all }): string | undefined =>
      all === true ? undefined : (org as string),
    write: (id: string | undefined) => ({ org: id ?? nilUuid, all_organizations: id === undefined }),
  },
  name: field<string>('name'),
  scopes: field<readonly Scope[]>('scopes', (given: readonly string[]) =>
    scopes.filter((scope) => given.includes(scope)),
  ),
  /** SHA-256 of the key, hexadecimal. */
  digest: field<string>('secret_sha256'),
  /** SHA-256 of the key before the last rotation, or empty; good until `previousUntilMicros`. */
  previousDigest: field<string>('previous_secret_sha256'),
  previousUntilMicros: optionalTime('previous_valid_until'),
  /** Undefined: the service's own limit. */
  rateLimit: field<Rate | undefined>('rate_limit', parseRate, (rate) => (rate ? formatRate(rate) : '')),
  createdMicros: time('created_at'),
  expiresMicros: optionalTime('expires_at'),
  revokedMicros: optionalTime('revoked_at'),
  version: version(),
});

/** A credential of a program. The key itself is nowhere: only digests are stored. */
export type ApiKey = RowOf<typeof apiKeyTable>;

/** What a new key may do, in texts as people give them. */
export interface NewApiKey {
  /** Separated by commas. */
  readonly scopes: string;
  readonly name?: string | undefined;
  /** A duration from now. */
  readonly expires?: string | undefined;
  /** `requests/window` */
  readonly rateLimit?: string | undefined;
}

/** A slug or id, or every organization. */
interface KeyOwner {
  readonly organization?: string | undefined;
  readonly allOrganizations?: boolean | undefined;
}

/** A key at the only moment when its text is known. */
export interface IssuedKey {
  readonly apiKey: ApiKey;
  readonly text: string;
}

const graceDefault = '24h';
const dayMs = 86_400_000;
const expiresMsMax = 36_500 * dayMs;
const graceMsMax = 365 * dayMs;

function parseScopes(text: string): Scope[] {
  const given = text.split(',').map((scope) => scope.trim());
  const known = scopes.filter((scope) => given.includes(scope));
  if (known.length > 0 && given.every((scope) => known.some((one) => one === scope))) return known;
  throw new Problem(
    'malformed',
    'scopes must be read, write and scim, or some of these, separated by commas',
  );
}

function parseExpires(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms > 0 && ms <= expiresMsMax) return ms;
  throw new Problem(
    'malformed',
    `expires must be a duration such as 90d, from 1ms to ${expiresMsMax / dayMs}d`,
  );
}

/** Milliseconds of a grace period, 0 allowed with or without a unit. */
function parseGrace(text: string): number {
  const ms = text === '0' ? 0 : parseDurationMs(text);
  if (ms !== undefined && ms <= graceMsMax) return ms;
  throw new Problem('malformed', `grace must be a duration such as 24h, from 0 to ${graceMsMax / dayMs}d`);
}

function parseLimit(text: string): Rate {
  const rate = parseRate(text);
  if (rate === undefined)
    throw new Problem('malformed', 'rate limit must be requests/window such as 300/15s');
  return rate;
}

/** The keys of an organization, or every key, oldest first. Throws Problem `not_found`. */
export async function listApiKeys(storage: Storage, organization?: string): Promise<ApiKey[]> {
  const order = 'ORDER BY created_at, id';
  if (organization === undefined) return apiKeyTable.select(storage, `true ${order}`);
  const { id } = await findOrganization(storage, organization);
  return apiKeyTable.select(storage, `org = {org:UUID} AND NOT all_organizations ${order}`, { org: id });
}

/** The key of an id. Throws Problem `not_found`. */
export async function findApiKey(storage: Storage, id: string): Promise<ApiKey> {
  const [key] = await apiKeyTable.select(storage, 'id = {id:String}', { id });
  if (key === undefined) throw new Problem('not_found', `no API key ${JSON.stringify(id)}`);
  return key;
}

async function ownerOf(
  storage: Storage,
  input: KeyOwner,
  given: readonly Scope[],
): Promise<Organization | undefined> {
  const all = input.allOrganizations === true;
  if (all === (input.organization !== undefined)) {
    throw new Problem('malformed', 'a key belongs either to one organization or to all of them');
  }
  if (all && given.some((scope) => scope !== 'write')) {
    throw new Problem('malformed', 'a key of all organizations may only have the scope write');
  }
  return input.organization === undefined ? undefined : findOrganization(storage, input.organization);
}

/** Makes a key (contract: Credentials). Throws Problem `malformed`, or `not_found` for the organization. */
export async function createApiKey(
  storage: Storage,
  input: NewApiKey & KeyOwner,
  clock: Clock = systemClock,
): Promise<IssuedKey> {
  const given = parseScopes(input.scopes);
  const name = input.name === undefined ? '' : displayName(input.name);
  const expiresMs = input.expires === undefined ? undefined : parseExpires(input.expires);
  const rateLimit = input.rateLimit === undefined ? undefined : parseLimit(input.rateLimit);
  const owner = await ownerOf(storage, input, given);
  const id = newKeyId();
  const text = newKeyText(id);
  const now = clock();
  const apiKey: ApiKey = {
    id,
    organizationId: owner?.id,
    name,
    scopes: given,
    digest: keyDigest(text),
    previousDigest: '',
    previousUntilMicros: undefined,
    rateLimit,
    createdMicros: now,
    expiresMicros: expiresMs === undefined ? undefined : now + expiresMs * 1000,
    revokedMicros: undefined,
    version: now,
  };
  await apiKeyTable.put(storage, apiKey);
  return { apiKey, text };
}

/**
 * Gives a key a new secret; the old one stays good for the grace period (a duration, 24h by default, 0 allowed).
 * A key rotated twice within it keeps only the latest old secret. Throws Problem `malformed`, `not_found`, or
 * `conflict` for a key that is revoked or expired.
 */
export async function rotateApiKey(
  storage: Storage,
  id: string,
  grace: string = graceDefault,
  clock: Clock = systemClock,
): Promise<IssuedKey> {
  const graceMs = parseGrace(grace);
  const current = await findApiKey(storage, id);
  const now = clock();
  if (current.revokedMicros !== undefined) throw new Problem('conflict', `the API key ${id} is revoked`);
  if (current.expiresMicros !== undefined && current.expiresMicros <= now) {
    throw new Problem('conflict', `the API key ${id} has expired`);
  }
  const text = newKeyText(id);
  const change = ({ digest }: ApiKey) => ({
    digest: keyDigest(text),
    previousDigest: graceMs === 0 ? '' : digest,
    previousUntilMicros: graceMs === 0 ? undefined : now + graceMs * 1000,
  });
  const apiKey: ApiKey = await apiKeyTable.update(storage, current, change, now);
  // By another process meanwhile.
  if (apiKey.revokedMicros !== undefined) throw new Problem('conflict', `the API key ${id} is revoked`);
  return { apiKey, text };
}

/** Ends a key for good; one that is revoked already keeps its first time. Throws Problem `not_found`. */
export async function revokeApiKey(
  storage: Storage,
  id: string,
  clock: Clock = systemClock,
): Promise<ApiKey & { readonly revokedMicros: number }> {
  const current = await findApiKey(storage, id);
  const { revokedMicros } = current;
  if (revokedMicros !== undefined) return { ...current, revokedMicros };
  const now = clock();
  return apiKeyTable.update(storage, current, { revokedMicros: now }, now);
}
