import { Problem } from '../../base/errors/problem.ts';
import { formatRate, parseRate, type Rate } from '../../base/time/rates.ts';
import { formatMicrosIfAny } from '../../base/time/timestamp.ts';
import { createApiKey, revokeApiKey, rotateApiKey } from '../../control/api-keys.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { recordedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';
import { apiKeyView, issuedKeyView } from '../views.ts';

/** With each key's last use, without anything secret. */
export function apiKeysHandler({ directory, keyUses, clock }: EndpointDeps): SessionHandler {
  return async (_, { organization }) => {
    const keys = directory.apiKeys(organization.id);
    const uses = await keyUses.lastUses(keys.map(({ id }) => id));
    const now = clock();
    const data = keys.map((key) => ({
      ...apiKeyView(key, organization, now),
      last_used_at: formatMicrosIfAny(uses.get(key.id)),
    }));
    return jsonReply(200, 'ApiKeys', { data });
  };
}

/** Only this answer has the text of the key. */
export function createApiKeyHandler(deps: EndpointDeps): SessionHandler {
  const { clock, config } = deps;
  return async (context, caller) => {
    const body = await readJson(context, 'NewApiKey');
    const { organization } = caller;
    const { scopes, name, expires, rate_limit: rateLimit } = body;
    checkRate(rateLimit, config.rateLimits.audit);
    if (scopes.includes('write')) checkRate(rateLimit, config.rateLimits.ingest);
    const input = { scopes: scopes.join(','), name, expires, rateLimit };
    const issued = await recordedChange(
      deps,
      context,
      caller,
      createApiKey({ ...input, organization: organization.id }),
    );
    return jsonReply(201, 'IssuedApiKey', issuedKeyView(issued, organization, clock()));
  };
}

/** A key may have a lower limit than the service's, not a higher one. */
function checkRate(text: string | undefined, max: Rate | undefined): void {
  const rate = text === undefined ? undefined : parseRate(text);
  if (rate === undefined || max === undefined) return;
  if (rate.requests / rate.windowMs <= max.requests / max.windowMs && rate.requests <= max.requests) return;
  throw new Problem('malformed', `/rate_limit: must not allow more than ${formatRate(max)}`);
}

/** Only this answer has the new text of the key. */
export function rotateApiKeyHandler(deps: EndpointDeps): SessionHandler {
  const { clock } = deps;
  return async (context, caller) => {
    const { grace } = await readJson(context, 'KeyRotation');
    const { organization } = caller;
    const issued = await recordedChange(
      deps,
      context,
      caller,
      rotateApiKey({ id: context.parameter('id'), organization: organization.id }, grace),
    );
    return jsonReply(200, 'IssuedApiKey', issuedKeyView(issued, organization, clock()));
  };
}

export function revokeApiKeyHandler(deps: EndpointDeps): SessionHandler {
  const { clock } = deps;
  return async (context, caller) => {
    const { organization } = caller;
    const { now } = await recordedChange(
      deps,
      context,
      caller,
      revokeApiKey({ id: context.parameter('id'), organization: organization.id }),
    );
    return jsonReply(200, 'ApiKey', apiKeyView(now, organization, clock()));
  };
}
