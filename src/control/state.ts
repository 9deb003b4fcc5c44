import { FifoMap } from '../base/waiting/fifo-map.ts';
import { defaultSignOn } from './default-sign-on.ts';
import type { JournalRow } from './journal.ts';
import type {
  ApiKey,
  Deletion,
  Organization,
  Part,
  Records,
  RetentionPolicy,
  SignOnSettings,
  StoredCall,
  StoredErasure,
  User,
  UserIdentity,
} from './records.ts';

type Kind = keyof Records;
type Held = { readonly [K in Exclude<Kind, 'call'>]: Map<string, Records[K]> };

/** How long a repeat of a call is known, and how many calls: of more the oldest are forgotten earlier. */
const callMicrosMax = 86_400_000_000;
const callsMax = 20_000;

const bySlug = (a: Organization, b: Organization): number => (a.slug < b.slug ? -1 : a.slug > b.slug ? 1 : 0);
const byEmail = (a: User, b: User): number =>
  a.emailLower < b.emailLower ? -1 : a.emailLower > b.emailLower ? 1 : 0;
const byAge = (a: ApiKey, b: ApiKey): number => a.createdMicros - b.createdMicros || (a.id < b.id ? -1 : 1);

/** Ids by a text that several objects may share. Arrays: most have one, and a Set of one takes far more memory and time. */
class Index {
  readonly #ids = new Map<string, string[]>();

  /** An id that is not there yet. */
  add(text: string, id: string): void {
    const ids = this.#ids.get(text);
    if (ids === undefined) this.#ids.set(text, [id]);
    else ids.push(id);
  }

  remove(text: string, id: string): void {
    const others = this.of(text).filter((one) => one !== id);
    if (others.length > 0) this.#ids.set(text, others);
    else this.#ids.delete(text);
  }

  forget(text: string): void {
    this.#ids.delete(text);
  }

  of(text: string): readonly string[] {
    return this.#ids.get(text) ?? [];
  }
}

const subjectText = (organization: string, issuer: string, subject: string): string =>
  JSON.stringify([organization, issuer, subject]);

/**
 * What the journal comes to: of each kind and id the last record, found by what requests know. Records of an organization that was
 * deleted are forgotten with it, but for its deletion.
 */
export class ControlState {
  readonly #held: Held = {
    organization: new Map(),
    user: new Map(),
    identity: new Map(),
    sign_on: new Map(),
    api_key: new Map(),
    ended_session: new Map(),
    policy: new Map(),
    deletion: new Map(),
    erasure: new Map(),
    accepted_damage: new Map(),
    handed_events: new Map(),
  };
  /** In the order of their last try. */
  readonly #calls = new FifoMap<StoredCall>();
  readonly #bySlug = new Map<string, string>();
  readonly #byEmail = new Index();
  readonly #usersOf = new Index();
  readonly #keysOf = new Index();
  readonly #bySubject = new Map<string, string>();
  #version = 0;

  organizationById(id: string): Organization | undefined {
    return this.#held.organization.get(id);
  }

  organizationBySlug(slug: string): Organization | undefined {
    return this.organizationById(this.#bySlug.get(slug) ?? '');
  }

  /** By slug. */
  organizations(): readonly Organization[] {
    return this.knownOrganizations();
  }

  /** The same with those that damage of the journal may be about. */
  knownOrganizations(): readonly Organization[] {
    return [...this.#held.organization.values()].sort(bySlug);
  }

  /** What is kept of an organization; undefined where no policy says so, and everything is. */
  policyOf(organization: string): RetentionPolicy | undefined {
    return this.#held.policy.get(organization);
  }

  apiKey(id: string): ApiKey | undefined {
    return this.#held.api_key.get(id);
  }

  /** Keys of one organization, or of all of them and of none; oldest first. */
  apiKeys(organization?: string): readonly ApiKey[] {
    if (organization === undefined) return [...this.#held.api_key.values()].sort(byAge);
    return this.#those('api_key', this.#keysOf.of(organization)).sort(byAge);
  }

  userById(id: string): User | undefined {
    return this.#held.user.get(id);
  }

  /** Users of every organization with this address in lower case, disabled ones included. */
  usersByEmail(emailLower: string): readonly User[] {
    return this.#those('user', this.#byEmail.of(emailLower));
  }

  /** Users of one organization, or of all; by address. */
  users(organization?: string): readonly User[] {
    if (organization === undefined) return [...this.#held.user.values()].sort(byEmail);
    return this.#those('user', this.#usersOf.of(organization)).sort(byEmail);
  }

  /** By what a user is known elsewhere; with its defaults where it is known nowhere. */
  identityOf({ id, organizationId }: Pick<User, 'id' | 'organizationId'>): UserIdentity {
    const nowhere = { issuer: '', subject: '', linkedMicros: undefined, externalId: '' };
    return this.#held.identity.get(id) ?? { id, organizationId, ...nowhere };
  }

  /** Who signs in by a provider's name for somebody. */
  userBySubject(organization: string, issuer: string, subject: string): User | undefined {
    return this.userById(this.#bySubject.get(subjectText(organization, issuer, subject)) ?? '');
  }

  /** How people of an organization sign in. */
  signOnOf(organizationId: string): SignOnSettings {
    return this.#held.sign_on.get(organizationId) ?? defaultSignOn(organizationId);
  }

  /** Organizations that have said anything of it. */
  signOns(): readonly SignOnSettings[] {
    return [...this.#held.sign_on.values()];
  }

  /** True for the `jti` of a session that was ended before it expired. */
  sessionEnded(id: string): boolean {
    return this.#held.ended_session.has(id);
  }

  deletionOf(organization: string): Deletion | undefined {
    return this.#held.deletion.get(organization);
  }

  /** The newest first. */
  deletions(): readonly Deletion[] {
    return [...this.#held.deletion.values()].sort((a, b) => b.startedMicros - a.startedMicros);
  }

  erasure(id: string): StoredErasure | undefined {
    return this.#held.erasure.get(id);
  }

  /** Of one organization, or of all; the newest first. */
  erasures(organization?: string): readonly StoredErasure[] {
    const all = [...this.#held.erasure.values()];
    return all
      .filter(({ organizationId }) => organization === undefined || organizationId === organization)
      .sort((a, b) => b.place - a.place);
  }

  /** Whether an operator has accepted that a place of the journal is damaged. */
  hasAcceptedDamage(place: number): boolean {
    return this.#held.accepted_damage.has(String(place));
  }

  /** Whether a server has taken over the events of a command's row. */
  hasHandedEvents(place: number): boolean {
    return this.#held.handed_events.has(String(place));
  }

  /** An earlier call, and what it came to. */
  call(id: string): StoredCall | undefined {
    return this.#calls.get(id);
  }

  /** What these records are by now; without those that are forgotten, and calls. */
  current(parts: readonly Part[]): Part[] {
    return parts.flatMap(([kind, { id }]) => {
      const record = kind === 'call' ? undefined : this.#held[kind].get(id);
      return record === undefined ? [] : [[kind, record] as Part];
    });
  }

  /** Another number whenever anything changed. */
  version(): number {
    return this.#version;
  }

  /** Forgets ended sessions that have expired, and old calls. */
  protected forgetExpired(nowMicros: number): void {
    const ended = this.#held.ended_session;
    for (const [id, { expiresMicros }] of ended) if (expiresMicros < nowMicros) ended.delete(id);
    for (let oldest = this.#calls.oldest(); oldest !== undefined; oldest = this.#calls.oldest()) {
      if (oldest.micros + callMicrosMax > nowMicros) break;
      this.#calls.removeOldest();
    }
  }

  protected apply({ parts }: Pick<JournalRow, 'parts'>): void {
    for (const part of parts) this.#put(part);
    this.#version += 1;
  }

  #put(part: Part): void {
    const [kind, record] = part;
    if (kind === 'call') {
      this.#putCall(record);
      return;
    }
    this.#unindex(part);
    if (kind === 'erasure') this.#forgetCalls(record.organizationId);
    const held = this.#held[kind] as Map<string, unknown>;
    if (!held.has(record.id)) this.#indexNew(part);
    held.set(record.id, record);
    this.#index(part);
    if (kind === 'organization' && record.deletedMicros !== undefined) this.#forgetOrganization(record);
  }

  /** A record never moves to another organization. */
  #indexNew([kind, record]: Part): void {
    if (kind === 'user') this.#usersOf.add(record.organizationId, record.id);
    if (kind === 'api_key' && record.organizationId !== undefined)
      this.#keysOf.add(record.organizationId, record.id);
  }

  #index([kind, record]: Part): void {
    if (kind === 'organization') this.#bySlug.set(record.slug, record.id);
    if (kind === 'user') this.#byEmail.add(record.emailLower, record.id);
    if (kind === 'identity' && record.issuer !== '')
      this.#bySubject.set(subjectText(record.organizationId, record.issuer, record.subject), record.id);
  }

  /** Forgets how the record before was found. */
  #unindex([kind, { id }]: Part): void {
    const user = kind === 'user' ? this.#held.user.get(id) : undefined;
    if (user !== undefined) this.#byEmail.remove(user.emailLower, id);
    const before = kind === 'identity' ? this.#held.identity.get(id) : undefined;
    if (before === undefined) return;
    const text = subjectText(before.organizationId, before.issuer, before.subject);
    if (this.#bySubject.get(text) === id) this.#bySubject.delete(text);
  }

  #putCall(call: StoredCall): void {
    this.#calls.set(call.id, call);
    if (this.#calls.size > callsMax) this.#calls.removeOldest();
  }

  /** Answers name persons. */
  #forgetCalls(organization: string): void {
    for (const { id, organizationId } of this.#calls.values())
      if (organizationId === organization) this.#calls.delete(id);
  }

  #forgetOrganization({ id, slug }: Organization): void {
    this.#forgetCalls(id);
    for (const user of this.users(id)) {
      this.#unindex(['user', user]);
      this.#unindex(['identity', this.identityOf(user)]);
      this.#held.user.delete(user.id);
      this.#held.identity.delete(user.id);
    }
    for (const key of this.apiKeys(id)) this.#held.api_key.delete(key.id);
    this.#usersOf.forget(id);
    this.#keysOf.forget(id);
    for (const kind of ['organization', 'policy', 'sign_on'] as const) this.#held[kind].delete(id);
    this.#bySlug.delete(slug);
  }

  #those<K extends keyof Held>(kind: K, ids: readonly string[]): Records[K][] {
    const held = this.#held[kind] as ReadonlyMap<string, Records[K]>;
    return ids.flatMap((id) => held.get(id) ?? []);
  }
}
