import type { UserLookup } from '../../control/provisioning.ts';
import { scimFault } from './attributes.ts';

const filterCharactersMax = 1_000;
const pattern =
  /^\s*(username|externalid|id|emails(?:\[type eq "work"\])?(?:\.value)?)\s+eq\s+("(?:[^"\\]|\\.)*")\s*$/i;

/** What Entra ID and Okta look for: `userName eq "…"`, and the same of `externalId`, `id` and `emails`; undefined: everybody. Throws Problem `malformed`. */
export function readFilter(text: string | undefined): UserLookup | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const [, name = '', quoted = ''] = pattern.exec(text.slice(0, filterCharactersMax + 1)) ?? [];
  const value = valueOf(quoted);
  if (text.length > filterCharactersMax || value === undefined)
    throw scimFault(
      'invalidFilter',
      'filter: must be userName, externalId, id or emails, then eq and a text in quotes',
    );
  const known = { externalid: 'externalId', id: 'id' } as const;
  const lower = name.toLowerCase();
  return { by: lower === 'externalid' || lower === 'id' ? known[lower] : 'email', value };
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
