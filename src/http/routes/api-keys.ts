import type { Clock } from '../../base/clock.ts';
import type { Administration } from '../../control/administration.ts';
import type { SessionHandler } from '../endpoint.ts';
import { jsonReply } from '../response.ts';
import { apiKeyView } from '../views.ts';

/** GET /api/v1/portal/api-keys: every key of the organization, without anything secret (contract: Credentials). */
export function apiKeysHandler(administration: Administration, clock: Clock): SessionHandler {
  return async (_, { organization }) => {
    const keys = await administration.apiKeys(organization.id);
    const now = clock();
    return jsonReply(200, 'ApiKeys', { data: keys.map((key) => apiKeyView(key, organization, now)) });
  };
}
