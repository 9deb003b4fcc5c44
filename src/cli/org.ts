import type { Command } from 'commander';
import { changeOfOrganization, retentionText } from '../control/change-events.ts';
import {
  createOrganization,
  listOrganizations,
  type Organization,
  type OrganizationSettings,
  updateOrganization,
} from '../control/organizations.ts';
import { Problem } from '../base/problem.ts';
import type { CliDeps } from './context.ts';
import { runControlCommand } from './session.ts';
import { print, table, timeText } from './output.ts';

interface JsonOption {
  readonly json?: true;
}

function view(organization: Organization) {
  const { id, slug, name, receipts } = organization;
  const created_at = timeText(organization.createdMicros);
  return { id, slug, name, retention: retentionText(organization), receipts, created_at };
}

async function create(
  deps: CliDeps,
  options: OrganizationSettings & JsonOption & { readonly slug: string; readonly name: string },
): Promise<void> {
  await runControlCommand(deps, async (storage) => {
    const organization = await createOrganization(storage, options);
    const { id, slug, name } = organization;
    print(deps, options, 'CliNewOrganization', { id, slug, name }, `Organization ${slug} created, id ${id}`);
    return [changeOfOrganization(organization, 'organizationCreated')];
  });
}

async function list(deps: CliDeps, options: JsonOption): Promise<void> {
  await runControlCommand(deps, async (storage) => {
    const views = (await listOrganizations(storage)).map(view);
    const rows = views.map((one) => [
      one.slug,
      one.name,
      one.retention,
      one.receipts,
      one.created_at,
      one.id,
    ]);
    print(
      deps,
      options,
      'CliOrganizations',
      views,
      table(['slug', 'name', 'retention', 'receipts', 'created', 'id'], rows),
    );
    return [];
  });
}

async function set(
  deps: CliDeps,
  given: string | undefined,
  options: OrganizationSettings & JsonOption & { readonly slug?: string },
): Promise<void> {
  const reference = given ?? options.slug;
  if (reference === undefined) throw new Problem('malformed', 'name the organization by its slug or id');
  const { name, retention, receipts } = options;
  if (name === undefined && retention === undefined && receipts === undefined) {
    throw new Problem('malformed', 'nothing to set: give --name, --retention or --receipts');
  }
  await runControlCommand(deps, async (storage) => {
    const organization = await updateOrganization(storage, reference, options);
    print(deps, options, 'CliOrganization', view(organization), `Organization ${organization.slug} changed`);
    return [changeOfOrganization(organization, 'organizationUpdated')];
  });
}

const retentionHelp = 'how long events are kept, such as 90d; off: for ever; default: as RETENTION says';
const receiptsHelp = 'who sees receipts of transfers: own or off';

/** `org create|list|set` (contract: Command line). */
export function registerOrg(program: Command, deps: CliDeps): void {
  const org = program.command('org').description('organizations');
  org
    .command('create')
    .description('make an organization')
    .requiredOption('--slug <slug>', 'short name: a-z, 0-9 and -, at most 63')
    .requiredOption('--name <name>', 'name to show')
    .option('--retention <duration>', retentionHelp)
    .option('--receipts <policy>', `${receiptsHelp} (default: own)`)
    .option('--json', 'print JSON')
    .action((options) => create(deps, options));
  org
    .command('list')
    .description('show every organization')
    .option('--json', 'print JSON')
    .action((options) => list(deps, options));
  org
    .command('set')
    .description('change an organization')
    .argument('[slug]', 'slug or id')
    .option('--slug <slug>', 'the same as the argument')
    .option('--name <name>', 'name to show')
    .option('--retention <duration>', retentionHelp)
    .option('--receipts <policy>', receiptsHelp)
    .option('--json', 'print JSON')
    .action((slug, options) => set(deps, slug, options));
}
