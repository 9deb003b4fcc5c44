import type { Command } from 'commander';
import { Problem } from '../base/errors/problem.ts';
import { systemClock } from '../base/time/clock.ts';
import { retentionText } from '../control/change-events.ts';
import {
  changeOfSettings,
  daysOf,
  findOrganization,
  type Organization,
  type OrganizationSettings,
} from '../control/organizations.ts';
import {
  awaitHold,
  keepsAll,
  policyOf,
  previewRelease,
  type RetentionPolicy,
  wouldEnd,
} from '../control/retention.ts';
import { RetentionPreview } from '../control/retention-preview.ts';
import { carryOutDeletion, type Deletion, previewDeletion } from '../control/deletion.ts';
import { removalView, waitingRemovals } from '../control/planned-removals.ts';
import { EventRemoval } from '../storage/removal.ts';
import type { CliDeps } from './context.ts';
import { controlCommand } from './control-command.ts';
import { eventCount, option } from '../tools/option.ts';
import { table, timeText } from './output.ts';
import { commandWith } from './repeat.ts';
import { counted } from '../tools/output.ts';
import { type ControlContext, operator } from './command-work.ts';

const retentionHelp =
  'how long events are kept, stored ones included, such as 90d; off: for ever; default: as RETENTION says';
const receiptsHelp = 'receipts of transfers: each user sees their own, or none';

const confirmHelp = 'number of stored events to remove, as printed by --dry-run';

interface Options extends OrganizationSettings {
  readonly confirm?: number;
  readonly dryRun?: true;
  readonly reason?: string;
  readonly org: string;
  readonly passwords?: string;
  readonly force?: boolean;
}

const orgHelp = 'slug or id of the organization';

function view(organization: Organization, policy: RetentionPolicy | undefined) {
  const { id, slug, name, receipts } = organization;
  const { days, heldMicros, holdReason } = policy ?? keepsAll(id);
  return {
    id,
    slug,
    name,
    retention: retentionText(organization),
    kept_days: days ?? null,
    hold: heldMicros === undefined ? null : { since: timeText(heldMicros), reason: holdReason },
    receipts,
    created_at: timeText(organization.createdMicros),
  };
}

export function registerOrg(program: Command, deps: CliDeps): void {
  const org = program.command('org').description('organizations');
  registerCreate(org, deps);
  registerList(org, deps);
  registerShow(org, deps);
  registerSet(org, deps);
  registerHold(org, deps);
  registerRelease(org, deps);
  registerDelete(org, deps);
  registerDeletions(org, deps);
}

function registerCreate(org: Command, deps: CliDeps): void {
  const create = org
    .command('create')
    .description('create an organization')
    .requiredOption('--slug, --org <slug>', 'short name: a-z, 0-9 and -, at most 63')
    .requiredOption('--name <name>', 'name to show')
    .option('--retention <duration>', retentionHelp)
    .option('--receipts <own|off>', `${receiptsHelp} (default: own)`);
  controlCommand(
    deps,
    create,
    (options: Options & { readonly name: string }) =>
      async ({ change }) => {
        const { id, slug, name } = await change('createOrganization', { ...options, slug: options.org });
        return {
          schema: 'CliNewOrganization',
          value: { id, slug, name },
          text: `Organization ${slug} created, id ${id}`,
        };
      },
    { makes: true },
  );
}

function registerList(org: Command, deps: CliDeps): void {
  const list = org.command('list').description('list organizations');
  controlCommand(deps, list, () => ({ directory }) => {
    const value = directory.organizations().map((one) => view(one, directory.policyOf(one.id)));
    const text = table(value, [
      ['slug', (one) => one.slug],
      ['name', (one) => one.name],
      ['retention', (one) => one.retention],
      ['held since', (one) => one.hold?.since ?? ''],
      ['receipts', (one) => one.receipts],
      ['created', (one) => one.created_at],
      ['id', (one) => one.id],
    ]);
    return { schema: 'CliOrganizations', value, text };
  });
}

function registerShow(org: Command, deps: CliDeps): void {
  const show = org
    .command('show')
    .description('show an organization and its planned removal')
    .requiredOption('--org <slug>', orgHelp);
  controlCommand(deps, show, ({ org: reference }: Options) => async ({ storage, directory }) => {
    const organization = findOrganization(directory, reference);
    const policy = directory.policyOf(organization.id);
    const removal = (await waitingRemovals(storage, organization.id)).get(organization.id);
    const value = { ...view(organization, policy), ...removalView(removal) };
    return { schema: 'CliOrganization', value, text: shownText(value) };
  });
}

function shownText({ hold, kept_days, planned_removal: removal, ...shown }: ShownOrganization): string {
  const rows: [string, string][] = [
    ['slug', shown.slug],
    ['name', shown.name],
    ['id', shown.id],
    ['retention', shown.retention],
    ['events are kept', kept_days === null ? 'for ever' : counted(kept_days, 'day')],
    ['legal hold', hold === null ? 'none' : `since ${hold.since}: ${hold.reason}`],
    ['planned removal', removal === undefined ? 'none' : removalText(removal)],
    ['receipts', shown.receipts],
    ['created', shown.created_at],
  ];
  return rows.map(([name, text]) => `${name.padEnd(17)}${text}`).join('\n');
}

type ShownOrganization = ReturnType<typeof view> & ReturnType<typeof removalView>;

function removalText({
  events,
  before,
  in_seconds,
}: NonNullable<ShownOrganization['planned_removal']>): string {
  const hours = Math.ceil(in_seconds / 3600);
  const when = in_seconds === 0 ? 'under way' : `after servers have run for ${counted(hours, 'more hour')}`;
  return `${counted(events, 'event')} from before ${before}, hidden already: ${when}`;
}

function registerSet(org: Command, deps: CliDeps): void {
  const set = org
    .command('set')
    .description('change an organization')
    .requiredOption('--org <slug>', orgHelp)
    .option('--name <name>', 'name to show')
    .option('--retention <duration>', retentionHelp)
    .option('--receipts <own|off>', receiptsHelp)
    .option('--passwords <on|off>', 'allow sign-in with a password, or only with the provider')
    .option('--force', 'turn passwords off before an administrator has signed in with the provider')
    .option('--dry-run', 'print how many stored events the retention would remove, and change nothing')
    .addOption(option('--confirm <count>', confirmHelp, eventCount));
  controlCommand(deps, set, (options: Options) => {
    const { org: reference, name, retention, receipts, passwords, confirm } = options;
    if ([name, retention, receipts, passwords].every((one) => one === undefined))
      throw new Problem('malformed', 'nothing to set: give --name, --retention, --receipts or --passwords');
    const settings = { name, retention, receipts };
    changeOfSettings(settings);
    return async (context) => {
      const { storage, directory, change, config } = context;
      const { retentionDays: defaultDays } = config;
      if (options.dryRun) return dryRun(context, reference, options, defaultDays);
      const preview = new RetentionPreview({ storage, directory, clock: systemClock, defaultDays });
      const removed = await preview.of(reference, settings, confirm);
      const switched = passwords === undefined ? undefined : { passwords, force: options.force };
      const { now } = await change('setOrganization', reference, settings, removed, switched);
      return {
        schema: 'CliOrganization',
        value: view(now, directory.policyOf(now.id)),
        text: `Organization ${now.slug} changed`,
      };
    };
  });
}

async function dryRun(
  context: ControlContext,
  reference: string,
  { retention }: Pick<Options, 'retention'>,
  defaultDays: number | undefined,
) {
  const { storage, directory } = context;
  const organization = findOrganization(directory, reference);
  const policy = policyOf(directory, organization.id);
  const days = retention === undefined ? policy.days : daysOf(retention, defaultDays);
  const { events } = await wouldEnd(storage, organization.id, days, systemClock());
  const held = policy.heldMicros === undefined ? '' : '; it is held, so nothing goes before the release';
  const { args = [] } = context.deps;
  const isComplete = retention !== undefined || args.includes('--reason');
  const more = isComplete ? [] : ['--reason', '…'];
  const repeated = commandWith(args, ...more, '--confirm', String(events));
  return {
    schema: 'CliOrganization' as const,
    value: { ...view(organization, policy), would_remove: events },
    text: `${counted(events, 'stored event')} of ${organization.slug} would be removed${held}\nto do it: ${repeated}`,
  };
}

function requireReason({ reason }: Options): string {
  if (reason !== undefined && reason.trim() !== '') return reason;
  throw new Problem('malformed', '--reason: say why; it is recorded');
}

function registerHold(org: Command, deps: CliDeps): void {
  const hold = org
    .command('hold')
    .description('stop every removal of an organization (legal hold)')
    .requiredOption('--org <slug>', orgHelp)
    .requiredOption('--reason <text>', 'reason, which is recorded');
  controlCommand(deps, hold, (options: Options) => {
    const { org: reference } = options;
    const reason = requireReason(options);
    return async ({ storage, directory, change }) => {
      const organization = findOrganization(directory, reference);
      const { now: policy } = await change('placeHold', organization.id, reason);
      const isSettled = await awaitHold(new EventRemoval(storage), organization.id);
      const { slug } = organization;
      const text = isSettled
        ? `Organization ${slug} is held: nothing of it is removed`
        : `Organization ${slug} is held; a removal that had begun before may go on in the engine`;
      return { schema: 'CliOrganization', value: view(organization, policy), text };
    };
  });
}

function registerRelease(org: Command, deps: CliDeps): void {
  const release = org
    .command('release')
    .description('end a legal hold; expired events are then removed, as many as --confirm says')
    .requiredOption('--org <slug>', orgHelp)
    .option('--reason <text>', 'reason, which is recorded (required, unless --dry-run)')
    .option('--dry-run', 'print how many stored events this would remove, and change nothing')
    .addOption(option('--confirm <count>', confirmHelp, eventCount));
  controlCommand(deps, release, (options: Options) => {
    const { org: reference } = options;
    const reason = options.dryRun ? '' : requireReason(options);
    return async (context) => {
      if (options.dryRun) return dryRun(context, reference, {}, undefined);
      const { storage, directory, change } = context;
      const organization = findOrganization(directory, reference);
      const policy = policyOf(directory, organization.id);
      const preview = await previewRelease(storage, policy, options.confirm, systemClock());
      const { now } = await change('releaseHold', organization, reason, preview);
      return {
        schema: 'CliOrganization',
        value: view(organization, now),
        text: `Organization ${organization.slug} is not held any more`,
      };
    };
  });
}

function deletionView({ id, slug, name, events, users, apiKeys, checkpoint, ...times }: Deletion) {
  return {
    id,
    slug,
    name,
    events,
    users,
    api_keys: apiKeys,
    checkpoint: checkpoint === '' ? null : checkpoint,
    operator: times.operator,
    started_at: timeText(times.startedMicros),
    finished_at: times.finishedMicros === undefined ? null : timeText(times.finishedMicros),
  };
}

function registerDelete(org: Command, deps: CliDeps): void {
  const command = org
    .command('delete')
    .description('delete an organization with its events, users, keys and tree')
    .requiredOption('--org <slug>', orgHelp)
    .option('--dry-run', 'print the numbers of its events, users and keys, and change nothing')
    .addOption(option('--confirm <count>', 'number of its events, as printed by --dry-run', eventCount));
  controlCommand(deps, command, (options: Options) => {
    const { org: reference } = options;
    if (options.dryRun === undefined && options.confirm === undefined)
      throw new Problem(
        'malformed',
        `see first what would be removed: ${commandWith(deps.args ?? [], '--dry-run')}`,
      );
    return async ({ storage, directory, change }) => {
      const store = { storage, directory };
      const preview = await previewDeletion(store, reference, operator());
      const what = `${counted(preview.events, 'event')}, ${counted(preview.users, 'user')} and ${counted(preview.apiKeys, 'API key')}`;
      if (options.dryRun)
        return {
          schema: 'CliDeletion',
          value: deletionView({ ...preview, startedMicros: systemClock(), finishedMicros: undefined }),
          text: `${what} of ${preview.slug} would be removed\nto do it: ${commandWith(deps.args ?? [], '--confirm', String(preview.events))}`,
        };
      const begun = await change('beginDeletion', preview, options.confirm);
      const end = (id: string) => change('endDeletion', id);
      const done = await carryOutDeletion(store, new EventRemoval(storage), begun, { end });
      return {
        schema: 'CliDeletion',
        value: deletionView(done),
        text: `Organization ${preview.slug} is deleted: ${what}`,
      };
    };
  });
}

function registerDeletions(org: Command, deps: CliDeps): void {
  const command = org.command('deletions').description('list deleted organizations');
  controlCommand(deps, command, () => ({ directory }) => {
    const value = directory.deletions().map(deletionView);
    const text = table(value, [
      ['slug', (one) => one.slug],
      ['events', (one) => String(one.events)],
      ['begun', (one) => one.started_at],
      ['finished', (one) => one.finished_at ?? 'not yet'],
      ['by', (one) => one.operator],
      ['id', (one) => one.id],
    ]);
    return { schema: 'CliDeletions', value, text };
  });
}
