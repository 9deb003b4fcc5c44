import type { OrganizationFacts, SharedDirectory } from '../base/events/organization-facts.ts';
import type { OrgReference } from '../ocsf/audit-event.ts';

/** Which organization an event belongs to that has this `message.org`, or why it cannot be stored. */
type ResolveOrg = (reference: string | undefined) => OrgReference | string;

/** What became of an event without `message.org`: the fault is in the parameter, which named one for it. */
function byParameter(found: OrgReference | string): OrgReference | string {
  return typeof found === 'string' ? found.replace(': ', ': is absent, and the parameter org ') : found;
}

/** Finds the organizations of events (contract: Ingest). */
export class OrganizationLookup {
  #version = -1;
  #byReference = new Map<string, OrgReference>();

  /**
   * For the events of a key that belongs to `own`, or to none: those name one of `shared`. Events that name none are
   * those of `named`, if the request names one.
   */
  resolver(
    own: OrganizationFacts | undefined,
    shared: SharedDirectory | undefined,
    named?: string,
  ): ResolveOrg {
    const resolve = this.#resolver(own, shared);
    if (named === undefined) return resolve;
    return (reference) => (reference === undefined ? byParameter(resolve(named)) : resolve(reference));
  }

  #resolver(own: OrganizationFacts | undefined, shared: SharedDirectory | undefined): ResolveOrg {
    if (own !== undefined) {
      return (reference) => {
        const isOwn = reference === undefined || [own.slug, own.id].includes(reference.toLowerCase());
        return isOwn ? own : '/message/org: is not the organization of this API key';
      };
    }
    if (shared !== undefined) this.#read(shared);
    return (reference) => {
      if (reference === undefined)
        return '/message/org: is required with an API key of all organizations, or the parameter org';
      const found = this.#byReference.get(reference.toLowerCase());
      return found ?? '/message/org: is not an organization of this service';
    };
  }

  #read({ version, json }: SharedDirectory): void {
    if (version === this.#version) return;
    this.#version = version;
    this.#byReference = new Map();
    for (const organization of JSON.parse(Buffer.from(json).toString('utf8')) as OrganizationFacts[]) {
      this.#byReference.set(organization.slug, organization);
      this.#byReference.set(organization.id, organization);
    }
  }
}
