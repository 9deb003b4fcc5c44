import type { Administration } from '../../control/administration.ts';
import type { SessionHandler } from '../endpoint.ts';
import { jsonReply } from '../response.ts';
import { userView } from '../views.ts';

/** GET /api/v1/portal/users: every user of the organization (contract: Credentials). */
export function usersHandler(administration: Administration): SessionHandler {
  return async (_, { organization }) =>
    jsonReply(200, 'Users', { data: (await administration.users(organization.id)).map(userView) });
}
