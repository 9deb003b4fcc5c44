import type { Command } from 'commander';
import { Problem } from '../base/errors/problem.ts';
import { systemClock } from '../base/time/clock.ts';
import {
  type Change,
  changeOfOrganization,
  changeOfPolicy,
  changeOfSignOn,
  changesOfSettings,
  retentionText,
} from '../control/change-events.ts';
import {
  changeOfSettings,
  createOrganization,
  findOrganization,
  listOrganizations,
  type Organization,
  daysOf,
  type OrganizationSettings,
  updateOrganization,
} from '../control/organizations.ts';
import {
  keepsAll,
  placeHold,
  readPolicies,
  readPolicy,
  releaseHold,
  type RetentionPolicy,
  awaitHold,
  wouldEnd,
} from '../control/retention.ts';
import {
  beginDeletion,
  carryOutDeletion,
  type Deletion,
  listDeletions,
  outlivesDeletion,
  previewDeletion,
} from '../control/deletion.ts';
import { removalView, waitingRemovals } from '../control/planned-removals.ts';
import { EventRemoval } from '../storage/removal.ts';
import { setPasswords } from '../control/sign-on-settings.ts';
import type { Storage } from '../storage/storage.ts';
import type { CliDeps } from './context.ts';
import { controlCommand } from './control-command.ts';
import { eventCount, option } from '../tools/option.ts';
import { table, timeText } from './output.ts';
import { commandWith } from './repeat.ts';
import { counted } from '../tools/output.ts';
import { eventsOf, operator, recordAfter, type Session } from './session.ts';

const retentionHelp =
  'how long events are kept, stored ones included, such as 90d; off: for ever; default: as RETENTION says';
const receiptsHelp = 'who sees receipts of transfers: each user their own, or nobody';

const confirmHelp = 'how many stored events may be removed by this, as --dry-run tells';

interface Options extends Omit<OrganizationSettings, 'confirmed'> {
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

/** `org create|list|show|set|hold|release|delete|deletions` (contract: Command line). */
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
    .description('make an organization')
    .requiredOption('--slug, --org <slug>', 'short name: a-z, 0-9 and -, at most 63')
    .requiredOption('--name <name>', 'name to show')
    .option('--retention <duration>', retentionHelp)
    .option('--receipts <own|off>', `${receiptsHelp} (default: own)`);
  controlCommand(
    deps,
    create,
    (options: Options & { readonly name: string }) => async (storage) => {
      const organization = await createOrganization(storage, { ...options, slug: options.org });
      const { id, slug, name } = organization;
      return {
        schema: 'CliNewOrganization',
        value: { id, slug, name },
        text: `Organization ${slug} created, id ${id}`,
        changes: [changeOfOrganization(organization, 'organizationCreated')],
      };
    },
    { makes: true },
  );
}

function registerList(org: Command, deps: CliDeps): void {
  const list = org.command('list').description('show every organization');
  controlCommand(deps, list, () => async (storage) => {
    const policies = await readPolicies(storage);
    const value = (await listOrganizations(storage)).map((one) => view(one, policies.get(one.id)));
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
    .description('show an organization, and what its retention is about to remove')
    .requiredOption('--org <slug>', orgHelp);
  controlCommand(deps, show, ({ org: reference }: Options) => async (storage) => {
    const organization = await findOrganization(storage, reference);
    const policy = await readPolicy(storage, organization.id);
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
    .option('--passwords <on|off>', 'whether people may sign in by password, or by their provider alone')
    .option('--force', 'passwords off, though no administrator has signed in by the provider yet')
    .option('--dry-run', 'tell how many stored events a retention would remove, and change nothing')
    .addOption(option('--confirm <count>', confirmHelp, eventCount));
  controlCommand(deps, set, (options: Options) => {
    const { org: reference, name, retention, receipts, passwords, confirm } = options;
    if ([name, retention, receipts, passwords].every((one) => one === undefined))
      throw new Problem('malformed', 'nothing to set: give --name, --retention, --receipts or --passwords');
    const settings = { name, retention, receipts, confirmed: confirm };
    // Two changes, of which the second must not fail by what is wrong with the command.
    changeOfSettings(settings);
    return async (storage, session) => {
      const { retentionDays: defaultDays } = session.config;
      if (options.dryRun) return dryRun(session, reference, options, defaultDays);
      // First, as it may be refused; and recorded, as the second may be, too.
      if (passwords !== undefined)
        await recordNow(session, await changePasswords(storage, reference, options, passwords));
      const changed = await updateOrganization(storage, reference, settings, { defaultDays });
      return {
        schema: 'CliOrganization',
        value: view(changed.now, await readPolicy(storage, changed.now.id)),
        text: `Organization ${changed.now.slug} changed`,
        changes: changesOfSettings(changed),
      };
    };
  });
}

async function dryRun(
  session: Session,
  reference: string,
  { retention }: Pick<Options, 'retention'>,
  defaultDays: number | undefined,
) {
  const { storage } = session;
  const organization = await findOrganization(storage, reference);
  const policy = await readPolicy(storage, organization.id);
  const days = retention === undefined ? policy.days : daysOf(retention, defaultDays);
  const { events } = await wouldEnd(storage, organization.id, days, systemClock());
  const held = policy.heldMicros === undefined ? '' : '; it is held, so nothing goes before the release';
  const { args = [] } = session.deps;
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
    .description('remove nothing of an organization from now on, whatever its retention (legal hold)')
    .requiredOption('--org <slug>', orgHelp)
    .requiredOption('--reason <text>', 'why; recorded');
  controlCommand(deps, hold, (options: Options) => {
    const { org: reference } = options;
    const reason = requireReason(options);
    return async (storage, session) => {
      const organization = await findOrganization(storage, reference);
      const { before, now: policy } = await placeHold(storage, organization.id, reason);
      if (!(await outlivesDeletion(storage, organization.id)))
        throw new Problem(
          'conflict',
          'the organization was being deleted already: nothing of it can be held',
        );
      // Before the wait, which may take an hour: the hold is there also where nobody waits for its end.
      const isNew = before !== policy;
      await recordNow(
        session,
        isNew ? [changeOfPolicy(organization, 'legalHoldPlaced', policy, { reason })] : [],
      );
      const isSettled = await awaitHold(new EventRemoval(storage), organization.id);
      const { slug } = organization;
      const text = isSettled
        ? `Organization ${slug} is held: nothing of it is removed`
        : `Organization ${slug} is held; a removal that had begun before may go on in the engine`;
      return {
        schema: 'CliOrganization',
        value: view(organization, policy),
        text,
      };
    };
  });
}

/** Records changes at once, for a command that may fail after it has made them. */
function recordNow(session: Session, changes: readonly Change[]): Promise<void> {
  return recordAfter(session, eventsOf(changes), 'an audit event');
}

function registerRelease(org: Command, deps: CliDeps): void {
  const release = org
    .command('release')
    .description('end a legal hold: what the retention ends is removed, as many events as --confirm says')
    .requiredOption('--org <slug>', orgHelp)
    .option('--reason <text>', 'why; recorded (required, unless --dry-run)')
    .option('--dry-run', 'tell how many stored events this would remove, and change nothing')
    .addOption(option('--confirm <count>', confirmHelp, eventCount));
  controlCommand(deps, release, (options: Options) => {
    const { org: reference } = options;
    const reason = options.dryRun ? '' : requireReason(options);
    return async (storage, session) => {
      if (options.dryRun) return dryRun(session, reference, {}, undefined);
      const organization = await findOrganization(storage, reference);
      const asked = { reason, confirmed: options.confirm };
      const { now, removes } = await releaseHold(storage, organization.id, asked);
      return {
        schema: 'CliOrganization',
        value: view(organization, now),
        text: `Organization ${organization.slug} is not held any more`,
        changes: [changeOfPolicy(organization, 'legalHoldReleased', now, { reason, removes })],
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
    .description('remove an organization: its events, users, keys and tree')
    .requiredOption('--org <slug>', orgHelp)
    .option('--dry-run', 'tell what there is of it, and change nothing')
    .addOption(option('--confirm <count>', 'the number of its events, as --dry-run tells', eventCount));
  controlCommand(deps, command, (options: Options) => {
    const { org: reference } = options;
    if (options.dryRun === undefined && options.confirm === undefined)
      throw new Problem(
        'malformed',
        `see first what would be removed: ${commandWith(deps.args ?? [], '--dry-run')}`,
      );
    return async (storage) => {
      const preview = await previewDeletion(storage, reference, operator());
      const { deletion } = preview;
      const what = `${counted(deletion.events, 'event')}, ${counted(deletion.users, 'user')} and ${counted(deletion.apiKeys, 'API key')}`;
      if (options.dryRun)
        return {
          schema: 'CliDeletion',
          value: deletionView(deletion),
          text: `${what} of ${deletion.slug} would be removed\nto do it: ${commandWith(deps.args ?? [], '--confirm', String(deletion.events))}`,
        };
      await beginDeletion(storage, preview, options.confirm);
      const done = await carryOutDeletion(storage, new EventRemoval(storage), deletion, systemClock());
      if (done === undefined) throw new Error(`the deletion of ${deletion.slug} was taken back`);
      return {
        schema: 'CliDeletion',
        value: deletionView(done),
        text: `Organization ${deletion.slug} is deleted: ${what}`,
      };
    };
  });
}

function registerDeletions(org: Command, deps: CliDeps): void {
  const command = org.command('deletions').description('show the organizations that were deleted');
  controlCommand(deps, command, () => async (storage) => {
    const value = (await listDeletions(storage)).map(deletionView);
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

async function changePasswords(
  storage: Storage,
  reference: string,
  { force }: Options,
  passwords: string,
): Promise<Change[]> {
  const { organization, before, now } = await setPasswords(storage, reference, { passwords, force });
  return before === now ? [] : [changeOfSignOn(organization, before, now)];
}
