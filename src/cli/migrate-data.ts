import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { isDirectoryLocked, lockDirectory } from '../base/directory-lock.ts';
import { Problem } from '../base/problem.ts';
import { StopStack } from '../base/stop-stack.ts';
import { markMoved } from '../config/data-dir.ts';
import type { CliDeps } from './context.ts';
import { carryPromises, endOf, instanceOf, requireStopped } from './migrate-data/finish.ts';
import { DataMove, endOfOrder } from './migrate-data/move.ts';
import {
  type MigrateOptions,
  migrateOptions,
  passwordVariable,
  type TargetOptions,
  targetOf,
} from './migrate-data/options.ts';
import { MoveRecords } from './migrate-data/record.ts';
import { findingsOf, type MoveReport, settingsFor, textOf } from './migrate-data/report.ts';
import { reading } from './migrate-data/slices.ts';
import { openTarget, recordIn, requireUnused, type Target } from './migrate-data/target.ts';
import { option } from './option.ts';
import { print } from './output.ts';
import { type Session, setUp, withStorage } from './session.ts';

/** What a run works with. */
interface Run extends Session {
  readonly options: MigrateOptions;
  readonly to: TargetOptions;
  readonly target: Target;
  readonly stops: StopStack;
}

/** One command at a time works on a data directory: what one sends the other would take for its own. */
async function takeTurn({ config, stops }: Pick<Run, 'config' | 'stops'>): Promise<void> {
  if (config.clickhouse.url !== undefined) return;
  const directory = join(config.dataDir, 'migrate-data');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (await isDirectoryLocked(directory))
    throw new Problem('conflict', 'another run of this command is at it: wait for its end');
  const lock = await lockDirectory(directory);
  stops.add(() => lock.release());
}

async function openMove(run: Run): Promise<DataMove> {
  const { storage: source, target, config, deps } = run;
  const id = await (await MoveRecords.open(source, config.clickhouse.cluster)).idOfSource();
  const record = await recordIn(target, source, id);
  return new DataMove({ source, target: target.storage, records: target.records, record, io: deps.io });
}

/** Events below a place, and organizations that have any, at the target. */
async function sizeOf(
  { target }: Run,
  before: bigint,
): Promise<Pick<MoveReport, 'events' | 'organizations'>> {
  const [row] = await target.storage.rows<Record<'events' | 'organizations', string>>(
    `SELECT toString(count()) AS events, toString(uniqExact(org)) AS organizations FROM events WHERE seq < {before:UInt64}`,
    { before },
    reading,
  );
  return { events: Number(row?.events ?? 0), organizations: Number(row?.organizations ?? 0) };
}

async function verified(run: Run, move: DataMove, before: bigint, others: boolean) {
  const differences = await move.differences(before, others);
  const findings = await findingsOf(run.storage, differences);
  const more = differences.length - findings.length;
  const notes = more > 0 ? [`${more} further differences are not listed`] : [];
  const healthy = differences.length === 0;
  return { findings, notes, healthy, copied: move.copied, ...(await sizeOf(run, before)) };
}

/** Copies what there is, beside a server that goes on. */
async function copy(run: Run, move: DataMove): Promise<MoveReport> {
  const left = await move.copyRounds();
  const size = await sizeOf(run, endOfOrder);
  return {
    state: 'copied',
    healthy: true,
    copied: move.copied,
    left,
    ...size,
    findings: [],
    notes: [],
    settings: {},
  };
}

/** From here on nobody starts on the embedded engine by mistake. */
async function leave({ config, to }: Run): Promise<void> {
  if (config.clickhouse.url === undefined) await markMoved(config.dataDir, to.connection.url);
}

/** Copies the rest of a source that nobody writes to, and holds all of it against the target. */
async function finish(run: Run, move: DataMove): Promise<MoveReport> {
  const { config, storage: source, target, to, stops } = run;
  const sides = { source, target: target.storage };
  await requireStopped(config, source, stops);
  await move.copyRest();
  const found = await verified(run, move, endOfOrder, true);
  const { end, notes } = await endOf(sides);
  if (found.healthy) {
    const promised = await carryPromises(config, sides);
    await move.finish(promised !== undefined && promised < end ? promised : end);
    await leave(run);
  }
  return {
    state: 'finished',
    ...found,
    left: 0,
    notes: [...found.notes, ...notes],
    settings: settingsFor(to),
  };
}

/** Compares what has been moved so far; after the end of the move, all of it. */
async function verify(run: Run, move: DataMove, state: 'verified' | 'finished'): Promise<MoveReport> {
  const found = await verified(run, move, move.record.through, false);
  if (state === 'finished') await leave(run);
  const settings = state === 'finished' ? settingsFor(run.to) : {};
  return { state, ...found, left: 0, settings };
}

async function work(run: Run): Promise<MoveReport> {
  const { options, target, config } = run;
  await takeTurn(run);
  const move = await openMove(run);
  const { state } = move.record;
  if (options.verify && !move.isBegun) throw new Problem('conflict', 'nothing has been moved there yet');
  if (options.verify) return verify(run, move, 'verified');
  if (state === 'finished') {
    if (options.finish) return verify(run, move, 'finished');
    throw new Problem(
      'conflict',
      'this move is finished: start the server on the target; --verify compares once more',
    );
  }
  await requireUnused(target, await instanceOf(config));
  await move.start();
  return options.finish ? finish(run, move) : copy(run, move);
}

async function migrateData(deps: CliDeps, options: MigrateOptions): Promise<void> {
  const setup = setUp(deps);
  const to = await targetOf(deps, options, setup.config);
  const report = await withStorage(
    setup,
    async (session) => {
      const stops = new StopStack(setup.log);
      try {
        const target = await openTarget(to, setup.log, stops);
        return await work({ ...session, options, to, target, stops });
      } finally {
        await stops.run();
      }
    },
    { evenIf: 'moved' },
  );
  print(deps, options, 'CliDataMove', report, textOf(report));
  if (!report.healthy) throw new Error('source and target do not have the same: see above');
}

/** `migrate-data` (contract: Command line): the data of an engine to another ClickHouse server. */
export function registerMigrateData(program: Command, deps: CliDeps): void {
  const command = program
    .command('migrate-data')
    .description(
      'move all data to a ClickHouse server, beside a running server, and resume where a run was cut short',
    );
  const [to, ...others] = migrateOptions;
  command.addOption(option(...to).makeOptionMandatory());
  command.option(
    '--to-user <user>',
    `its user; the password is in ${passwordVariable}, or is asked for`,
    'default',
  );
  for (const row of others) command.addOption(option(...row));
  command
    .option(
      '--finish',
      'the last run, with the server stopped: copy the rest, verify everything, print what to set',
    )
    .option('--verify', 'only compare what has been moved')
    .option('--json', 'print JSON')
    .action((options: MigrateOptions) => migrateData(deps, options));
}
