import type { OrganizationFacts } from '../base/events/organization-facts.ts';
import { Problem } from '../base/errors/problem.ts';
import type { RequestContext } from './request-context.ts';

const challenge = { 'WWW-Authenticate': 'ApiKey header="X-API-Key", Bearer realm="audit"' };

/** `isUnknown`: well formed, but no key has this id (which is no secret). */
export function unauthorizedKey(isUnknown = false): Problem {
  const detail = 'Missing or invalid API key; send it in X-API-Key or as Authorization: Bearer.';
  const hint = isUnknown ? ' The id of this key is unknown; the key may belong to another installation.' : '';
  return new Problem('unauthorized', `${detail}${hint}`, { headers: challenge });
}

/** Undefined if the organization was just deleted. */
export type OrganizationLookup = (id: string) => OrganizationFacts | undefined;

/** The text of the key in either header; undefined if the two differ. */
export function presentedKey(context: RequestContext): string | undefined {
  const key = context.header('x-api-key');
  const token = bearerToken(context.header('authorization'));
  if (key === undefined || token === undefined) return key ?? token;
  return key === token ? key : undefined;
}

/** `Bearer` in any case (RFC 9110); undefined for other schemes. A header sent twice is ambiguous, so it counts as no key. */
function bearerToken(authorization: string | undefined): string | undefined {
  const [whole, other, token = ''] = /^(.*, *)?bearer(?: +(.*))?$/i.exec(authorization ?? '') ?? [];
  if (whole === undefined) return undefined;
  return other === undefined ? token : '';
}
