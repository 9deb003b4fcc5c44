import { changesOfKey } from '../../control/change-events.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { recordedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';
import { issuedKeyView } from '../views.ts';

/** POST /api/v1/portal/api-keys/{id}/rotate: a new text for a key, in this answer only (contract: Credentials). */
export function rotateApiKeyHandler(deps: EndpointDeps): SessionHandler {
  const { administration, clock } = deps;
  return async (context, caller) => {
    const { grace } = await readJson(context, 'KeyRotation');
    const { organization } = caller;
    const issued = await recordedChange(
      deps,
      context,
      caller,
      () => administration.rotateApiKey(organization.id, context.parameter('id'), grace),
      ({ apiKey }) => changesOfKey(apiKey, 'apiKeyRotated'),
    );
    return jsonReply(200, 'IssuedApiKey', issuedKeyView(issued, organization, clock()));
  };
}
