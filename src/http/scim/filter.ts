import type { ProvisionedUser } from '../../control/provisioning.ts';
import { scimFault } from './attributes.ts';

const filterCharactersMax = 1_000;
const pattern =
  /^\s*(username|externalid|id|emails(?:\[type eq "work"\])?(?:\.value)?)\s+eq\s+("(?:[^"\\]|\\.)*")\s*$/i;

/** What Entra ID and Okta look for: `userName eq "…"`, and the same of `externalId`, `id` and `emails`. Throws Problem `malformed`. */
export function readFilter(text: string | undefined): (one: ProvisionedUser) => boolean {
  if (text === undefined || text.trim() === '') return () => true;
  const [, name = '', quoted = ''] = pattern.exec(text.slice(0, filterCharactersMax + 1)) ?? [];
  const value = valueOf(quoted);
  if (text.length > filterCharactersMax || value === undefined)
    throw scimFault(
      'invalidFilter',
      'filter: must be userName, externalId, id or emails, then eq and a text in quotes',
    );
  switch (name.toLowerCase()) {
    case 'externalid':
      return ({ externalId }) => externalId === value;
    case 'id':
      return ({ user }) => user.id === value.toLowerCase();
    default:
      return ({ user }) => user.emailLower === value.toLowerCase();
  }
}

function valueOf(quoted: string): string | undefined {
  try {
    const value: unknown = JSON.parse(quoted);
    return typeof value === 'string' ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
