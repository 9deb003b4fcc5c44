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
import { type JsonOption, print, table, timeText, timeTextOrNull } from './output.ts';
import { runControlCommand } from './session.ts';

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

function addCreate(key: Command, deps: CliDeps): void {
  interface Options extends JsonOption {
    readonly org?: string;
    readonly allOrganizations?: true;
    readonly scopes: string;
    readonly name?: string;
    readonly expires?: string;
    readonly rateLimit?: string;
  }
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
    .action((options: Options) =>
      runControlCommand(deps, async (storage) => {
        const issued = await createApiKey(storage, { ...options, organization: options.org });
        await printIssued(deps, options, storage, issued);
        return changesOfKey(issued.apiKey, 'apiKeyCreated');
      }),
    );
}

function stateOf(revoked: string | null, expires: string | null): string {
  if (revoked !== null) return `revoked ${revoked}`;
  if (expires === null) return 'active';
  return Date.parse(expires) <= Date.now() ? `expired ${expires}` : `until ${expires}`;
}

function addList(key: Command, deps: CliDeps): void {
  key
    .command('list')
    .description('show keys')
    .option('--org <slug>', 'only of this organization')
    .option('--json', 'print JSON')
    .action((options: JsonOption & { readonly org?: string }) =>
      runControlCommand(deps, async (storage) => {
        const slugs = new Map((await listOrganizations(storage)).map(({ id, slug }) => [id, slug]));
        const views = (await listApiKeys(storage, options.org)).map((one) => ({
          id: one.id,
          name: one.name,
          organization:
            one.organizationId === undefined ? null : (slugs.get(one.organizationId) ?? one.organizationId),
          scopes: one.scopes,
          rate_limit: one.rateLimit === undefined ? null : formatRate(one.rateLimit),
          created_at: timeText(one.createdMicros),
          expires_at: timeTextOrNull(one.expiresMicros),
          revoked_at: timeTextOrNull(one.revokedMicros),
        }));
        const text = table(views, [
          ['id', (one) => one.id],
          ['organization', (one) => one.organization ?? '(all)'],
          ['scopes', (one) => one.scopes.join(',')],
          ['name', (one) => one.name],
          ['rate limit', (one) => one.rate_limit ?? ''],
          ['state', (one) => stateOf(one.revoked_at, one.expires_at)],
        ]);
        print(deps, options, 'CliKeys', views, text);
        return [];
      }),
    );
}

function addRotate(key: Command, deps: CliDeps): void {
  key
    .command('rotate')
    .description('give a key a new secret')
    .argument('<id>', 'id of the key')
    .option('--grace <duration>', 'how long the old secret stays good; 0 ends it at once', '24h')
    .option('--json', 'print JSON')
    .action((id: string, options: JsonOption & { readonly grace: string }) =>
      runControlCommand(deps, async (storage) => {
        const issued = await rotateApiKey(storage, id, options.grace);
        await printIssued(deps, options, storage, issued);
        return changesOfKey(issued.apiKey, 'apiKeyRotated');
      }),
    );
}

function addRevoke(key: Command, deps: CliDeps): void {
  key
    .command('revoke')
    .description('end a key for good')
    .argument('<id>', 'id of the key')
    .option('--json', 'print JSON')
    .action((id: string, options: JsonOption) =>
      runControlCommand(deps, async (storage) => {
        const revoked = await revokeApiKey(storage, id);
        const revoked_at = timeText(revoked.revokedMicros);
        print(deps, options, 'CliRevokedKey', { id, revoked_at }, `API key ${id} revoked at ${revoked_at}`);
        return changesOfKey(revoked, 'apiKeyRevoked');
      }),
    );
}

/** `key create|list|rotate|revoke` (contract: Command line). */
export function registerKey(program: Command, deps: CliDeps): void {
  const key = program.command('key').description('API keys');
  addCreate(key, deps);
  addList(key, deps);
  addRotate(key, deps);
  addRevoke(key, deps);
}
