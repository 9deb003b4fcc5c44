import { readdir, rmdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { systemClock } from '../base/time/clock.ts';
import { lockDirectory } from '../base/files/directory-lock.ts';
import { readIfThere, readOrCreateFile } from '../base/files/durable-file.ts';
import { Problem } from '../base/errors/problem.ts';
import { errorCode, ifThere } from '../base/errors/system-error.ts';
import type { Config } from '../config/config.ts';
import { isOfRestore, markRestoring, prepareDataDir, restoringInto } from '../config/data-dir.ts';
import { restoredEvents } from '../control/restored-events.ts';
import { listOrganizations } from '../control/organizations.ts';
import { isKeptName, LogMaker } from '../ingest/log-copy.ts';
import { EventRemoval } from '../storage/removal.ts';
import { bytesOf, contentOf, findingsIn } from '../backup/check.ts';
import { highestOf } from '../backup/snapshot.ts';
import { chainOf, eventsInLog, type Manifest } from '../backup/manifest.ts';
import { placeOf } from '../backup/open-place.ts';
import type { BackupPlace } from '../backup/place.ts';
import { evidenceTables, mebibytes, secretNames } from '../backup/take.ts';
import type { CliDeps } from './context.ts';
import { limits } from '../backup/limits.ts';
import { option } from '../tools/option.ts';
import { print } from './output.ts';
import { counted, type JsonOption } from '../tools/output.ts';
import { createProgress } from '../tools/progress.ts';
import { CountComparison } from '../backup/counts.ts';
import { requireKnown, RowRestore } from '../backup/rows.ts';
import { type S3Options, s3Rows } from '../tools/s3.ts';
import { operator, recordAfter, type Session, setUp, type Setup, withStorage } from './session.ts';

interface RestoreOptions extends S3Options, JsonOption {
  readonly from: string;
  readonly backup?: string;
}

/** What is restored: the newest backup of the chain, with all that it stands on. */
interface Restore {
  readonly place: BackupPlace;
  readonly chain: readonly Manifest[];
  readonly newest: Manifest;
  /** Nothing of it is there yet. */
  readonly isFresh: boolean;
}

/** The backup with all that it stands on. */
async function findBackup(place: BackupPlace, id: string | undefined): Promise<Omit<Restore, 'isFresh'>> {
  const chain = await chainOf(place, id);
  const newest = chain.at(-1);
  if (newest === undefined)
    throw new Problem(
      'conflict',
      `${place.name} has no backup: name a place that "auditlog backup --to" has written to`,
    );
  for (const manifest of chain) requireKnown(manifest);
  return { place, chain, newest };
}

/** Rejects where a file of it is missing or altered. */
async function checkFiles(deps: CliDeps, { place, chain }: Omit<Restore, 'isFresh'>): Promise<void> {
  const total = chain.reduce((sum, manifest) => sum + bytesOf(manifest), 0);
  const progress = createProgress(deps.io, { items: 'bytes checked', total });
  let done = 0;
  const findings = await findingsIn(place, chain, (bytes) => progress.at((done += bytes), done));
  progress.end();
  const [first] = findings;
  if (first !== undefined)
    throw new Problem(
      'conflict',
      `${first.path} of the backup ${first.backup} is ${first.kind}: nothing was restored ("auditlog backup --verify" lists all); restore an earlier one with --backup`,
    );
}

/** Nobody else may have been at work in a data directory, but an operator may have put secrets there. */
async function requireEmptyDirectory({ dataDir }: Config): Promise<void> {
  const allowed = (name: string): boolean =>
    secretNames.some((secret) => secret === name) ||
    name.startsWith('lock.') ||
    name === 'lost+found' ||
    isOfRestore(name);
  const found = (await readdir(dataDir)).find((name) => !allowed(name));
  if (found !== undefined)
    throw new Problem(
      'conflict',
      `DATA_DIR ${dataDir} is not empty, it has "${found}": restore into an empty directory`,
    );
}

async function requireEmptyDatabase({ storage }: Session): Promise<void> {
  const [row] = await storage.rows<{ rows: string }>(
    `SELECT (SELECT count() FROM (SELECT 1 FROM events LIMIT 1)) + (SELECT count() FROM organizations)
       + (SELECT count() FROM evidence_progress) AS rows`,
  );
  if (row?.rows !== '0')
    throw new Problem(
      'conflict',
      `the database "${storage.database}" is not empty: restore into an empty one`,
    );
}

/** What is noted of a restore that has begun: only a run with the same backup and database goes on with it. */
function taskOf({ clickhouse: { url, database } }: Config, { id }: Manifest): string {
  return url === undefined ? id : `${id} into ${url}, database ${database}`;
}

/** An own engine puts the tables on this machine's disk. */
async function requireRoom({ config }: Setup, chain: readonly Manifest[], free: number): Promise<void> {
  if (config.clickhouse.url !== undefined) return;
  const bytes = chain.reduce((sum, manifest) => sum + bytesOf(manifest), 0);
  const needed = bytes * limits.restoreRoomRatio + limits.backupFreeBytesMin;
  if (needed > free)
    throw new Problem(
      'conflict',
      `the disk of DATA_DIR ${config.dataDir} has ${mebibytes(free)} free: ${mebibytes(needed)} may be needed; free some space, or name another DATA_DIR`,
    );
}

async function restoreRows(session: Session, { place, chain, newest, isFresh }: Restore): Promise<void> {
  const rows = new RowRestore(session, place, newest.id, isFresh);
  const total = chain.reduce((sum, { months }) => sum + months.reduce((n, { events }) => n + events, 0), 0);
  const progress = createProgress(session.deps.io, { items: 'events', total });
  let done = 0;
  for (const [n, manifest] of chain.entries()) {
    await rows.events(manifest, chain[n - 1], (events) => progress.at((done += events), done));
    // Each backup has the evidence since the one before; the newest has everything else.
    for (const table of manifest.tables)
      if (manifest === newest || evidenceTables.has(table.name)) await rows.table(manifest, table);
  }
  progress.end();
}

/** What was removed after an earlier backup of the chain had been taken. */
async function removeAgain({ storage }: Session, { removed }: Manifest): Promise<string[]> {
  const removal = new EventRemoval(storage);
  let events = 0;
  for (const bounds of removed) events += await removal.repeat({ ...bounds, below: BigInt(bounds.below) });
  return events === 0
    ? []
    : [`${counted(events, 'event')} had been removed before the backup was taken, and were removed again`];
}

/** The log with what had not reached the table, and answers to repeated requests: the first start goes on from there. */
async function restoreLog({ config }: Session, { place, newest }: Restore): Promise<void> {
  const { id, log, snapshot } = newest;
  const maker = await LogMaker.begin(config.dataDir);
  for (const segment of log.segments) await maker.segment(segment, contentOf(place, id, segment.files));
  for (const { name, files } of log.kept)
    if (isKeptName(name)) await maker.kept(name, contentOf(place, id, files));
  await maker.answers(contentOf(place, id, log.answers));
  await maker.finish(highestOf(snapshot));
}

/** Puts the secrets of the backup where there are none; what an operator has put there stays. */
async function restoreSecrets({ config }: Session, { place, newest }: Restore): Promise<string[]> {
  const notes: string[] = [];
  for (const { name, files } of newest.secrets) {
    if (!secretNames.some((known) => known === name)) continue;
    const pieces: Buffer[] = [];
    for await (const piece of contentOf(place, newest.id, files)) pieces.push(piece);
    const text = Buffer.concat(pieces).toString('utf8');
    if ((await readOrCreateFile(join(config.dataDir, name), text)) !== text)
      notes.push(`${name} is not that of the backup: the one that was in DATA_DIR stays`);
  }
  return notes;
}

/** What the operator has to bring before the first start, or will miss. */
async function missingSecrets({ config, storage }: Session): Promise<string[]> {
  const isThere = async (name: string): Promise<boolean> =>
    (await readIfThere(join(config.dataDir, name))) !== undefined;
  const [row] = await storage.rows<Record<'keys' | 'clients' | 'erasures', string>>(
    `SELECT toString((SELECT count() FROM evidence_keys)) AS keys,
       toString((SELECT count() FROM sign_ons FINAL WHERE client_secret != '')) AS clients,
       toString((SELECT count() FROM erasures)) AS erasures`,
  );
  const notes: string[] = [];
  if (config.sessionSecret === undefined && !(await isThere('session-secret')))
    notes.push(
      'session-secret is not there: the first start makes a new one, which ends all sessions and refuses the cursors that followers of the feed have; put the old one into DATA_DIR before',
      ...(row?.clients === '0'
        ? []
        : [
            'client secrets of sign-on are sealed with the old session-secret: without it nobody signs in by a provider until "sign-on set" has given them again',
          ]),
    );
  if (row?.keys !== '0' && config.evidenceKey === undefined && !(await isThere('evidence-key')))
    notes.push(
      'evidence-key is not there: nothing is signed as evidence without it; put the old one into DATA_DIR before the first start',
    );
  if (row?.erasures !== '0' && config.pseudonymSecret === undefined && !(await isThere('pseudonym-secret')))
    notes.push(
      'pseudonym-secret is not there: a person who is erased once more gets another pseudonym; put the old one into DATA_DIR before, if there shall be one',
    );
  return notes;
}

/** Followers of the feed may have seen what is lost: an event of each organization tells them. */
async function recordRestore(session: Session, { newest }: Restore): Promise<void> {
  const organizations = await listOrganizations(session.storage);
  const events = restoredEvents({
    organizations: organizations.map(({ id }) => id),
    backup: newest.id,
    moment: newest.moment,
    operator: operator(),
    now: systemClock(),
  });
  await recordAfter(session, events, 'an event of each organization');
}

async function work(session: Session, restore: Restore) {
  const { config } = session;
  const { place, chain, newest, isFresh } = restore;
  if (isFresh) {
    await requireEmptyDatabase(session);
    // Not before: the next run would take what is there for its own.
    await markRestoring(config.dataDir, taskOf(config, newest));
  }
  await restoreRows(session, restore);
  const findings = await new CountComparison(session, place, chain).findings();
  const healthy = findings.length === 0;
  const notes: string[] = [];
  if (healthy) {
    notes.push(...(await removeAgain(session, newest)));
    await restoreLog(session, restore);
    notes.push(...(await restoreSecrets(session, restore)), ...(await missingSecrets(session)));
    await recordRestore(session, restore);
    await markRestoring(config.dataDir, undefined);
  }
  const { id, moment, events, organizations } = newest;
  const facts = { id, place: place.name, moment, events, organizations, log_events: eventsInLog(newest) };
  return { healthy, ...facts, findings: findings.slice(0, limits.backupFindingsMax), notes };
}

type Report = Awaited<ReturnType<typeof work>>;

function textOf({ healthy, findings, notes, ...facts }: Report): string {
  const { id, moment, events, organizations, log_events } = facts;
  if (!healthy)
    return findings
      .map(
        (one) =>
          `${one.organization}, recorded in ${one.month}: ${one.events} in the backup, ${one.found} here`,
      )
      .join('\n');
  return [
    `restored ${id}, of ${moment}: ${counted(events, 'event')} of ${counted(organizations, 'organization')}, compared with the backup`,
    ...(log_events === 0
      ? []
      : [`${log_events} more wait in the log: the first start of the server stores them`]),
    ...notes.map((note) => `note: ${note}`),
  ].join('\n');
}

async function restore(deps: CliDeps, options: RestoreOptions): Promise<void> {
  const setup = setUp(deps);
  const { dataDir } = setup.config;
  const place = placeOf(options.from, '--from', options, deps.environment);
  const wasThere = (await ifThere(stat(dataDir))) !== undefined;
  await prepareDataDir(dataDir, setup.log);
  const lock = await lockDirectory(dataDir);
  let isUnused = false;
  try {
    await restoreMarked(setup, place, options);
  } catch (error) {
    // It has put in nothing: the directory is as it was.
    isUnused = (await restoringInto(dataDir)) === '';
    if (isUnused) await markRestoring(dataDir, undefined);
    throw error;
  } finally {
    await lock.release();
    if (isUnused && !wasThere) await removeEmpty(dataDir);
  }
}

/** Removes a directory in which nobody has put anything meanwhile. */
async function removeEmpty(directory: string): Promise<void> {
  try {
    await rmdir(directory);
  } catch (error) {
    if (errorCode(error) !== 'ENOTEMPTY') throw error;
  }
}

/** Marks the directory before anything else: the check of a large backup takes hours, and a kill may end it. */
async function restoreMarked(setup: Setup, place: BackupPlace, options: RestoreOptions): Promise<void> {
  const { deps, config } = setup;
  const begun = await restoringInto(config.dataDir);
  const isFresh = begun === undefined || begun === '';
  if (isFresh) {
    await requireEmptyDirectory(config);
    await markRestoring(config.dataDir, '');
  }
  const found = await findBackup(place, options.backup);
  const task = taskOf(config, found.newest);
  if (!isFresh && begun !== task)
    throw new Problem(
      'conflict',
      `DATA_DIR ${config.dataDir} has begun to restore ${begun}: go on with that (--backup), or empty it`,
    );
  await checkFiles(deps, found);
  if (isFresh) {
    await requireRoom(setup, found.chain, await freeBytesOf(config.dataDir));
    // A directory that has an engine is not empty any more, whatever became of the run.
    if (config.clickhouse.url === undefined) await markRestoring(config.dataDir, task);
  }
  const run = (session: Session) => work(session, { ...found, isFresh });
  const report = await withStorage(setup, run, { evenIf: 'restoring', makes: true });
  print(deps, options, 'CliRestore', report, textOf(report));
  if (!report.healthy)
    throw new Error(
      'what was restored is not what the backup has: see above; do not use this directory, restore an earlier backup into another',
    );
}

async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** `restore` (contract: Command line): a backup into an empty data directory, or an empty database. */
export function registerRestore(program: Command, deps: CliDeps): void {
  const command = program
    .command('restore')
    .description('restore a backup into an empty DATA_DIR or database, and go on where a run was cut short')
    .requiredOption('--from <place>', 'a directory, or s3://BUCKET/PREFIX')
    .option('--backup <id>', 'that one (default: the newest)')
    .option('--json', 'print JSON')
    .action((options: RestoreOptions) => restore(deps, options));
  for (const row of s3Rows) command.addOption(option(...row));
}
