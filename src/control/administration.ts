import { type Clock, systemClock } from '../base/clock.ts';
import { KeyedMutex } from '../base/keyed-mutex.ts';
import { limits } from './limits.ts';
import { Problem } from '../base/problem.ts';
import type { Storage } from '../storage/storage.ts';
import {
  type ApiKey,
  createApiKey,
  findApiKey,
  type IssuedKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
} from './api-keys.ts';
import {
  findOrganization,
  type Organization,
  type OrganizationSettings,
  updateOrganization,
} from './organizations.ts';
import { isUuid } from './rows.ts';
import { createUser, disableUser, findUser, listUsers, setPassword, type User } from './users.ts';

/**
 * What the administrators of one organization may do. Whatever an id names outside of that organization does not
 * exist (Problem `not_found`, in the same words). Changes of one organization run one after the other in this
 * process, since the tables know no transactions; too many waiting give Problem `unavailable`.
 */
export interface Administration {
  /** Oldest first; keys of all organizations are not among them. */
  readonly apiKeys: (organizationId: string) => Promise<ApiKey[]>;
  /** Throws Problem `malformed`. */
  readonly createApiKey: (organizationId: string, input: NewApiKey) => Promise<IssuedKey>;
  /** `grace` is a duration, 24h by default. Throws Problem `malformed`, `not_found`, `conflict`. */
  readonly rotateApiKey: (
    organizationId: string,
    id: string,
    grace: string | undefined,
  ) => Promise<IssuedKey>;
  /** Unchanged where it was revoked before. Throws Problem `not_found`. */
  readonly revokeApiKey: (organizationId: string, id: string) => Promise<Changed<ApiKey>>;
  /** By address. */
  readonly users: (organizationId: string) => Promise<User[]>;
  /** Throws Problem `malformed`, `conflict`. */
  readonly createUser: (organizationId: string, input: NewUser) => Promise<User>;
  /** Unchanged where it was disabled before. Throws Problem `not_found`, `conflict` for the last administrator. */
  readonly disableUser: (organizationId: string, id: string) => Promise<Changed<User>>;
  /** Ends the user's sessions. Throws Problem `malformed`, `not_found`. */
  readonly setPassword: (organizationId: string, id: string, password: string) => Promise<User>;
  /** Unchanged where every setting is what it was. Throws Problem `malformed`. */
  readonly changeSettings: (
    organizationId: string,
    settings: OrganizationSettings,
  ) => Promise<Changed<Organization>>;
}

/** What there was before and what there is now; the same object where nothing changed. */
export interface Changed<T> {
  readonly before: T;
  readonly now: T;
}

interface NewApiKey {
  /** `read`, `write` or `read,write` */
  readonly scopes: string;
  readonly name?: string | undefined;
  readonly expires?: string | undefined;
  readonly rateLimit?: string | undefined;
}

interface NewUser {
  readonly email: string;
  readonly name: string;
  readonly role: string;
  readonly password: string;
}

const keyIdPattern = /^[0-9a-z]{16}$/;

/** The administration of organizations, over the control data of an engine. */
export function createAdministration(storage: Storage, clock: Clock = systemClock): Administration {
  const changes = new KeyedMutex(
    limits.controlChangesWaitingMax,
    () => new Problem('unavailable', 'Too many changes at once.', { retryAfterSeconds: 1 }),
  );

  /** A key of another organization is answered as one that does not exist: nothing tells the two apart. */
  async function ownKey(organizationId: string, id: string): Promise<ApiKey> {
    const missing = new Problem('not_found', 'There is no such API key in this organization.');
    if (!keyIdPattern.test(id)) throw missing;
    const key = await findApiKey(storage, id).catch((error: unknown) => {
      throw error instanceof Problem && error.code === 'not_found' ? missing : error;
    });
    if (key.organizationId !== organizationId) throw missing;
    return key;
  }

  async function ownUser(organization: string, id: string): Promise<User> {
    const missing = new Problem('not_found', 'There is no such user in this organization.');
    if (!isUuid(id)) throw missing;
    return findUser(storage, { user: id, organization }).catch((error: unknown) => {
      throw error instanceof Problem && error.code === 'not_found' ? missing : error;
    });
  }

  async function checkAnotherAdmin(organizationId: string, { id, role }: User): Promise<void> {
    if (role !== 'admin') return;
    const isOther = (user: User): boolean =>
      user.role === 'admin' && user.disabledMicros === undefined && user.id !== id;
    if ((await listUsers(storage, organizationId)).some(isOther)) return;
    throw new Problem('conflict', 'This is the last administrator of the organization.');
  }

  return {
    apiKeys: (organization) => listApiKeys(storage, organization),
    createApiKey: (organization, input) =>
      changes.run(organization, async () => {
        const alive = (await listApiKeys(storage, organization)).filter(
          (key) => key.revokedMicros === undefined,
        );
        checkCount(alive.length, limits.apiKeysPerOrganizationMax, 'API keys that are not revoked');
        return createApiKey(storage, { ...input, organization }, clock);
      }),
    rotateApiKey: (organization, id, grace) =>
      changes.run(organization, async () => {
        const key = await ownKey(organization, id);
        return rotateApiKey(storage, key.id, grace, clock);
      }),
    revokeApiKey: (organization, id) =>
      changes.run(organization, async () => {
        const before = await ownKey(organization, id);
        if (before.revokedMicros !== undefined) return { before, now: before };
        return { before, now: await revokeApiKey(storage, id, clock) };
      }),
    users: (organization) => listUsers(storage, organization),
    createUser: (organization, input) =>
      changes.run(organization, async () => {
        checkCount((await listUsers(storage, organization)).length, limits.usersPerOrganizationMax, 'users');
        return createUser(storage, { ...input, organization }, clock);
      }),
    disableUser: (organization, id) =>
      changes.run(organization, async () => {
        const before = await ownUser(organization, id);
        if (before.disabledMicros !== undefined) return { before, now: before };
        await checkAnotherAdmin(organization, before);
        return { before, now: await disableUser(storage, { user: id, organization }, clock) };
      }),
    setPassword: (organization, id, password) =>
      changes.run(organization, async () => {
        await ownUser(organization, id);
        return setPassword(storage, { user: id, organization }, password, clock);
      }),
    changeSettings: (organization, settings) =>
      changes.run(organization, async () => {
        const before = await findOrganization(storage, organization);
        const now = await updateOrganization(storage, organization, settings, clock);
        const same =
          before.name === now.name &&
          before.retentionDays === now.retentionDays &&
          before.receipts === now.receipts;
        return same ? { before: now, now } : { before, now };
      }),
  };
}

/** Every process holds all keys and users in memory, so an organization cannot make them without end. */
function checkCount(count: number, max: number, what: string): void {
  if (count >= max) throw new Problem('conflict', `The organization has ${max} ${what} already.`);
}
