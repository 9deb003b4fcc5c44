import type { OrganizationFacts, SharedDirectory } from '../base/events/organization-facts.ts';
import type { OrgReference } from '../ocsf/audit-event.ts';

/** The organization of an event by its `message.org`, or the reason to reject it. */
type ResolveOrg = (reference: string | undefined) => OrgReference | string;

/** The error of an event without `message.org` is one of the parameter `org`. */
function byParameter(found: OrgReference | string): OrgReference | string {
  return typeof found === 'string' ? found.replace(': ', ': is absent, and the parameter org ') : found;
}

export class OrganizationLookup {
  #version = -1;
  #byReference = new Map<string, OrgReference>();

  /**
   * For a key of the organization `own`, or of all organizations in `shared`. Events without `message.org`
   * belong to `named`, if the request has it.
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
