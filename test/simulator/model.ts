import { expectedOf, type Expected, hiddenNames } from '../fuzz/model.ts';
import { parseTree } from '../fuzz/tree.ts';
import type { Batch } from './batch.ts';
import type { Draw } from './draw.ts';
import { limits } from './limits.ts';
import type { AskedChange } from './operations/changes.ts';
import { OwnEvents } from './own-events.ts';
import { patiently } from './waiting.ts';

/**
 * The expected state, as lists and flags in memory. It knows only requests and answers, no segments, processes or
 * tables.
 */

export const names = { appName: 'App', vendorName: 'Vendor', productName: 'Product' };
export const dayMicros = 86_400_000_000;

/** A sent event. */
export interface ModelEvent {
  /** Part of its text, so that each answer shows it: `sim=slug.batch.index=`. */
  readonly id: string;
  /** As sent. */
  readonly text: string;
  /** Damaged bytes, which the service may refuse. */
  readonly damaged?: Buffer;
  readonly micros: number;
  /** Whole days from its time to the beginning of the run, always far from a multiple of 100. */
  readonly ageDays: number;
  readonly persons: readonly Person[];
  readonly flow: string;
}

export interface Person {
  readonly email: string;
  state: 'here' | 'erasing' | 'erased';
  /** Requests with this person whose result is unknown. */
  pending: number;
  pseudonym?: string;
}

export interface ModelKey {
  readonly id: string;
  text: string;
  /** Secrets that a rotation ended immediately. */
  readonly ended: string[];
  readonly scopes: string;
  state: 'good' | 'revoked' | 'unsure';
  /** The event of its end, if it is unknown whether it ended. */
  endEvent?: string;
}

export interface ModelUser {
  readonly email: string;
  readonly password: string;
  readonly role: 'admin' | 'auditor' | 'member';
  cookie: string;
  state: 'good' | 'disabled' | 'unsure';
  endEvent?: string;
}

/** Users, keys and the name of an organization. */
export interface Control {
  readonly users: readonly {
    readonly id: string;
    readonly email: string;
    readonly role: string;
    readonly disabled_at?: string;
  }[];
  readonly keys: readonly {
    readonly id: string;
    readonly name?: string;
    readonly revoked_at?: string;
    readonly previous_valid_until?: string;
  }[];
  readonly name: string;
}

/** An event as shown to readers, without what differs between readings. */
export interface Shown {
  /** With erased persons replaced. */
  readonly source: string;
  readonly expected: Expected;
}

export class ModelOrganization {
  readonly slug: string;
  readonly id: string;
  state: 'here' | 'deleting' | 'deleted' = 'here';
  /** Set if it was changed behind the service: it may not be called healthy any more. */
  tampered: string | undefined;
  days: number | undefined;
  /** The setting, as written in commands; the policy may differ for a while. */
  retention = 'default';
  hadRetention = false;
  held = false;
  /** The result of a change of the policy is unknown. */
  isPolicyUnknown = false;
  /** Until then servers may not know a change of it. */
  policyKnownAtMs = 0;
  readonly keys: ModelKey[] = [];
  readonly users: ModelUser[] = [];
  /** Of the directory. */
  scimKey: string | undefined;
  /** As an administrator saw it when last at rest. */
  control: Control = { users: [], keys: [], name: '' };
  /** Changes since then. */
  readonly asked: AskedChange[] = [];
  readonly persons: Person[] = [];
  readonly batches: Batch[] = [];
  readonly events = new Map<string, { readonly event: ModelEvent; readonly batch: Batch }>();
  /** Events that had expired at some time: they may have been removed. */
  readonly everExpired = new Set<string>();
  /** Events whose rows were removed behind the service, or with files of the log. */
  readonly removed = new Set<string>();
  readonly own = new OwnEvents();
  /** The first follower's order, which all others must match. */
  readonly order: string[] = [];
  #usersAsked = 0;
  readonly hides: (name: string) => boolean;
  readonly #shown = new Map<string, { readonly key: string; readonly shown: Shown }>();

  constructor(slug: string, id: string, hides: (name: string) => boolean) {
    this.slug = slug;
    this.id = id;
    this.hides = hides;
  }

  /** Numbers of users are never reused: a user may exist although a fault interrupted the request. */
  nextUser(): number {
    return this.#usersAsked++;
  }

  add(batch: Batch): void {
    this.batches.push(batch);
    for (const event of batch.events) this.events.set(event.id, { event, batch });
  }

  /** Removes the events that an answer refused. */
  refuse(batch: Batch, refused: ReadonlySet<ModelEvent | undefined>): void {
    if (refused.size === 0) return;
    batch.events = batch.sent.filter((event) => !refused.has(event));
    for (const { id } of batch.sent) this.events.delete(id);
    for (const event of batch.events) this.events.set(event.id, { event, batch });
  }

  /** The form that readers must get now. */
  shown(event: ModelEvent): Shown {
    const [actor] = event.persons;
    const erased = event.persons.filter(({ pseudonym }) => pseudonym !== undefined);
    const key = erased.map(({ pseudonym }) => pseudonym).join();
    const known = this.#shown.get(event.id);
    if (known?.key === key) return known.shown;
    const withAddress =
      actor?.pseudonym === undefined
        ? event.text
        : event.text.replace(/"ip":"[^"]*"/, `"ip":"${actor.pseudonym}"`);
    const text = erased.reduce(
      (source, { email, pseudonym }) => source.replaceAll(email, `${pseudonym}@erased.invalid`),
      withAddress,
    );
    const expected = expectedOf(parseTree(text), { ...names, hides: this.hides });
    const shown = { source: expected.source, expected };
    this.#shown.set(event.id, { key, shown });
    return shown;
  }

  get policyUnsure(): boolean {
    return this.isPolicyUnknown || Date.now() < this.policyKnownAtMs;
  }

  /** `aheadDays`: how far the service's clock is ahead, so it may hide events that have not expired. */
  visibility(event: ModelEvent, aheadDays: number): 'must' | 'may' | 'never' {
    if (this.removed.has(event.id)) return 'never';
    if (this.policyUnsure) return 'may';
    const isOver = this.days !== undefined && !this.held && event.ageDays > this.days;
    if (isOver) return 'never';
    if (this.everExpired.has(event.id)) return 'may';
    const isNearlyOver = this.days !== undefined && !this.held && event.ageDays + aheadDays > this.days;
    return isNearlyOver ? 'may' : 'must';
  }

  /** Until servers know the new policy, events of either may be shown. */
  policyBegins(): void {
    this.policyKnownAtMs = Date.now() + patiently(limits.graceMs);
    this.isPolicyUnknown = false;
    this.hadRetention ||= this.days !== undefined;
    this.noteExpired();
  }

  /** Notes the events that have expired by the present policy. */
  noteExpired(): void {
    if (this.days === undefined || this.held) return;
    for (const { event } of this.events.values())
      if (event.ageDays > this.days) this.everExpired.add(event.id);
  }

  get goodKeys(): readonly ModelKey[] {
    return this.keys.filter(({ state }) => state === 'good');
  }

  get reader(): ModelKey | undefined {
    return this.goodKeys.find(({ scopes }) => scopes.includes('read'));
  }

  /** Headers of a producer of the organization. */
  writing(draw: Draw, contentType: string): Record<string, string> {
    const writers = this.goodKeys.filter(({ scopes }) => scopes.includes('write'));
    return { 'x-api-key': draw.pick(writers).text, 'content-type': contentType };
  }

  /** Valid keys to write with. */
  get writes(): boolean {
    return this.goodKeys.some(({ scopes }) => scopes.includes('write'));
  }
}

export class Model {
  readonly organizations: ModelOrganization[] = [];
  /** Ages count from this moment, Unix microseconds. */
  readonly beganMicros: number;
  #batches = 0;
  #slugs = 0;
  events = 0;
  /** Names of members whose values are not stored. */
  readonly hides: (name: string) => boolean;

  constructor(beganMicros: number, redactKeys: string) {
    this.beganMicros = beganMicros;
    this.hides = hiddenNames(redactKeys);
  }

  nextSlug(): string {
    return `org${++this.#slugs}x`;
  }

  nextBatch(): number {
    return ++this.#batches;
  }

  get here(): readonly ModelOrganization[] {
    return this.organizations.filter(({ state }) => state === 'here');
  }

  organization(slug: string): ModelOrganization | undefined {
    return this.organizations.find((one) => one.slug === slug);
  }
}
