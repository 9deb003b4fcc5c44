import { Problem } from '../../base/errors/problem.ts';
import { formatRate, parseRate, type Rate } from '../../base/time/rates.ts';
import { changesOfKey } from '../../control/change-events.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { recordedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';
import { issuedKeyView } from '../views.ts';

/** POST /api/v1/portal/api-keys: a new key, whose text is in this answer only (contract: Credentials). */
export function createApiKeyHandler(deps: EndpointDeps): SessionHandler {
  const { administration, clock, config } = deps;
  return async (context, caller) => {
    const body = await readJson(context, 'NewApiKey');
    checkRate(body.rate_limit, config.rateLimits.audit);
    const { organization } = caller;
    const { scopes, name, expires, rate_limit: rateLimit } = body;
    const input = { scopes: scopes.join(','), name, expires, rateLimit };
    const issued = await recordedChange(
      deps,
      context,
      caller,
      () => administration.createApiKey(organization.id, input),
      ({ apiKey }) => changesOfKey(apiKey, 'apiKeyCreated'),
    );
    return jsonReply(201, 'IssuedApiKey', issuedKeyView(issued, organization, clock()));
  };
}

/** A key made here may have a lower limit than the service's own, not a higher one. */
function checkRate(text: string | undefined, max: Rate | undefined): void {
  const rate = text === undefined ? undefined : parseRate(text);
  if (rate === undefined || max === undefined) return;
  if (rate.requests / rate.windowMs <= max.requests / max.windowMs && rate.requests <= max.requests) return;
  throw new Problem('malformed', `/rate_limit: must not allow more than ${formatRate(max)}`);
}
