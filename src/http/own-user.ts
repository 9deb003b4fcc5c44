import { Problem } from '../base/errors/problem.ts';
import { isUuid } from '../control/names.ts';
import type { UserReference } from '../control/users.ts';
import type { SessionCaller } from './endpoint.ts';

/** A user of the caller's organization, by its id alone; whatever is none does not exist. */
export function ownUser({ organization }: Pick<SessionCaller, 'organization'>, id: string): UserReference {
  if (!isUuid(id)) throw new Problem('not_found', 'There is no such user in this organization.');
  return { user: id, organization: organization.id };
}
