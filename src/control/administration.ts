import { type Clock, systemClock } from '../base/time/clock.ts';
import { KeyedMutex } from '../base/waiting/keyed-mutex.ts';
import { Problem } from '../base/errors/problem.ts';
import { isAddressOfPseudonym } from '../base/events/pseudonym.ts';
import type { Storage } from '../storage/storage.ts';
import {
  type ApiKey,
  createApiKey,
  findApiKey,
  type IssuedKey,
  listApiKeys,
  type NewApiKey,
  revokeApiKey,
  rotateApiKey,
} from './api-keys.ts';
import { identitiesOf, identityOfUser, identityTable, usersOfExternalId } from './identities.ts';
import { type WaitingRemoval, waitingRemovals } from './planned-removals.ts';
import {
  changeOfProvisioning,
  type ProvisionedUser,
  type Provisioning,
  type UserLookup,
} from './provisioning.ts';
import { isUuid } from './names.ts';
import { type ChangedOrganization, type OrganizationSettings, updateOrganization } from './organizations.ts';
import { type Identity, type SignedOn, signOn } from './sign-on.ts';
import { readSignOn, type SignOnSettings, signOnTable } from './sign-on-settings.ts';
import {
  changeRole,
  createUser,
  disableUser,
  findByEmail,
  findUser,
  listUsers,
  type NewUser,
  type Role,
  setPassword,
  type User,
  userTable,
  usersOfIds,
} from './users.ts';

const apiKeysPerOrganizationMax = 1_000;
const usersPerOrganizationMax = 20_000;
/** Changes of one organization that wait for each other. */
const controlChangesWaitingMax = 32;

/** What there was before and what there is now; the same object where nothing changed. */
export interface Changed<T> {
  readonly before: T;
  readonly now: T;
}

const keyIdPattern = /^[0-9a-z]{16}$/;

/**
 * What the administrators of one organization may do. Whatever an id names outside of that organization does not
 * exist (Problem `not_found`, in the same words). Changes of one organization run one after the other in this
 * process, since the tables know no transactions; too many waiting give Problem `unavailable`. Of what several processes
 * must not do together each looks again afterwards, and takes its own back.
 */
export class Administration {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #retentionDays: number | undefined;
  readonly #changes = new KeyedMutex(
    controlChangesWaitingMax,
    () => new Problem('unavailable', 'Too many changes at once.', { retryAfterSeconds: 1 }),
  );

  /** `retentionDays` is the service's default; undefined: events are kept for ever. */
  constructor(storage: Storage, clock: Clock = systemClock, retentionDays?: number) {
    this.#storage = storage;
    this.#clock = clock;
    this.#retentionDays = retentionDays;
  }

  /** Oldest first; keys of all organizations are not among them. */
  apiKeys(organization: string): Promise<ApiKey[]> {
    return listApiKeys(this.#storage, organization);
  }

  /** Throws Problem `malformed`. */
  createApiKey(organization: string, input: NewApiKey): Promise<IssuedKey> {
    return this.#changes.run(organization, async () => {
      const keys = await listApiKeys(this.#storage, organization);
      const alive = keys.filter((key) => key.revokedMicros === undefined);
      checkCount(alive.length, apiKeysPerOrganizationMax, 'API keys that are not revoked');
      return createApiKey(this.#storage, { ...input, organization }, this.#clock);
    });
  }

  /** `grace` is a duration, 24h by default. Throws Problem `malformed`, `not_found`, `conflict`. */
  rotateApiKey(organization: string, id: string, grace: string | undefined): Promise<IssuedKey> {
    return this.#changes.run(organization, async () => {
      const key = await this.#ownKey(organization, id);
      return rotateApiKey(this.#storage, key.id, grace, this.#clock);
    });
  }

  /** Unchanged where it was revoked before. Throws Problem `not_found`. */
  revokeApiKey(organization: string, id: string): Promise<Changed<ApiKey>> {
    return this.#changes.run(organization, async () => {
      const before = await this.#ownKey(organization, id);
      if (before.revokedMicros !== undefined) return { before, now: before };
      return { before, now: await revokeApiKey(this.#storage, id, this.#clock) };
    });
  }

  /** By address. */
  users(organization: string): Promise<User[]> {
    return listUsers(this.#storage, organization);
  }

  /** Throws Problem `malformed`, `conflict`. */
  createUser(organization: string, input: NewUser): Promise<User> {
    return this.#changes.run(organization, () => this.#createUser(organization, input));
  }

  /** Unchanged where it was disabled before. Throws Problem `not_found`, `conflict` for the last administrator. */
  disableUser(organization: string, id: string): Promise<Changed<User>> {
    return this.#changes.run(organization, async () => {
      const before = await this.#ownUser(organization, id);
      if (before.disabledMicros !== undefined) return { before, now: before };
      const disable = () => disableUser(this.#storage, { user: id, organization }, this.#clock);
      return { before, now: await this.#keepingAnAdmin(before, disable) };
    });
  }

  /** Unchanged where it is the role already. Throws Problem `not_found`, `conflict` for the last administrator. */
  changeRole(organization: string, id: string, role: Role): Promise<Changed<User>> {
    return this.#changes.run(organization, async () => {
      const before = await this.#ownUser(organization, id);
      if (before.role === role) return { before, now: before };
      const change = () => changeRole(this.#storage, { user: id, organization }, role, this.#clock);
      return { before, now: await this.#keepingAnAdmin(before, change) };
    });
  }

  /** Signs in whom a provider vouches for. Throws SignOnRefused, and Problem `malformed`, `conflict`. */
  signOn(settings: SignOnSettings, identity: Identity): Promise<SignedOn> {
    const organization = settings.id;
    return this.#changes.run(organization, async () => {
      const users = {
        storage: this.#storage,
        clock: this.#clock,
        keepingAnAdmin: (user: User, change: () => Promise<User>) => this.#keepingAnAdmin(user, change),
        create: (input: NewUser) => this.#createUser(organization, input),
      };
      return signOn(users, settings, identity);
    });
  }

  /** Notes that an administrator has signed in by the connection that these settings describe. */
  signOnProven({ id, connectedMicros }: SignOnSettings): Promise<void> {
    return this.#changes.run(id, async () => {
      const current = await readSignOn(this.#storage, id);
      if (current.provenMicros !== undefined || current.connectedMicros !== connectedMicros) return;
      const now = this.#clock();
      const proven = (settings: SignOnSettings): Partial<SignOnSettings> =>
        settings.connectedMicros === connectedMicros ? { provenMicros: now } : {};
      await signOnTable.update(this.#storage, current, proven, now);
    });
  }

  /** Users as their directory knows them, by address. */
  async provisionedUsers(organization: string): Promise<ProvisionedUser[]> {
    const [users, identities] = await Promise.all([
      listUsers(this.#storage, organization),
      identitiesOf(this.#storage, organization),
    ]);
    const externalIds = new Map(identities.map(({ id, externalId }) => [id, externalId]));
    return users.map((user) => ({ user, externalId: externalIds.get(user.id) ?? '' }));
  }

  /** Finds the users that a directory asks for. It asks before each user that it sends, so this never reads all of them. */
  async findProvisioned(organization: string, { by, value }: UserLookup): Promise<ProvisionedUser[]> {
    const ids =
      by === 'externalId'
        ? await usersOfExternalId(this.#storage, organization, value)
        : [by === 'id' ? value : (await findByEmail(this.#storage, organization, value))?.id];
    const known = ids.flatMap((id) => (id !== undefined && isUuid(id) ? [id] : []));
    const users = await usersOfIds(this.#storage, organization, known);
    return Promise.all(
      users.map(async (user) => ({
        user,
        externalId: (await identityOfUser(this.#storage, user)).externalId,
      })),
    );
  }

  /** Throws Problem `not_found`. */
  async provisionedUser(organization: string, id: string): Promise<ProvisionedUser> {
    const user = await this.#ownUser(organization, id);
    return { user, externalId: (await identityOfUser(this.#storage, user)).externalId };
  }

  /** Makes a user on behalf of its directory. Throws Problem `malformed`, `conflict`. */
  provisionUser(organization: string, input: NewUser, more: Provisioning): Promise<Changed<ProvisionedUser>> {
    return this.#changes.run(organization, async () => {
      const before = { user: await this.#createUser(organization, input), externalId: '' };
      return { before, now: await this.#provision(before, more) };
    });
  }

  /**
   * Changes what is given, of it what is another; access ends with the sessions. Throws Problem `malformed`, `not_found`,
   * `conflict` for the last administrator and an erased account.
   */
  changeProvisioned(
    organization: string,
    id: string,
    change: Provisioning,
  ): Promise<Changed<ProvisionedUser>> {
    return this.#changes.run(organization, async () => {
      const before = await this.provisionedUser(organization, id);
      // A directory that still has the person would put name and access back.
      if (isAddressOfPseudonym(before.user.email))
        throw new Problem('conflict', 'This account was erased: make another user.');
      return { before, now: await this.#provision(before, change) };
    });
  }

  async #provision(before: ProvisionedUser, change: Provisioning): Promise<ProvisionedUser> {
    const { user } = before;
    const now = this.#clock();
    const members = changeOfProvisioning(user, change, now);
    const isAdmin = user.role === 'admin' && user.disabledMicros === undefined;
    const staysAdmin = (members.role ?? 'admin') === 'admin' && members.disabledMicros === undefined;
    const isChanged = Object.keys(members).length > 0;
    const changeOf = (current: User) => changeOfProvisioning(current, change, now);
    const update = async () => (isChanged ? userTable.update(this.#storage, user, changeOf, now) : user);
    const changed = await (isAdmin && !staysAdmin ? this.#keepingAnAdmin(user, update) : update());
    const { externalId = before.externalId } = change;
    if (externalId !== before.externalId)
      await identityTable.update(
        this.#storage,
        await identityOfUser(this.#storage, user),
        { externalId },
        now,
      );
    return { user: changed, externalId };
  }

  /** A user with access. Throws Problem `not_found`, `conflict` for one that is disabled. */
  async activeUser(organization: string, id: string): Promise<User> {
    const user = await this.#ownUser(organization, id);
    if (user.disabledMicros === undefined) return user;
    throw new Problem('conflict', 'This user is disabled.');
  }

  /**
   * Ends the user's sessions. `credentialVersion` is what the change was allowed for: where the password is another one
   * by now, it is refused. Throws Problem `malformed`, `not_found`, `unauthorized`.
   */
  setPassword(organization: string, id: string, password: string, credentialVersion?: number): Promise<User> {
    return this.#changes.run(organization, async () => {
      const before = await this.#ownUser(organization, id);
      if (credentialVersion !== undefined && before.credentialVersion !== credentialVersion) {
        throw new Problem('unauthorized', 'The password has been changed meanwhile.');
      }
      return setPassword(this.#storage, { user: id, organization }, password, this.#clock);
    });
  }

  /** What retention is about to remove; undefined: nothing. */
  async plannedRemoval(organization: string): Promise<WaitingRemoval | undefined> {
    return (await waitingRemovals(this.#storage, organization)).get(organization);
  }

  /** See `updateOrganization`. */
  changeSettings(organization: string, settings: OrganizationSettings): Promise<ChangedOrganization> {
    const how = { clock: this.#clock, defaultDays: this.#retentionDays };
    return this.#changes.run(organization, () =>
      updateOrganization(this.#storage, organization, settings, how),
    );
  }

  async #createUser(organization: string, input: NewUser): Promise<User> {
    const users = await listUsers(this.#storage, organization);
    checkCount(users.length, usersPerOrganizationMax, 'users');
    return createUser(this.#storage, { ...input, organization }, this.#clock);
  }

  /** A key of another organization is answered as one that does not exist: nothing tells the two apart. */
  async #ownKey(organization: string, id: string): Promise<ApiKey> {
    const missing = new Problem('not_found', 'There is no such API key in this organization.');
    if (!keyIdPattern.test(id)) throw missing;
    const key = await orMissing(findApiKey(this.#storage, id), missing);
    if (key.organizationId !== organization) throw missing;
    return key;
  }

  async #ownUser(organization: string, id: string): Promise<User> {
    const missing = new Problem('not_found', 'There is no such user in this organization.');
    if (!isUuid(id)) throw missing;
    return orMissing(findUser(this.#storage, { user: id, organization }), missing);
  }

  /**
   * Makes a change by which an administrator may become less than that. Another process can do so with the other one at the
   * same moment: whoever finds nobody left afterwards puts the user back.
   */
  async #keepingAnAdmin(user: User, change: () => Promise<User>): Promise<User> {
    await this.#checkAnotherAdmin(user);
    const changed = await change();
    try {
      await this.#checkAnotherAdmin(user);
    } catch (error) {
      const { name, role, disabledMicros } = user;
      await userTable.update(this.#storage, changed, { name, role, disabledMicros }, this.#clock());
      throw error;
    }
    return changed;
  }

  async #checkAnotherAdmin({ id, organizationId, role }: User): Promise<void> {
    if (role !== 'admin') return;
    const users = await listUsers(this.#storage, organizationId);
    const isOther = (user: User): boolean =>
      user.role === 'admin' && user.disabledMicros === undefined && user.id !== id;
    if (!users.some(isOther))
      throw new Problem('conflict', 'This is the last administrator of the organization.');
  }
}

async function orMissing<T>(found: Promise<T>, missing: Problem): Promise<T> {
  try {
    return await found;
  } catch (error) {
    throw error instanceof Problem && error.code === 'not_found' ? missing : error;
  }
}

/** Every process holds all keys and users in memory, so an organization cannot make them without end. */
function checkCount(count: number, max: number, what: string): void {
  if (count >= max) throw new Problem('conflict', `The organization has ${max} ${what} already.`);
}
