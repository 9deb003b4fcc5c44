import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { projectFile } from '../base/files/project-file.ts';
import { isServed } from '../base/files/directory-lock.ts';
import { ifThere } from '../base/errors/system-error.ts';
import { Problem } from '../base/errors/problem.ts';
import { BackupDirectory } from '../backup/backup-directory.ts';
import { BackupRun, mebibytes } from '../backup/take.ts';
import { fullSpeedRow } from '../backup/throttle.ts';
import { requireUsable } from '../config/data-dir.ts';
import { eventsInLog } from '../ingest/log-copy.ts';
import type { CliDeps } from './context.ts';
import { print } from './output.ts';
import { wrong } from '../tools/option.ts';
import { counted, type JsonOption } from '../tools/output.ts';
import { createProgress } from '../tools/progress.ts';
import { setUp, type Setup, withStorage } from './command-work.ts';

const backupLogMsMax = 30_000;
const backupLogPollMs = 100;

interface BackupOptions extends JsonOption {
  readonly to?: string;
  readonly verify?: string;
  readonly backup?: string;
  readonly full?: true;
  readonly withSecrets?: true;
  readonly fullSpeed?: true;
}

const page = (): string => projectFile('docs/back-up.md');

export function directoryAt(text: string, name: string): BackupDirectory {
  if (text === '' || text.includes('\0') || /^[a-z0-9]+:\/\//.test(text))
    throw wrong(name, `a directory; copy it to a bucket with another tool (${page()})`);
  return new BackupDirectory(text);
}

/** Waits until the table has all events of the log; without a running server it starts one. */
async function sendLog(setup: Setup): Promise<void> {
  const { deps, config, log } = setup;
  const { dataDir } = config;
  const waiting = await eventsInLog(dataDir);
  if (waiting.size === 0) return;
  if ((await ifThere(isServed(dataDir))) !== true) {
    await requireUsable(dataDir);
    const own = { ...config, host: '127.0.0.1', port: 0, tls: undefined };
    const service = await deps.startService(own, { log, accessLogTo: '/dev/null' });
    try {
      await service.flush(backupLogMsMax);
    } finally {
      await service.stop();
    }
  }
  const deadline = performance.now() + backupLogMsMax;
  for (;;) {
    const now = await eventsInLog(dataDir);
    const left = [...waiting.keys()].filter((number) => now.has(number));
    if (left.length === 0) return;
    if (performance.now() > deadline) {
      const events = left.reduce((sum, number) => sum + (now.get(number) ?? 0), 0);
      throw new Problem(
        'conflict',
        `the log of DATA_DIR ${dataDir} has ${counted(events, 'event')} that the engine does not accept; nothing was backed up; "auditlog doctor" shows the reason`,
      );
    }
    await sleep(backupLogPollMs);
  }
}

async function take(deps: CliDeps, to: string, options: BackupOptions): Promise<void> {
  const place = directoryAt(to, '--to');
  const setup = setUp(deps);
  if (setup.config.clickhouse.url !== undefined)
    throw new Problem(
      'malformed',
      `CLICKHOUSE_URL is set: back up the ClickHouse server with its own statements (${page()})`,
    );
  const momentMs = Date.now();
  await sendLog(setup);
  const { record, files, notes } = await withStorage(setup, (context) =>
    new BackupRun(context, {
      place,
      momentMs,
      isFull: options.full === true,
      withSecrets: options.withSecrets === true,
      isFullSpeed: options.fullSpeed === true,
    }).run(),
  );
  const { id, base, moment, events, organizations, secrets, bytes } = record;
  const report = { id, place: place.name, base, moment, events, organizations, secrets, files, bytes, notes };
  const text = [
    `backup ${id} in ${place.name}: ${base === null ? 'whole' : `on top of ${base}`}, of ${moment}`,
    `${counted(events, 'event')} of ${counted(organizations, 'organization')}; ${counted(files, 'file')}, ${mebibytes(bytes)}`,
    secrets.length === 0 ? 'without secrets' : `with ${secrets.join(', ')}`,
    ...notes.map((note) => `note: ${note}`),
  ];
  print(deps, options, 'CliBackup', report, text.join('\n'));
}

async function verify(deps: CliDeps, at: string, options: BackupOptions): Promise<void> {
  const place = directoryAt(at, '--verify');
  const chain = await place.chainOf(options.backup);
  const total = chain.reduce((sum, { bytes }) => sum + bytes, 0);
  const progress = createProgress(deps.io, { items: 'bytes', total });
  let done = 0;
  const findings = await place.findings(chain, (bytes) => progress.at((done += bytes), done));
  progress.end();
  const last = chain.at(-1);
  const backups = chain.map(({ id, moment, events, bytes }) => ({ id, moment, events, bytes }));
  const healthy = findings.length === 0;
  const report = { healthy, place: place.name, events: last?.events ?? 0, backups, findings };
  const text = healthy
    ? `nothing is missing or altered in ${counted(chain.length, 'backup')} in ${place.name}: ${counted(report.events, 'event')}, of ${last?.moment}`
    : findings.map(({ kind, backup, path }) => `${kind}: ${path} of ${backup}`).join('\n');
  print(deps, options, 'CliBackupCheck', report, text);
  if (!healthy) throw new Error('the backup is damaged; see above');
}

async function backup(deps: CliDeps, options: BackupOptions): Promise<void> {
  const { to, verify: at } = options;
  if ((to === undefined) === (at === undefined))
    throw new Problem('malformed', 'give either --to or --verify');
  if (at !== undefined && (options.full || options.withSecrets || options.fullSpeed))
    throw new Problem('malformed', '--full, --with-secrets and --full-speed: only with --to');
  if (to !== undefined && options.backup !== undefined)
    throw new Problem('malformed', '--backup: only with --verify');
  return to === undefined ? verify(deps, at ?? '', options) : take(deps, to, options);
}

const notes = `
A backup is an increment on the newest full one in the directory, and needs it.
If the last increment exceeds half of the full one, the next backup is full.`;

export function registerBackup(program: Command, deps: CliDeps): void {
  program
    .command('backup')
    .description('copy all data to a directory, beside a running server')
    .option('--to <directory>', 'where backups are')
    .option('--full', 'full backup instead of an increment')
    .option('--with-secrets', 'include the keys that sign sessions and evidence')
    .option(...fullSpeedRow)
    .option('--verify <directory>', 'only verify the checksums of a backup')
    .option('--backup <id>', 'id of the backup (default: the newest)')
    .option('--json', 'print JSON')
    .addHelpText('after', notes)
    .action((options: BackupOptions) => backup(deps, options));
}
