import type { Command } from 'commander';
import { formatRate } from '../base/time/rates.ts';
import { type IssuedKey, listApiKeys } from '../control/api-keys.ts';
import type { Directory } from '../control/directory.ts';
import type { CliDeps } from './context.ts';
import { controlCommand, slugOf } from './control-command.ts';
import { table, timeText, timeTextOrNull } from './output.ts';

interface NewKeyOptions {
  readonly org?: string;
  readonly allOrganizations?: true;
  readonly scopes: string;
  readonly name?: string;
  readonly expires?: string;
  readonly rateLimit?: string;
}

function shown(directory: Directory, { apiKey, text: key }: IssuedKey) {
  const { id, organizationId, scopes } = apiKey;
  const organization = organizationId === undefined ? null : slugOf(directory, organizationId);
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
    .description('list keys')
    .option('--org <slug>', 'only of this organization');
  controlCommand(deps, list, ({ org }: { readonly org?: string }) => ({ directory }) => {
    const value = listApiKeys(directory, org).map((one) => ({
      id: one.id,
      name: one.name,
      organization: one.organizationId === undefined ? null : slugOf(directory, one.organizationId),
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

export function registerKey(program: Command, deps: CliDeps): void {
  const key = program.command('key').description('API keys');

  const create = key
    .command('create')
    .description('create a key; it is shown only once')
    .option('--org <slug>', 'organization of the key')
    .option('--all-organizations', 'a key that writes for every organization')
    .requiredOption('--scopes <read|write|scim>', 'one of these, or several, separated by commas')
    .option('--name <name>', 'name to show')
    .option('--expires <duration>', 'lifetime of the key, such as 90d (default: no expiry)')
    .option('--rate-limit <rate>', 'requests/window, such as 300/15s (default: as configured)');
  controlCommand(deps, create, (options: NewKeyOptions) => async ({ directory, change }) => {
    return shown(directory, await change('createApiKey', { ...options, organization: options.org }));
  });

  addList(key, deps);

  const rotate = key
    .command('rotate')
    .description('give a key a new secret')
    .argument('<id>', 'id of the key')
    .option('--grace <duration>', 'how long the old secret stays valid; 0 ends it at once', '24h');
  controlCommand(
    deps,
    rotate,
    ({ grace }: { readonly grace: string }, id = '') =>
      async ({ directory, change }) => {
        return shown(directory, await change('rotateApiKey', { id }, grace));
      },
  );

  const revoke = key.command('revoke').description('revoke a key').argument('<id>', 'id of the key');
  controlCommand(deps, revoke, (_, id = '') => async ({ change }) => {
    const { now } = await change('revokeApiKey', { id });
    const revoked_at = timeText(now.revokedMicros ?? 0);
    return {
      schema: 'CliRevokedKey',
      value: { id, revoked_at },
      text: `API key ${id} revoked at ${revoked_at}`,
    };
  });
}
