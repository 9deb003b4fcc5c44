import { formatMicrosIfAny } from '../../base/time/timestamp.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { jsonReply } from '../response.ts';
import { apiKeyView } from '../views.ts';

/**
 * GET /api/v1/portal/api-keys: every key of the organization with its last use, without anything secret (contract:
 * Credentials).
 */
export function apiKeysHandler({ administration, keyUses, clock }: EndpointDeps): SessionHandler {
  return async (_, { organization }) => {
    const keys = await administration.apiKeys(organization.id);
    const uses = await keyUses.lastUses(keys.map(({ id }) => id));
    const now = clock();
    const data = keys.map((key) => ({
      ...apiKeyView(key, organization, now),
      last_used_at: formatMicrosIfAny(uses.get(key.id)),
    }));
    return jsonReply(200, 'ApiKeys', { data });
  };
}
