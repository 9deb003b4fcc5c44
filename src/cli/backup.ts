import type { Command } from 'commander';
import { Problem } from '../base/errors/problem.ts';
import { bytesOf, findingsIn } from '../backup/check.ts';
import { chainOf, eventsInLog } from '../backup/manifest.ts';
import { placeOf } from '../backup/open-place.ts';
import { BackupRun, mebibytes } from '../backup/take.ts';
import type { CliDeps } from './context.ts';
import { option } from '../tools/option.ts';
import { print } from './output.ts';
import { counted, type JsonOption } from '../tools/output.ts';
import { fullSpeedRow } from '../backup/throttle.ts';
import { createProgress } from '../tools/progress.ts';
import { type S3Options, s3Rows } from '../tools/s3.ts';
import { setUp, withStorage } from './session.ts';

interface BackupOptions extends S3Options, JsonOption {
  readonly to?: string;
  readonly verify?: string;
  readonly backup?: string;
  readonly full?: true;
  readonly withSecrets?: true;
  readonly fullSpeed?: true;
}

async function take(deps: CliDeps, to: string, options: BackupOptions): Promise<void> {
  const place = placeOf(to, '--to', options, deps.environment);
  const choice = {
    isFull: options.full === true,
    withSecrets: options.withSecrets === true,
    isFullSpeed: options.fullSpeed === true,
  };
  const taken = await withStorage(setUp(deps), (session) =>
    new BackupRun(session, { place, ...choice }).run(),
  );
  const { manifest, added, files, bytes, notes } = taken;
  const { id, base, moment, events, organizations, secrets } = manifest;
  const report = {
    id,
    place: place.name,
    base: base?.id ?? null,
    moment,
    added,
    events,
    organizations,
    log_events: eventsInLog(manifest),
    secrets: secrets.map(({ name }) => name),
    files,
    bytes,
    notes: [...notes],
  };
  const stands = base === null ? 'whole' : `on top of ${base.id}`;
  const text = [
    `backup ${id} in ${place.name}: ${stands}, of ${moment}`,
    `${counted(events, 'event')} of ${counted(organizations, 'organization')}, ${added} of them new; ` +
      `${report.log_events} more in the log; ${counted(files, 'file')}, ${mebibytes(bytes)}`,
    secrets.length === 0 ? 'without secrets' : `with ${report.secrets.join(', ')}`,
    ...notes.map((note) => `note: ${note}`),
  ];
  print(deps, options, 'CliBackup', report, text.join('\n'));
}

async function verify(deps: CliDeps, at: string, options: BackupOptions): Promise<void> {
  const place = placeOf(at, '--verify', options, deps.environment);
  const chain = await chainOf(place, options.backup);
  const total = chain.reduce((sum, manifest) => sum + bytesOf(manifest), 0);
  const progress = createProgress(deps.io, { items: 'bytes', total });
  let done = 0;
  const findings = await findingsIn(place, chain, (bytes) => progress.at((done += bytes), done));
  progress.end();
  const last = chain.at(-1);
  const backups = chain.map((one) => ({
    id: one.id,
    moment: one.moment,
    events: one.events,
    bytes: bytesOf(one),
  }));
  const healthy = findings.length === 0;
  const report = { healthy, place: place.name, events: last?.events ?? 0, backups, findings };
  const text = healthy
    ? `nothing is missing or altered in ${counted(chain.length, 'backup')} in ${place.name}: ${counted(report.events, 'event')}, of ${last?.moment}`
    : findings.map(({ kind, backup, path }) => `${kind}: ${path} of ${backup}`).join('\n');
  print(deps, options, 'CliBackupCheck', report, text);
  if (!healthy) throw new Error('the backup is not as it was written: see above');
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
A place has one backup after the other: each has what came since the one before, and stands on it.
With s3, credentials are taken from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.`;

/** `backup` (contract: Command line): a copy of all that is stored, beside a server that goes on. */
export function registerBackup(program: Command, deps: CliDeps): void {
  const command = program
    .command('backup')
    .description('copy all data to a directory or a bucket, beside a running server')
    .option('--to <place>', 'a directory, or s3://BUCKET/PREFIX')
    .option('--full', 'leave nothing to the backups that are there')
    .option('--with-secrets', 'with the keys that sign sessions and evidence')
    .option(...fullSpeedRow)
    .option('--verify <place>', 'only hold a backup against its checksums')
    .option('--backup <id>', 'that one and those below it (default: the newest)')
    .option('--json', 'print JSON')
    .addHelpText('after', notes)
    .action((options: BackupOptions) => backup(deps, options));
  for (const row of s3Rows) command.addOption(option(...row));
}
