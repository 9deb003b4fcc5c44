import { Problem } from '../base/errors/problem.ts';
import { isUuid } from '../control/names.ts';
import type { UserReference } from '../control/users.ts';
import type { SessionCaller } from './endpoint.ts';

/** Throws `not_found` for a user of another organization. */
export function ownUser({ organization }: Pick<SessionCaller, 'organization'>, id: string): UserReference {
  if (!isUuid(id)) throw new Problem('not_found', 'This organization has no such user.');
  return { user: id, organization: organization.id };
}
