import type { Command } from 'commander';
import { Problem } from '../base/problem.ts';
import { changeOfOrganization, retentionText } from '../control/change-events.ts';
import {
  createOrganization,
  listOrganizations,
  type Organization,
  type OrganizationSettings,
  updateOrganization,
} from '../control/organizations.ts';
import type { CliDeps } from './context.ts';
import { type JsonOption, print, table, timeText } from './output.ts';
import { runControlCommand } from './session.ts';

const retentionHelp = 'how long events are kept, such as 90d; off: for ever; default: as RETENTION says';
const receiptsHelp = 'who sees receipts of transfers: own or off';

function view(organization: Organization) {
  const { id, slug, name, receipts } = organization;
  const created_at = timeText(organization.createdMicros);
  return { id, slug, name, retention: retentionText(organization), receipts, created_at };
}

function addCreate(org: Command, deps: CliDeps): void {
  type Options = OrganizationSettings & JsonOption & { readonly slug: string; readonly name: string };
  org
    .command('create')
    .description('make an organization')
    .requiredOption('--slug <slug>', 'short name: a-z, 0-9 and -, at most 63')
    .requiredOption('--name <name>', 'name to show')
    .option('--retention <duration>', retentionHelp)
    .option('--receipts <policy>', `${receiptsHelp} (default: own)`)
    .option('--json', 'print JSON')
    .action((options: Options) =>
      runControlCommand(deps, async (storage) => {
        const organization = await createOrganization(storage, options);
        const { id, slug, name } = organization;
        print(
          deps,
          options,
          'CliNewOrganization',
          { id, slug, name },
          `Organization ${slug} created, id ${id}`,
        );
        return [changeOfOrganization(organization, 'organizationCreated')];
      }),
    );
}

function addList(org: Command, deps: CliDeps): void {
  org
    .command('list')
    .description('show every organization')
    .option('--json', 'print JSON')
    .action((options: JsonOption) =>
      runControlCommand(deps, async (storage) => {
        const views = (await listOrganizations(storage)).map(view);
        const text = table(views, [
          ['slug', (one) => one.slug],
          ['name', (one) => one.name],
          ['retention', (one) => one.retention],
          ['receipts', (one) => one.receipts],
          ['created', (one) => one.created_at],
          ['id', (one) => one.id],
        ]);
        print(deps, options, 'CliOrganizations', views, text);
        return [];
      }),
    );
}

function addSet(org: Command, deps: CliDeps): void {
  type Options = OrganizationSettings & JsonOption & { readonly slug?: string };
  org
    .command('set')
    .description('change an organization')
    .argument('[slug]', 'slug or id')
    .option('--slug <slug>', 'the same as the argument')
    .option('--name <name>', 'name to show')
    .option('--retention <duration>', retentionHelp)
    .option('--receipts <policy>', receiptsHelp)
    .option('--json', 'print JSON')
    .action(async (given: string | undefined, options: Options) => {
      const { name, retention, receipts } = options;
      const reference = given ?? options.slug;
      if (reference === undefined) throw new Problem('malformed', 'name the organization by its slug or id');
      if (name === undefined && retention === undefined && receipts === undefined)
        throw new Problem('malformed', 'nothing to set: give --name, --retention or --receipts');
      await runControlCommand(deps, async (storage) => {
        const organization = await updateOrganization(storage, reference, options);
        const words = `Organization ${organization.slug} changed`;
        print(deps, options, 'CliOrganization', view(organization), words);
        return [changeOfOrganization(organization, 'organizationUpdated')];
      });
    });
}

/** `org create|list|set` (contract: Command line). */
export function registerOrg(program: Command, deps: CliDeps): void {
  const org = program.command('org').description('organizations');
  addCreate(org, deps);
  addList(org, deps);
  addSet(org, deps);
}
