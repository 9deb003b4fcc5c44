import type { OrganizationFacts } from '../base/events/organization-facts.ts';
import { Problem } from '../base/errors/problem.ts';
import type { RequestContext } from './request-context.ts';

const challenge = { 'WWW-Authenticate': 'ApiKey header="X-API-Key", Bearer realm="audit"' };

/** `isUnknown`: it has the form of a key, and its id, which is no secret, is of none here. */
export function unauthorizedKey(isUnknown = false): Problem {
  const detail = 'There is no API key that is valid here, in X-API-Key or as Authorization: Bearer.';
  const hint = isUnknown ? ' The id of this one is unknown here: it may be of another installation.' : '';
  return new Problem('unauthorized', `${detail}${hint}`, { headers: challenge });
}

/** What ingest and reads must know of an organization; undefined when it has just been deleted. */
export type OrganizationLookup = (id: string) => OrganizationFacts | undefined;

/** The text of the key in either header; undefined where both hold something and it is not the same. */
export function presentedKey(context: RequestContext): string | undefined {
  const key = context.header('x-api-key');
  const token = bearerToken(context.header('authorization'));
  if (key === undefined || token === undefined) return key ?? token;
  return key === token ? key : undefined;
}

/**
 * What follows the scheme `Bearer`, in any case (RFC 9110); undefined under other schemes, which are not for us. Behind
 * another one the header was sent twice: nobody can say which of them counts, so what is returned is no key.
 */
function bearerToken(authorization: string | undefined): string | undefined {
  const [whole, other, token = ''] = /^(.*, *)?bearer(?: +(.*))?$/i.exec(authorization ?? '') ?? [];
  if (whole === undefined) return undefined;
  return other === undefined ? token : '';
}
