import type { Command } from 'commander';
import { formatRate } from '../base/rates.ts';
import {
  createApiKey,
  type IssuedKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
} from '../control/api-keys.ts';
import { changesOfKey } from '../control/change-events.ts';
import { findOrganization, listOrganizations } from '../control/organizations.ts';
import type { Storage } from '../storage/storage.ts';
import type { CliDeps } from './context.ts';
import { runControlCommand } from './session.ts';
import { print, table, timeText, timeTextOrNull } from './output.ts';

interface JsonOption {
  readonly json?: true;
}

interface CreateOptions extends JsonOption {
  readonly org?: string;
  readonly allOrganizations?: true;
  readonly scopes: string;
  readonly name?: string;
  readonly expires?: string;
  readonly rateLimit?: string;
}

async function printIssued(
  deps: CliDeps,
  options: JsonOption,
  storage: Storage,
  issued: IssuedKey,
): Promise<void> {
  const { apiKey, text } = issued;
  const { id, organizationId, scopes } = apiKey;
  const organization =
    organizationId === undefined ? null : (await findOrganization(storage, organizationId)).slug;
  const expires_at = timeTextOrNull(apiKey.expiresMicros);
  const owner = organization ?? 'all organizations';
  const words = `API key ${id} of ${owner} (${scopes.join(', ')}), ${expires_at === null ? 'no expiry' : `until ${expires_at}`}`;
  const view = { id, key: text, organization, scopes, expires_at };
  print(deps, options, 'CliIssuedKey', view, `${words}\n${text}\nThe key is shown this once only.`);
}

async function create(deps: CliDeps, options: CreateOptions): Promise<void> {
  await runControlCommand(deps, async (storage) => {
    const issued = await createApiKey(storage, { ...options, organization: options.org });
    await printIssued(deps, options, storage, issued);
    return changesOfKey(issued.apiKey, 'apiKeyCreated');
  });
}

function stateOf(revoked: string | null, expires: string | null): string {
  if (revoked !== null) return `revoked ${revoked}`;
  if (expires === null) return 'active';
  return Date.parse(expires) <= Date.now() ? `expired ${expires}` : `until ${expires}`;
}

async function list(deps: CliDeps, options: JsonOption & { readonly org?: string }): Promise<void> {
  await runControlCommand(deps, async (storage) => {
    const slugs = new Map((await listOrganizations(storage)).map(({ id, slug }) => [id, slug]));
    const views = (await listApiKeys(storage, options.org)).map((key) => ({
      id: key.id,
      name: key.name,
      organization:
        key.organizationId === undefined ? null : (slugs.get(key.organizationId) ?? key.organizationId),
      scopes: key.scopes,
      rate_limit: key.rateLimit === undefined ? null : formatRate(key.rateLimit),
      created_at: timeText(key.createdMicros),
      expires_at: timeTextOrNull(key.expiresMicros),
      revoked_at: timeTextOrNull(key.revokedMicros),
    }));
    const rows = views.map((one) => [
      one.id,
      one.organization ?? '(all)',
      one.scopes.join(','),
      one.name,
      one.rate_limit ?? '',
      stateOf(one.revoked_at, one.expires_at),
    ]);
    const heading = ['id', 'organization', 'scopes', 'name', 'rate limit', 'state'];
    print(deps, options, 'CliKeys', views, table(heading, rows));
    return [];
  });
}

async function rotate(
  deps: CliDeps,
  id: string,
  options: JsonOption & { readonly grace: string },
): Promise<void> {
  await runControlCommand(deps, async (storage) => {
    const issued = await rotateApiKey(storage, id, options.grace);
    await printIssued(deps, options, storage, issued);
    return changesOfKey(issued.apiKey, 'apiKeyRotated');
  });
}

async function revoke(deps: CliDeps, id: string, options: JsonOption): Promise<void> {
  await runControlCommand(deps, async (storage) => {
    const key = await revokeApiKey(storage, id);
    const revoked_at = timeText(key.revokedMicros);
    print(deps, options, 'CliRevokedKey', { id, revoked_at }, `API key ${id} revoked at ${revoked_at}`);
    return changesOfKey(key, 'apiKeyRevoked');
  });
}

/** `key create|list|rotate|revoke` (contract: Command line). */
export function registerKey(program: Command, deps: CliDeps): void {
  const key = program.command('key').description('API keys');
  key
    .command('create')
    .description('make a key, which is shown once')
    .option('--org <slug>', 'organization of the key')
    .option('--all-organizations', 'a key that writes for every organization')
    .requiredOption('--scopes <scopes>', 'read, write or read,write')
    .option('--name <name>', 'name to show')
    .option('--expires <duration>', 'life of the key, such as 90d (default: no end)')
    .option('--rate-limit <rate>', 'requests/window, such as 300/15s (default: as configured)')
    .option('--json', 'print JSON')
    .action((options) => create(deps, options));
  key
    .command('list')
    .description('show keys')
    .option('--org <slug>', 'only of this organization')
    .option('--json', 'print JSON')
    .action((options) => list(deps, options));
  key
    .command('rotate')
    .description('give a key a new secret')
    .argument('<id>', 'id of the key')
    .option('--grace <duration>', 'how long the old secret stays good; 0 ends it at once', '24h')
    .option('--json', 'print JSON')
    .action((id, options) => rotate(deps, id, options));
  key
    .command('revoke')
    .description('end a key for good')
    .argument('<id>', 'id of the key')
    .option('--json', 'print JSON')
    .action((id, options) => revoke(deps, id, options));
}
