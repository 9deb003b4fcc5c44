import type { Command } from 'commander';
import { formatRate } from '../base/time/rates.ts';
import {
  createApiKey,
  type IssuedKey,
  findApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
} from '../control/api-keys.ts';
import { changesOfKey } from '../control/change-events.ts';
import { findOrganization } from '../control/organizations.ts';
import type { Storage } from '../storage/storage.ts';
import type { CliDeps } from './context.ts';
import { controlCommand, slugsOf } from './control-command.ts';
import { table, timeText, timeTextOrNull } from './output.ts';

interface NewKeyOptions {
  readonly org?: string;
  readonly allOrganizations?: true;
  readonly scopes: string;
  readonly name?: string;
  readonly expires?: string;
  readonly rateLimit?: string;
}

async function shown(storage: Storage, { apiKey, text: key }: IssuedKey) {
  const { id, organizationId, scopes } = apiKey;
  const organization =
    organizationId === undefined ? null : (await findOrganization(storage, organizationId)).slug;
  const expires_at = timeTextOrNull(apiKey.expiresMicros);
  const owner = organization ?? 'all organizations';
  const end = expires_at === null ? 'no expiry' : `until ${expires_at}`;
  const text = `API key ${id} of ${owner} (${scopes.join(', ')}), ${end}\n${key}\nThe key is shown this once only.`;
  return { schema: 'CliIssuedKey', value: { id, key, organization, scopes, expires_at }, text } as const;
}

function stateOf(revoked: string | null, expires: string | null): string {
  if (revoked !== null) return `revoked ${revoked}`;
  if (expires === null) return 'active';
  return Date.parse(expires) <= Date.now() ? `expired ${expires}` : `until ${expires}`;
}

function addList(key: Command, deps: CliDeps): void {
  const list = key
    .command('list')
    .description('show keys')
    .option('--org <slug>', 'only of this organization');
  controlCommand(deps, list, ({ org }: { readonly org?: string }) => async (storage) => {
    const slugOf = await slugsOf(storage);
    const value = (await listApiKeys(storage, org)).map((one) => ({
      id: one.id,
      name: one.name,
      organization: one.organizationId === undefined ? null : slugOf(one.organizationId),
      scopes: one.scopes,
      rate_limit: one.rateLimit === undefined ? null : formatRate(one.rateLimit),
      created_at: timeText(one.createdMicros),
      expires_at: timeTextOrNull(one.expiresMicros),
      revoked_at: timeTextOrNull(one.revokedMicros),
    }));
    const text = table(value, [
      ['id', (one) => one.id],
      ['organization', (one) => one.organization ?? '(all)'],
      ['scopes', (one) => one.scopes.join(',')],
      ['name', (one) => one.name],
      ['rate limit', (one) => one.rate_limit ?? ''],
      ['state', (one) => stateOf(one.revoked_at, one.expires_at)],
    ]);
    return { schema: 'CliKeys', value, text };
  });
}

/** `key create|list|rotate|revoke` (contract: Command line). */
export function registerKey(program: Command, deps: CliDeps): void {
  const key = program.command('key').description('API keys');

  const create = key
    .command('create')
    .description('make a key, which is shown once')
    .option('--org <slug>', 'organization of the key')
    .option('--all-organizations', 'a key that writes for every organization')
    .requiredOption('--scopes <scopes>', 'read, write and scim, or some of these, by commas')
    .option('--name <name>', 'name to show')
    .option('--expires <duration>', 'life of the key, such as 90d (default: no end)')
    .option('--rate-limit <rate>', 'requests/window, such as 300/15s (default: as configured)');
  controlCommand(deps, create, (options: NewKeyOptions) => async (storage) => {
    const issued = await createApiKey(storage, { ...options, organization: options.org });
    return { ...(await shown(storage, issued)), changes: changesOfKey(issued.apiKey, 'apiKeyCreated') };
  });

  addList(key, deps);

  const rotate = key
    .command('rotate')
    .description('give a key a new secret')
    .argument('<id>', 'id of the key')
    .option('--grace <duration>', 'how long the old secret stays good; 0 ends it at once', '24h');
  controlCommand(deps, rotate, ({ grace }: { readonly grace: string }, id = '') => async (storage) => {
    const issued = await rotateApiKey(storage, id, grace);
    return { ...(await shown(storage, issued)), changes: changesOfKey(issued.apiKey, 'apiKeyRotated') };
  });

  const revoke = key.command('revoke').description('end a key for good').argument('<id>', 'id of the key');
  controlCommand(deps, revoke, (_, id = '') => async (storage) => {
    const before = await findApiKey(storage, id);
    const revoked = await revokeApiKey(storage, id);
    const revoked_at = timeText(revoked.revokedMicros);
    return {
      schema: 'CliRevokedKey',
      value: { id, revoked_at },
      text: `API key ${id} revoked at ${revoked_at}`,
      changes: before.revokedMicros === undefined ? changesOfKey(revoked, 'apiKeyRevoked') : [],
    };
  });
}
