import type { Command } from 'commander';
import { Problem } from '../base/problem.ts';
import {
  type Change,
  changeOfOrganization,
  changeOfSignOn,
  retentionText,
} from '../control/change-events.ts';
import {
  createOrganization,
  findOrganization,
  listOrganizations,
  type Organization,
  type OrganizationSettings,
  updateOrganization,
} from '../control/organizations.ts';
import { setPasswords } from '../control/sign-on-settings.ts';
import type { Storage } from '../storage/storage.ts';
import type { CliDeps } from './context.ts';
import { controlCommand } from './control-command.ts';
import { table, timeText } from './output.ts';

const retentionHelp = 'how long events are kept, such as 90d; off: for ever; default: as RETENTION says';
const receiptsHelp = 'who sees receipts of transfers: own or off';

interface Options extends OrganizationSettings {
  readonly org?: string;
  readonly slug?: string;
  readonly passwords?: string;
  readonly force?: boolean;
}

/** A command about one organization, whichever way it is named. */
function aboutOrganization(command: Command, what: string): Command {
  return command
    .argument('[organization]', what)
    .option('--org <slug>', 'the same as the argument')
    .option('--slug <slug>', 'the same as the argument');
}

function referenceOf(argument: string | undefined, { org, slug }: Options): string {
  const reference = argument ?? org ?? slug;
  if (reference === undefined) throw new Problem('malformed', 'name the organization by its slug or id');
  return reference;
}

function view(organization: Organization) {
  const { id, slug, name, receipts } = organization;
  const created_at = timeText(organization.createdMicros);
  return { id, slug, name, retention: retentionText(organization), receipts, created_at };
}

/** `org create|list|set` (contract: Command line). */
export function registerOrg(program: Command, deps: CliDeps): void {
  const org = program.command('org').description('organizations');

  const create = aboutOrganization(org.command('create'), 'short name: a-z, 0-9 and -, at most 63')
    .description('make an organization')
    .requiredOption('--name <name>', 'name to show')
    .option('--retention <duration>', retentionHelp)
    .option('--receipts <policy>', `${receiptsHelp} (default: own)`);
  controlCommand(deps, create, (options: Options & { readonly name: string }, argument) => {
    const reference = referenceOf(argument, options);
    return async (storage) => {
      const organization = await createOrganization(storage, { ...options, slug: reference });
      const { id, slug, name } = organization;
      return {
        schema: 'CliNewOrganization',
        value: { id, slug, name },
        text: `Organization ${slug} created, id ${id}`,
        changes: [changeOfOrganization(organization, 'organizationCreated')],
      };
    };
  });

  const list = org.command('list').description('show every organization');
  controlCommand(deps, list, () => async (storage) => {
    const value = (await listOrganizations(storage)).map(view);
    const text = table(value, [
      ['slug', (one) => one.slug],
      ['name', (one) => one.name],
      ['retention', (one) => one.retention],
      ['receipts', (one) => one.receipts],
      ['created', (one) => one.created_at],
      ['id', (one) => one.id],
    ]);
    return { schema: 'CliOrganizations', value, text };
  });

  addSet(org, deps);
}

function addSet(org: Command, deps: CliDeps): void {
  const set = aboutOrganization(org.command('set'), 'slug or id')
    .description('change an organization')
    .option('--name <name>', 'name to show')
    .option('--retention <duration>', retentionHelp)
    .option('--receipts <policy>', receiptsHelp)
    .option('--passwords <on|off>', 'whether people may sign in by password, or by their provider alone')
    .option('--force', 'passwords off, though no administrator has signed in by the provider yet');
  controlCommand(deps, set, (options: Options, argument) => {
    const { name, retention, receipts, passwords } = options;
    const reference = referenceOf(argument, options);
    if ([name, retention, receipts, passwords].every((one) => one === undefined))
      throw new Problem('malformed', 'nothing to set: give --name, --retention, --receipts or --passwords');
    return async (storage) => {
      // First, as it may be refused.
      const changes =
        passwords === undefined ? [] : [await changePasswords(storage, reference, options, passwords)];
      const organization =
        (name ?? retention ?? receipts) === undefined
          ? await findOrganization(storage, reference)
          : await updateOrganization(storage, reference, options);
      if ((name ?? retention ?? receipts) !== undefined)
        changes.push(changeOfOrganization(organization, 'organizationUpdated'));
      return {
        schema: 'CliOrganization',
        value: view(organization),
        text: `Organization ${organization.slug} changed`,
        changes,
      };
    };
  });
}

async function changePasswords(
  storage: Storage,
  reference: string,
  { force }: Options,
  passwords: string,
): Promise<Change> {
  const { organization, before, now } = await setPasswords(storage, reference, { passwords, force });
  return changeOfSignOn(organization, before, now);
}
