import type { Clock } from '../../base/clock.ts';
import { Problem } from '../../base/problem.ts';
import { formatRate, parseRate, type Rate } from '../../base/rates.ts';
import { changesOfKey } from '../../control/change-events.ts';
import type { SessionHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { type ChangeDeps, recordedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';
import { issuedKeyView } from '../views.ts';

export interface CreateApiKeyDeps extends ChangeDeps {
  readonly clock: Clock;
  /** The service's own limit: a key made here may have a lower one, not a higher one. Undefined: no limit. */
  readonly rateMax: Rate | undefined;
}

/** POST /api/v1/portal/api-keys: a new key, whose text is in this answer only (contract: Credentials). */
export function createApiKeyHandler(deps: CreateApiKeyDeps): SessionHandler {
  const { administration, clock, rateMax } = deps;
  return async (context, caller) => {
    const body = await readJson(context, 'NewApiKey');
    checkRate(body.rate_limit, rateMax);
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

function checkRate(text: string | undefined, max: Rate | undefined): void {
  const rate = text === undefined ? undefined : parseRate(text);
  if (rate === undefined || max === undefined) return;
  if (rate.requests / rate.windowMs <= max.requests / max.windowMs && rate.requests <= max.requests) return;
  throw new Problem('malformed', `/rate_limit: must not allow more than ${formatRate(max)}`);
}
