import type { Clock } from '../../base/clock.ts';
import { limits } from '../limits.ts';
import { Problem } from '../../base/problem.ts';
import { formatRate, parseRate, type Rate } from '../../base/rates.ts';
import { formatMicros } from '../../base/timestamp.ts';
import type { Administration } from '../../control/administration.ts';
import type { ApiKey, IssuedKey, Scope } from '../../control/api-keys.ts';
import { changesOfKey } from '../../control/change-events.ts';
import type { Organization } from '../../control/organizations.ts';
import type { Endpoint, SessionCaller } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { type ChangeDeps, recordedChange } from '../recorded-change.ts';
import type { Reply } from '../response.ts';
import type { RequestContext } from '../router.ts';

export interface ApiKeyDeps extends ChangeDeps {
  readonly administration: Administration;
  readonly clock: Clock;
  /** The service's own limit: a key made here may have a lower one, not a higher one. Undefined: no limit. */
  readonly rateMax: Rate | undefined;
}

interface NewKeyBody {
  readonly scopes: readonly Scope[];
  readonly name?: string;
  readonly expires?: string;
  readonly rate_limit?: string;
}

const newKeySchema = {
  type: 'object',
  required: ['scopes'],
  additionalProperties: false,
  properties: {
    scopes: { type: 'array', minItems: 1, uniqueItems: true, items: { enum: ['read', 'write'] } },
    name: { type: 'string', minLength: 1 },
    expires: { type: 'string' },
    rate_limit: { type: 'string' },
  },
} as const;

const rotationSchema = {
  type: 'object',
  additionalProperties: false,
  properties: { grace: { type: 'string' } },
} as const;

const path = '/api/v1/portal/api-keys';

/**
 * The API keys of the organization, for its administrators (contract: Credentials):
 *
 *     GET  /api/v1/portal/api-keys                every key, without anything secret
 *     POST /api/v1/portal/api-keys                a new key, whose text is in this answer only
 *     POST /api/v1/portal/api-keys/{id}/rotate    a new text for a key, likewise
 *     POST /api/v1/portal/api-keys/{id}/revoke    the end of a key; again, it changes nothing
 */
export function apiKeyEndpoints(deps: ApiKeyDeps): Endpoint[] {
  const roles = ['admin'] as const;
  const body = { maxBytes: limits.jsonBodyBytesMax };
  return [
    {
      method: 'GET',
      path,
      name: 'api keys',
      access: 'session',
      roles,
      handler: async (_, { organization }) => {
        const keys = await deps.administration.apiKeys(organization.id);
        const now = deps.clock();
        return {
          status: 200,
          body: JSON.stringify({ data: keys.map((key) => view(key, organization, now)) }),
        };
      },
    },
    {
      method: 'POST',
      path,
      name: 'create api key',
      access: 'session',
      roles,
      changes: true,
      body,
      handler: (context, caller) => create(deps, context, caller),
    },
    {
      method: 'POST',
      path: `${path}/*`,
      name: 'change api key',
      access: 'session',
      roles,
      changes: true,
      body,
      handler: (context, caller) => {
        const [id = '', action, ...more] = context.path.slice(path.length + 1).split('/');
        if (more.length === 0 && action === 'rotate') return rotate(deps, context, caller, id);
        if (more.length === 0 && action === 'revoke') return revoke(deps, context, caller, id);
        throw new Problem('not_found', 'There is nothing at this path.');
      },
    },
  ];
}

function state(key: ApiKey, nowMicros: number): 'active' | 'revoked' | 'expired' {
  if (key.revokedMicros !== undefined) return 'revoked';
  return key.expiresMicros !== undefined && key.expiresMicros <= nowMicros ? 'expired' : 'active';
}

const timeOrUndefined = (micros: number | undefined): string | undefined =>
  micros === undefined ? undefined : formatMicros(micros);

/** What may be shown of a key; members without a value are left out. */
function view(key: ApiKey, { slug }: Organization, nowMicros: number) {
  return {
    id: key.id,
    organization: slug,
    name: key.name === '' ? undefined : key.name,
    scopes: key.scopes,
    rate_limit: key.rateLimit === undefined ? undefined : formatRate(key.rateLimit),
    state: state(key, nowMicros),
    created_at: formatMicros(key.createdMicros),
    expires_at: timeOrUndefined(key.expiresMicros),
    revoked_at: timeOrUndefined(key.revokedMicros),
    /** Until when the text before the last rotation works as well. */
    previous_valid_until: timeOrUndefined(key.previousUntilMicros),
  };
}

/** The only answers that hold the text of a key. */
function issued(status: number, { apiKey, text }: IssuedKey, organization: Organization, now: number): Reply {
  const { id, ...shown } = view(apiKey, organization, now);
  return { status, body: JSON.stringify({ id, key: text, ...shown }) };
}

async function create(deps: ApiKeyDeps, context: RequestContext, caller: SessionCaller): Promise<Reply> {
  const { scopes, name, expires, rate_limit: rateLimit } = await readJson<NewKeyBody>(context, newKeySchema);
  const { organization } = caller;
  checkRate(rateLimit, deps.rateMax);
  const made = await recordedChange(deps, context, caller, async () => {
    const input = { scopes: scopes.join(','), name, expires, rateLimit };
    const result = await deps.administration.createApiKey(organization.id, input);
    return { result, changes: changesOfKey(result.apiKey, 'apiKeyCreated') };
  });
  return issued(201, made, organization, deps.clock());
}

function checkRate(text: string | undefined, max: Rate | undefined): void {
  const rate = text === undefined ? undefined : parseRate(text);
  if (rate === undefined || max === undefined) return;
  if (rate.requests / rate.windowMs <= max.requests / max.windowMs && rate.requests <= max.requests) return;
  throw new Problem('malformed', `/rate_limit: must not allow more than ${formatRate(max)}`);
}

async function rotate(
  deps: ApiKeyDeps,
  context: RequestContext,
  caller: SessionCaller,
  id: string,
): Promise<Reply> {
  const { grace } = await readJson<{ readonly grace?: string }>(context, rotationSchema);
  const { organization } = caller;
  const made = await recordedChange(deps, context, caller, async () => {
    const result = await deps.administration.rotateApiKey(organization.id, id, grace);
    return { result, changes: changesOfKey(result.apiKey, 'apiKeyRotated') };
  });
  return issued(200, made, organization, deps.clock());
}

async function revoke(
  deps: ApiKeyDeps,
  context: RequestContext,
  caller: SessionCaller,
  id: string,
): Promise<Reply> {
  const { organization } = caller;
  const revoked = await recordedChange(deps, context, caller, async () => {
    const { before, now } = await deps.administration.revokeApiKey(organization.id, id);
    return { result: now, changes: before === now ? [] : changesOfKey(now, 'apiKeyRevoked') };
  });
  return { status: 200, body: JSON.stringify(view(revoked, organization, deps.clock())) };
}
