import { createReadStream } from 'node:fs';
import { readdir, rm, rmdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { firstSeqOf, rowsPerSegmentMax, segmentAtTime } from '../base/events/sequence.ts';
import { systemClock } from '../base/time/clock.ts';
import { formatMicros, parseRfc3339Micros } from '../base/time/timestamp.ts';
import { lockDirectory } from '../base/files/directory-lock.ts';
import { readIfThere, readOrCreateFile } from '../base/files/durable-file.ts';
import { Problem } from '../base/errors/problem.ts';
import { errorCode, ifThere } from '../base/errors/system-error.ts';
import { limits } from '../backup/limits.ts';
import type { BackupDirectory, BackupRecord } from '../backup/backup-directory.ts';
import { restoreTables } from '../backup/statements.ts';
import { backupSteps, stepNames } from '../backup/tables.ts';
import { answersName, mebibytes, secretNames, secretsName } from '../backup/take.ts';
import type { Config } from '../config/config.ts';
import { isOfRestore, markRestoring, prepareDataDir, restoringInto } from '../config/data-dir.ts';
import { restoredEvents } from '../control/restored-events.ts';
import { readControlState } from '../control/directory.ts';
import { makeLog, removeLog } from '../ingest/log-copy.ts';
import { newestMigration } from '../storage/migration-files.ts';
import { damagedParts } from '../storage/parts.ts';
import { directoryAt } from './backup.ts';
import type { CliDeps } from './context.ts';
import { print } from './output.ts';
import { wrong } from '../tools/option.ts';
import { counted, type JsonOption } from '../tools/output.ts';
import { createProgress } from '../tools/progress.ts';
import {
  openDirectory,
  operator,
  type EngineContext,
  setUp,
  type Setup,
  withStorage,
} from './command-work.ts';

/** Disk space of a restored table relative to its backup, with merges. */
const restoreRoomRatio = 2;

interface RestoreOptions extends JsonOption {
  readonly from?: string;
  readonly backup?: string;
  readonly record?: string;
}

async function findBackup(place: BackupDirectory, id: string | undefined): Promise<Chain> {
  const chain = await place.chainOf(id);
  const [newest, base] = [chain.at(-1), chain.at(-2)];
  if (newest === undefined) throw new Error('a chain has a backup');
  if (newest.migration > (await newestMigration()))
    throw new Problem(
      'conflict',
      `the backup ${newest.id} is of release ${newest.release}: restore it with that release`,
    );
  return { place, newest, base };
}

interface Chain {
  readonly place: BackupDirectory;
  readonly newest: BackupRecord;
  readonly base: BackupRecord | undefined;
}

const backupsOf = ({ newest, base }: Chain): BackupRecord[] =>
  base === undefined ? [newest] : [base, newest];

/** Rejects if a file is missing or altered. */
async function checkFiles(deps: CliDeps, chain: Chain): Promise<void> {
  const total = bytesOf(chain);
  const progress = createProgress(deps.io, { items: 'bytes checked', total });
  let done = 0;
  const findings = await chain.place.findings(backupsOf(chain), (bytes) =>
    progress.at((done += bytes), done),
  );
  progress.end();
  const [first] = findings;
  if (first !== undefined)
    throw new Problem(
      'conflict',
      `${first.path} of the backup ${first.backup} is ${first.kind}: nothing was restored; "auditlog backup --verify" lists all damage; restore an earlier backup with --backup`,
    );
}

const bytesOf = (chain: Chain): number => backupsOf(chain).reduce((sum, { bytes }) => sum + bytes, 0);

/** Removes everything but secrets that a killed run created, by its mark. */
async function clearUnfinished({ dataDir }: Config): Promise<void> {
  await removeLog(dataDir);
  for (const name of ['engine', 'engine.json', 'journal-mark'])
    await rm(join(dataDir, name), { recursive: true, force: true });
}

/** A data directory must be unused, except for secrets from an operator. */
async function requireEmptyDirectory({ dataDir }: Config): Promise<void> {
  const allowed = (name: string): boolean =>
    secretNames.some((secret) => secret === name) ||
    name.startsWith('lock.') ||
    name === 'lost+found' ||
    isOfRestore(name);
  const found = (await readdir(dataDir)).find((name) => !allowed(name));
  if (found !== undefined)
    throw new Problem('conflict', `DATA_DIR ${dataDir} contains "${found}"; restore into an empty directory`);
}

async function requireEmptyDatabase({ storage }: EngineContext): Promise<void> {
  const [row] = await storage.rows<{ rows: string }>(
    `SELECT (SELECT count() FROM (SELECT 1 FROM events LIMIT 1)) + (SELECT count() FROM journal)
       + (SELECT count() FROM evidence_progress) AS rows`,
  );
  if (row?.rows !== '0')
    throw new Problem(
      'conflict',
      `the database "${storage.database}" is not empty; restore into an empty database (drop it after an interrupted restore)`,
    );
}

/** The embedded engine stores the tables on this machine's disk. */
async function requireRoom({ config }: Setup, chain: Chain): Promise<void> {
  if (config.clickhouse.url !== undefined) return;
  const { bavail, bsize } = await statfs(config.dataDir);
  const free = bavail * bsize;
  const needed = bytesOf(chain) * restoreRoomRatio + limits.backupFreeBytesMin;
  if (needed > free)
    throw new Problem(
      'conflict',
      `the disk of DATA_DIR ${config.dataDir} has ${mebibytes(free)} free, but ${mebibytes(needed)} may be needed; free some space, or use another DATA_DIR`,
    );
}

async function restoreChain({ storage }: EngineContext, { place, newest, base }: Chain): Promise<void> {
  const { database } = newest;
  const paths = { from: place.path(newest.id), base: base && place.path(base.id) };
  for (const step of stepNames) {
    await restoreTables(storage, step, { ...paths, database });
    for (const table of backupSteps[step])
      for (const { name } of await damagedParts(storage, table))
        throw new Error(
          `the part ${name} of the table ${table} is damaged in the backup ${newest.id}: do not use this directory; restore an earlier backup into another`,
        );
  }
}

/** An empty log above all possible order numbers and the trees, and the answers to repeated requests. */
async function restoreLog({ storage, config }: EngineContext, { place, newest }: Chain): Promise<void> {
  const nowMs = Math.max(Date.now(), Date.parse(newest.moment));
  const end = firstSeqOf(segmentAtTime(nowMs) + limits.orderSlackSegments);
  const [row] = await storage.rows<{ newest: string }>(
    `SELECT greatest((SELECT max(seq) FROM events WHERE seq < {end:UInt64}),
       (SELECT max(watermark) FROM evidence_progress)) AS newest`,
    { end },
  );
  const segment = Number(BigInt(row?.newest ?? 0) / BigInt(rowsPerSegmentMax));
  await makeLog(config.dataDir, createReadStream(place.path(newest.id, answersName)), segment);
}

async function restoreSecrets({ config }: EngineContext, { place, newest }: Chain): Promise<string[]> {
  const notes: string[] = [];
  for (const name of secretNames) {
    const text = await readIfThere(place.path(newest.id, secretsName, name));
    if (text !== undefined && (await readOrCreateFile(join(config.dataDir, name), text)) !== text)
      notes.push(`${name} differs from the backup's; the one in DATA_DIR stays`);
  }
  return notes;
}

async function missingSecrets({ config, storage }: EngineContext): Promise<string[]> {
  const isThere = async (name: string): Promise<boolean> =>
    (await readIfThere(join(config.dataDir, name))) !== undefined;
  const [row] = await storage.rows<{ keys: string }>('SELECT count() AS keys FROM evidence_keys');
  const state = await readControlState(storage);
  const hasClients = state.signOns().some(({ clientSecret }) => clientSecret !== '');
  const notes: string[] = [];
  if (config.sessionSecret === undefined && !(await isThere('session-secret')))
    notes.push(
      'session-secret is missing: the first start creates a new one, which ends all sessions and invalidates cursors of the feed; put the old one into DATA_DIR before the first start',
      ...(!hasClients
        ? []
        : [
            'client secrets of sign-on are sealed with the old session-secret: without it sign-in by a provider fails until "sign-on set" sets them again',
          ]),
    );
  if (row?.keys !== '0' && config.evidenceKey === undefined && !(await isThere('evidence-key')))
    notes.push(
      'evidence-key is missing: without it no evidence is signed; put the old one into DATA_DIR before the first start',
    );
  if (
    state.erasures().length > 0 &&
    config.pseudonymSecret === undefined &&
    !(await isThere('pseudonym-secret'))
  )
    notes.push(
      'pseudonym-secret is missing: a person erased again gets another pseudonym; to keep pseudonyms, put the old one into DATA_DIR before the first start',
    );
  return notes;
}

/** Followers of the feed may have seen lost events: an event in each organization reports it. */
async function recordRestore(context: EngineContext, backup: string, moment: string): Promise<void> {
  const { directory, change, hand } = await openDirectory(context);
  const organizations = directory.organizations();
  const events = restoredEvents({
    organizations: organizations.map(({ id }) => id),
    backup,
    moment,
    operator: operator(),
    now: systemClock(),
  });
  if (events.length > 0) await change('recordEvents', events);
  await hand();
}

async function work(context: EngineContext, chain: Chain) {
  const { storage, config } = context;
  const { place, newest } = chain;
  await requireEmptyDatabase(context);
  await markRestoring(config.dataDir, newest.id);
  await restoreChain(context, chain);
  await restoreLog(context, chain);
  const notes = [...(await restoreSecrets(context, chain)), ...(await missingSecrets(context))];
  const [row] = await storage.rows<{ events: string }>('SELECT count() AS events FROM events');
  await recordRestore(context, newest.id, newest.moment);
  await markRestoring(config.dataDir, undefined);
  const { id, moment, organizations } = newest;
  return { id, place: place.name, moment, events: Number(row?.events), organizations, notes };
}

async function restore(deps: CliDeps, from: string, options: RestoreOptions): Promise<void> {
  const setup = setUp(deps);
  const { dataDir } = setup.config;
  const place = directoryAt(from, '--from');
  const wasThere = (await ifThere(stat(dataDir))) !== undefined;
  await prepareDataDir(dataDir, setup.log);
  const lock = await lockDirectory(dataDir);
  let isUnused = false;
  try {
    await restoreMarked(setup, place, options);
  } catch (error) {
    // Nothing was restored: the directory is unchanged.
    isUnused = (await restoringInto(dataDir)) === '';
    if (isUnused) await markRestoring(dataDir, undefined);
    throw error;
  } finally {
    await lock.release();
    if (isUnused && !wasThere) await removeEmpty(dataDir);
  }
}

async function removeEmpty(directory: string): Promise<void> {
  try {
    await rmdir(directory);
  } catch (error) {
    if (errorCode(error) !== 'ENOTEMPTY') throw error;
  }
}

/** Marks the directory first: checking a large backup takes hours, and a kill may interrupt it. */
async function restoreMarked(setup: Setup, place: BackupDirectory, options: RestoreOptions): Promise<void> {
  const { deps, config } = setup;
  // A killed run is repeated from the start: it takes seconds.
  const begun = await restoringInto(config.dataDir);
  if (begun !== undefined) await clearUnfinished(config);
  await requireEmptyDirectory(config);
  if (begun === undefined) await markRestoring(config.dataDir, '');
  const chain = await findBackup(place, options.backup);
  await checkFiles(deps, chain);
  await requireRoom(setup, chain);
  // A directory with an engine is no longer empty, however the run ends.
  if (config.clickhouse.url === undefined) await markRestoring(config.dataDir, chain.newest.id);
  const run = (context: EngineContext) => work(context, chain);
  const report = await withStorage(setup, run, { evenIf: 'restoring', makes: true });
  const { id, moment, events, organizations, notes } = report;
  const text = [
    `restored ${id}, of ${moment}: ${counted(events, 'event')} of ${counted(organizations, 'organization')}`,
    ...notes.map((note) => `note: ${note}`),
  ];
  print(deps, options, 'CliRestore', report, text.join('\n'));
}

/** A ClickHouse server's own statements did this restore. */
async function record(deps: CliDeps, moment: string): Promise<void> {
  const micros = parseRfc3339Micros(moment);
  if (micros === undefined)
    throw wrong('--record', 'the start time of the backup, such as 2026-11-28T06:00:00Z');
  await withStorage(setUp(deps), (context) =>
    recordRestore(context, 'of the ClickHouse server', formatMicros(micros)),
  );
}

export function registerRestore(program: Command, deps: CliDeps): void {
  program
    .command('restore')
    .description('restore a backup into an empty DATA_DIR or database')
    .option('--from <directory>', 'where backups are')
    .option('--backup <id>', 'that one (default: the newest)')
    .option('--record <moment>', 'only record that a ClickHouse server restored its own backup of that time')
    .option('--json', 'print JSON')
    .action((options: RestoreOptions) => {
      if ((options.from === undefined) === (options.record === undefined))
        throw new Problem('malformed', 'give either --from or --record');
      return options.record === undefined
        ? restore(deps, options.from ?? '', options)
        : record(deps, options.record);
    });
}
