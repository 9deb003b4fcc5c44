import type { OrganizationFacts, SharedDirectory } from '../base/events/organization-facts.ts';
import type { Directory } from './directory.ts';
import { effectiveRetentionDays, type Organization } from './organizations.ts';
import { daysKept, type RetentionPolicy } from './retention.ts';

/** The directory as ingest and its worker threads need it. */
export class IngestDirectory {
  readonly #directory: Directory;
  readonly #retentionDays: number | undefined;
  /** One object for each state of an organization. */
  readonly #facts = new WeakMap<Organization, KnownFacts>();
  #shared: SharedDirectory | undefined;

  /** `retentionDays`: the default; undefined: for ever. */
  constructor(directory: Directory, retentionDays: number | undefined) {
    this.#directory = directory;
    this.#retentionDays = retentionDays;
  }

  organization(id: string): OrganizationFacts | undefined {
    const organization = this.#directory.organizationById(id);
    return organization && this.#factsOf(organization);
  }

  shared(): SharedDirectory {
    const version = this.#directory.version();
    if (this.#shared?.version !== version) {
      const all = this.#directory.organizations().map((organization) => this.#factsOf(organization));
      const text = Buffer.from(JSON.stringify(all), 'utf8');
      const json = new Uint8Array(new SharedArrayBuffer(text.length));
      json.set(text);
      this.#shared = { version, json };
    }
    return this.#shared;
  }

  #factsOf(organization: Organization): OrganizationFacts {
    const { id, slug } = organization;
    const policy = this.#directory.policyOf(id);
    const known = this.#facts.get(organization);
    if (known !== undefined && known.policy === policy) return known.facts;
    // Before an organization's first policy its setting counts.
    const retentionDays =
      policy === undefined ? effectiveRetentionDays(organization, this.#retentionDays) : daysKept(policy);
    const facts = { id, slug, retentionDays };
    this.#facts.set(organization, { policy, facts });
    return facts;
  }
}

interface KnownFacts {
  readonly policy: RetentionPolicy | undefined;
  readonly facts: OrganizationFacts;
}
