import type { EvidenceHead } from './evidence-file.ts';
import type { Report } from './report.ts';

/**
 * The name of an organization. The name in a file is unverified, because only the id is signed; the service's
 * own events verify it.
 */
export class NamedOrganization {
  readonly #organization: EvidenceHead['organization'];
  #isProven = false;
  #finding: Report['findings'][number] | undefined;

  constructor(organization: EvidenceHead['organization']) {
    this.#organization = organization;
  }

  look(position: number, source: Buffer): void {
    const { id, slug } = this.#organization;
    const name = nameIn(source, id);
    if (name === undefined) return;
    if (name === slug) this.#isProven = true;
    else
      this.#finding ??= {
        kind: 'altered',
        position,
        detail: `the first line of the file names the organization ${JSON.stringify(slug)}, but the event at position ${position} names it ${JSON.stringify(name)}`,
      };
  }

  get findings(): Report['findings'] {
    return this.#finding === undefined ? [] : [this.#finding];
  }

  get notes(): Report['notes'] {
    if (this.#isProven || this.#finding !== undefined) return [];
    const { id, slug } = this.#organization;
    return [
      `no event in the file confirms that the organization ${id} is named ${JSON.stringify(slug)}: the name is unverified`,
    ];
  }
}

function nameIn(source: Buffer, id: string): string | undefined {
  if (!source.includes('"type":"organization"')) return undefined;
  interface Event {
    readonly message?: { readonly target?: Partial<Record<'id' | 'name' | 'type', unknown>> };
  }
  const target = (JSON.parse(source.toString('utf8')) as Event).message?.target;
  const isOfIt = target?.type === 'organization' && target.id === id;
  return isOfIt && typeof target.name === 'string' ? target.name : undefined;
}
