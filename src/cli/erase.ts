import type { Command } from 'commander';
import { ifThere } from '../base/errors/system-error.ts';
import { isDirectoryLocked } from '../base/files/directory-lock.ts';
import { requireKnownSecret } from '../config/secrets.ts';
import type { StoredErasure } from '../control/erasure.ts';
import type { User } from '../control/users.ts';
import { carryOut, countEvents, type ErasureOptions, type Erasing, prepare } from '../erasure/erasing.ts';
import { areServersWriting } from '../storage/watermarks.ts';
import { eventCount, oneOf, option } from '../tools/option.ts';
import { counted, type JsonOption } from '../tools/output.ts';
import type { CliDeps } from './context.ts';
import { print, timeText } from './output.ts';
import { commandWith } from './repeat.ts';
import { operator, type EngineContext, setUp, withDirectory } from './command-work.ts';

const writerSignMsMax = 30_000;

interface EraseOptions extends ErasureOptions, JsonOption {
  readonly confirm?: number;
}

function stateOf(erasure: StoredErasure | undefined): 'counted' | 'begun' | 'finished' {
  if (erasure === undefined) return 'counted';
  return erasure.finishedMicros === undefined ? 'begun' : 'finished';
}

function view({ organization, person, account }: Erasing, events: number, erasure?: StoredErasure) {
  const { finishedMicros } = erasure ?? {};
  return {
    id: erasure?.id ?? null,
    organization: organization.id,
    pseudonym: person.pseudonym,
    events,
    digest: erasure?.digest ?? null,
    account:
      account === undefined
        ? null
        : { id: account.id, role: account.role, erased: erasure?.account === account.id },
    state: stateOf(erasure),
    finished_at: finishedMicros === undefined ? null : timeText(finishedMicros),
  };
}

function outcomeText(deps: CliDeps, run: Erasing, events: number, erasure?: StoredErasure): string {
  const { account, person, organization } = run;
  const lines =
    erasure === undefined
      ? [
          `${counted(events, 'stored event')} of ${organization.slug} would be changed; ${person.pseudonym} would replace the person`,
          `to do it: ${commandWith(deps.args ?? [], '--confirm', String(events))}`,
        ]
      : [
          erasure.finishedMicros === undefined
            ? `begun: a server changes ${counted(events, 'event')} when it runs; ${person.pseudonym} then replaces the person`
            : `done: changed ${counted(events, 'event')}; ${person.pseudonym} replaces the person`,
        ];
  if (account !== undefined) lines.push(accountText(run, account, erasure));
  return lines.join('\n');
}

function accountText({ erased }: Erasing, { id }: User, erasure?: StoredErasure): string {
  if (erased === undefined)
    return `the account ${id} of this address stays unchanged; --account erase erases it as well`;
  return erasure === undefined
    ? `the account ${id} would be disabled and renamed to the pseudonym`
    : `the account ${id} is disabled and renamed to the pseudonym`;
}

/** Whether servers write to a ClickHouse server: then one of them erases. */
async function hasOtherWriters({ config, storage }: EngineContext): Promise<boolean> {
  if (config.clickhouse.url === undefined) return false;
  return areServersWriting(storage, writerSignMsMax);
}

async function erase(deps: CliDeps, options: EraseOptions): Promise<void> {
  const setup = setUp(deps);
  const { clickhouse, dataDir } = setup.config;
  // Without a server the command itself holds the directory.
  const hasServer = clickhouse.url === undefined && (await ifThere(isDirectoryLocked(dataDir))) === true;
  if (clickhouse.url !== undefined)
    await requireKnownSecret(dataDir, 'PSEUDONYM_SECRET', setup.config.pseudonymSecret);
  await withDirectory(setup, async (context) => {
    const run = await prepare({ ...context, operator: operator() }, options);
    if (options.confirm === undefined) {
      const events = await countEvents(run);
      print(deps, options, 'CliErasure', view(run, events), outcomeText(deps, run, events));
      return;
    }
    const isServed = hasServer || (await hasOtherWriters(context));
    const done = await carryOut(run, options.confirm, isServed);
    print(
      deps,
      options,
      'CliErasure',
      view(run, done.events, done),
      outcomeText(deps, run, done.events, done),
    );
  });
}

const several = (text: string, _: string, before: unknown): string[] => [
  ...((before as string[] | undefined) ?? []),
  text,
];

export function registerErase(program: Command, deps: CliDeps): void {
  program
    .command('erase')
    .description('erase one person from the stored events of an organization; without --confirm only count')
    .requiredOption('--org <slug>', 'organization')
    .addOption(
      option(
        '--email <address>',
        'e-mail address of the person; may be repeated',
        several,
      ).makeOptionMandatory(),
    )
    .addOption(option('--name <name>', 'name of the person in events; may be repeated', several))
    .addOption(option('--id <id>', 'id of the person in events; may be repeated', several))
    .addOption(option('--ip <address>', 'address used only by the person; may be repeated', several))
    .addOption(
      option(
        '--account <what>',
        'keep or erase the account of this address',
        oneOf(['leave', 'erase']),
        'leave',
      ),
    )
    .addOption(option('--confirm <count>', 'number of events, as printed without --confirm', eventCount))
    .option('--json', 'print JSON')
    .action((options: EraseOptions) => erase(deps, options));
}
