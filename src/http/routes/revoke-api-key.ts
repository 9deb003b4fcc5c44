import { changesOfKey } from '../../control/change-events.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { recordedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';
import { apiKeyView } from '../views.ts';

/** POST /api/v1/portal/api-keys/{id}/revoke: the end of a key; again, it changes nothing (contract: Credentials). */
export function revokeApiKeyHandler(deps: EndpointDeps): SessionHandler {
  const { administration, clock } = deps;
  return async (context, caller) => {
    const { organization } = caller;
    const { now } = await recordedChange(
      deps,
      context,
      caller,
      () => administration.revokeApiKey(organization.id, context.parameter('id')),
      ({ before, now }) => (before === now ? [] : changesOfKey(now, 'apiKeyRevoked')),
    );
    return jsonReply(200, 'ApiKey', apiKeyView(now, organization, clock()));
  };
}
