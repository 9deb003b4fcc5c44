import { Problem } from '../base/errors/problem.ts';
import { parseRate, type Rate } from '../base/time/rates.ts';
import { parseDurationMs } from '../base/time/units.ts';
import { changesOfKey } from './change-events.ts';
import { type Changed, type Decide, type Decision, type Moment, together, unchanged } from './decision.ts';
import { keyDigest, newKeyId, newKeyText } from './key-text.ts';
import { displayName } from './names.ts';
import { findOrganization } from './organizations.ts';
import type { ApiKey, Scope } from './records.ts';
import type { ControlState } from './state.ts';

export type { ApiKey, Scope } from './records.ts';

const scopes: readonly Scope[] = ['read', 'write', 'scim'];

export interface NewApiKey {
  /** Separated by commas. */
  readonly scopes: string;
  readonly name?: string | undefined;
  /** A duration from now. */
  readonly expires?: string | undefined;
  /** `requests/window` */
  readonly rateLimit?: string | undefined;
}

interface KeyOwner {
  readonly organization?: string | undefined;
  readonly allOrganizations?: boolean | undefined;
}

/** Only here is its text known. */
export interface IssuedKey {
  readonly apiKey: ApiKey;
  readonly text: string;
}

const keysPerOrganizationMax = 1_000;
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

/** Milliseconds; 0 with or without a unit. */
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

/** Oldest first. Throws Problem `not_found`. */
export function listApiKeys(state: ControlState, organization?: string): readonly ApiKey[] {
  return state.apiKeys(organization === undefined ? undefined : findOrganization(state, organization).id);
}

/** `organization`: an id; undefined: any. Throws Problem `not_found`, also for a key of another organization. */
export function findApiKey(state: ControlState, id: string, organization?: string): ApiKey {
  const key = state.apiKey(id);
  if (key !== undefined && (organization === undefined || key.organizationId === organization)) return key;
  const detail =
    organization === undefined
      ? `no API key ${JSON.stringify(id)}`
      : 'There is no such API key in this organization.';
  throw new Problem('not_found', detail);
}

function checkOwner(input: KeyOwner, given: readonly Scope[]): void {
  const all = input.allOrganizations === true;
  if (all === (input.organization !== undefined))
    throw new Problem('malformed', 'a key belongs either to one organization or to all of them');
  if (all && given.some((scope) => scope !== 'write'))
    throw new Problem('malformed', 'a key of all organizations may only have the scope write');
}

function checkCount(state: ControlState, organization: string | undefined): void {
  if (organization === undefined) return;
  const alive = state.apiKeys(organization).filter(({ revokedMicros }) => revokedMicros === undefined);
  if (alive.length < keysPerOrganizationMax) return;
  const detail = `The organization has ${keysPerOrganizationMax} API keys that are not revoked already.`;
  throw new Problem('conflict', detail);
}

/** `organization`: an id; undefined: all. Throws Problem `malformed`. */
export function keyMaker(
  input: NewApiKey,
): (organizationId: string | undefined, micros: number) => Decision<IssuedKey> {
  const expiresMs = input.expires === undefined ? undefined : parseExpires(input.expires);
  const id = newKeyId();
  const text = newKeyText(id);
  const facts = {
    id,
    name: input.name === undefined ? '' : displayName(input.name),
    scopes: parseScopes(input.scopes),
    digest: keyDigest(text),
    previousDigest: '',
    previousUntilMicros: undefined,
    rateLimit: input.rateLimit === undefined ? undefined : parseLimit(input.rateLimit),
  };
  return (organizationId, micros) => {
    const times = {
      createdMicros: micros,
      expiresMicros: expiresMs === undefined ? undefined : micros + expiresMs * 1000,
      revokedMicros: undefined,
    };
    const apiKey: ApiKey = { ...facts, organizationId, ...times };
    return {
      parts: [['api_key', apiKey]],
      changes: changesOfKey(apiKey, 'apiKeyCreated'),
      result: { apiKey, text },
      unseen: apiKey,
    };
  };
}

/** Ends the key of an earlier try, unless a later secret of it was seen. */
export function endUnseen(
  state: ControlState,
  { unseen, micros }: Moment,
): Pick<Decision<unknown>, 'parts' | 'changes'> {
  const key = state.apiKey(unseen?.id ?? '');
  if (key === undefined || key.digest !== unseen?.digest || key.revokedMicros !== undefined)
    return { parts: [], changes: [] };
  return revoked(key, micros);
}

/** (contract: Credentials) Throws Problem `malformed`, `not_found` for the organization, and `conflict`. */
export function createApiKey(input: NewApiKey & KeyOwner): Decide<IssuedKey> {
  checkOwner(input, parseScopes(input.scopes));
  const make = keyMaker(input);
  return (state, moment) => {
    const { organization } = input;
    const organizationId = organization === undefined ? undefined : findOrganization(state, organization).id;
    const ended = endUnseen(state, moment);
    if (ended.parts.length === 0) checkCount(state, organizationId);
    return together(ended, make(organizationId, moment.micros));
  };
}

/** `organization`: an id; undefined: any. */
interface KeyReference {
  readonly id: string;
  readonly organization?: string | undefined;
}

/**
 * The old secret stays valid for the grace period (default 24h). Only the latest old secret stays. A repeat keeps the old secret of
 * the first try. Throws Problem `malformed`, `not_found`, or `conflict` for a revoked or expired key.
 */
export function rotateApiKey(
  { id, organization }: KeyReference,
  grace: string = graceDefault,
): Decide<IssuedKey> {
  const graceMs = parseGrace(grace);
  const text = newKeyText(id);
  return (state, { micros, unseen }) => {
    const current = findApiKey(state, id, organization);
    if (current.revokedMicros !== undefined) throw new Problem('conflict', `the API key ${id} is revoked`);
    if (current.expiresMicros !== undefined && current.expiresMicros <= micros)
      throw new Problem('conflict', `the API key ${id} has expired`);
    const previous = {
      previousDigest: graceMs === 0 ? '' : current.digest,
      previousUntilMicros: graceMs === 0 ? undefined : micros + graceMs * 1000,
    };
    const isUnseen = current.digest === unseen?.digest;
    const apiKey: ApiKey = { ...current, ...(!isUnseen && previous), digest: keyDigest(text) };
    return {
      parts: [['api_key', apiKey]],
      changes: changesOfKey(apiKey, 'apiKeyRotated', isUnseen),
      result: { apiKey, text },
      unseen: apiKey,
    };
  };
}

/** Idempotent: keeps the first time. Throws Problem `not_found`. */
export function revokeApiKey({ id, organization }: KeyReference): Decide<Changed<ApiKey>> {
  return (state, { micros }) => {
    const before = findApiKey(state, id, organization);
    if (before.revokedMicros !== undefined) return unchanged({ before, now: before });
    return revoked(before, micros);
  };
}

function revoked(before: ApiKey, micros: number): Decision<Changed<ApiKey>> {
  const now = { ...before, revokedMicros: micros };
  return {
    parts: [['api_key', now]],
    changes: changesOfKey(now, 'apiKeyRevoked'),
    result: { before, now },
  };
}
