import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { ifThere } from '../base/errors/system-error.ts';
import { systemClock } from '../base/time/clock.ts';
import { isDirectoryLocked } from '../base/files/directory-lock.ts';
import { readIfThere } from '../base/files/durable-file.ts';
import { Problem } from '../base/errors/problem.ts';
import { ConfigError } from '../config/config.ts';
import { hasData, prepareDataDir } from '../config/data-dir.ts';
import { lostEvents } from '../control/lost-events.ts';
import { acknowledgeMissing, findMissing, type MissingEvents } from '../evidence/missing-events.ts';
import { seqTimeMs } from '../base/events/sequence.ts';
import { type ActivePart, activeParts, detachPart, isPartWhole, sharesOfPart } from '../storage/parts.ts';
import type { PartShare } from '../storage/parts.ts';
import { OtherReleaseError } from '../storage/migrate.ts';
import { operatorWords } from '../storage/exception.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import type { CliDeps } from './context.ts';
import { type Check, check, hostCheck } from './doctor/check.ts';
import { checkControlData, repairControlData } from './doctor/control.ts';
import { checkLogFolder, checkMissing, checkParts, checkTrees } from './doctor/damage.ts';
import {
  checkBacklog,
  checkClock,
  checkOrder,
  checkPartCount,
  checkRetention,
  checkTables,
  checkUser,
  checkVersion,
} from './doctor/engine.ts';
import {
  checkCertificate,
  checkDiskSpace,
  checkFileSystem,
  checkPermissions,
  checkSyncedWrites,
} from './doctor/host.ts';
import { damagedPart } from './doctor/remedies.ts';
import { checkSignOn } from './doctor/sign-on.ts';
import { print } from './output.ts';
import { counted } from '../tools/output.ts';
import {
  openDirectory,
  operator,
  type EngineContext,
  type Setup,
  setUp,
  withStorage,
} from './command-work.ts';
import { projectFile } from '../base/files/project-file.ts';

interface DoctorOptions {
  readonly detach?: string;
  readonly recordMissing?: true;
  readonly repair?: true;
  readonly quick?: true;
  readonly json?: true;
}

async function doctor(deps: CliDeps, options: DoctorOptions): Promise<void> {
  const setup = setUp(deps);
  const { detach, recordMissing: isToRecord, repair: isToRepair } = options;
  const asked = [detach, isToRecord, isToRepair].filter((one) => one !== undefined).length;
  if (asked === 0) return examine(setup, options);
  if (asked > 1) throw new Problem('malformed', 'give one of --detach, --record-missing and --repair');
  if (setup.config.clickhouse.url !== undefined)
    throw new Problem('malformed', 'repair parts of a ClickHouse server with its own tools and replicas');
  if (isToRepair !== undefined)
    return withStorage(setup, (context) => repair(context, options), { asItIs: true });
  await withStorage(setup, (context) =>
    detach === undefined ? recordMissing(context, options) : takeOut(context, options, detach),
  );
}

async function repair(context: EngineContext, options: DoctorOptions): Promise<void> {
  const { value, text } = await repairControlData(context);
  print(context.deps, options, 'CliControlData', value, text);
}

async function examine(setup: Setup, options: DoctorOptions): Promise<void> {
  const { deps, config } = setup;
  const checks = await checksOfEngine(setup, options);
  const isServed = (await ifThere(isDirectoryLocked(config.dataDir))) === true;
  checks.push(await checkLogFolder(config.dataDir), await checkBacklog(config, isServed));
  checks.push(...(await hostChecks(setup)));
  const healthy = checks.every((one) => one.healthy);
  print(deps, options, 'CliExamination', { healthy, checks }, checks.map(checkText).join('\n'));
  if (checks.some((one) => one.about === 'events' && !one.healthy))
    throw new Error(`stored data are damaged: see above, and "Damage" in ${projectFile('docs/operate.md')}`);
  if (!healthy) throw new Error('problems found: see the lines with -> above');
}

async function checksOfEngine(setup: Setup, { quick }: DoctorOptions): Promise<Check[]> {
  const { deps, config } = setup;
  const checks: Check[] = [];
  let isReached = false;
  const look = async (context: EngineContext): Promise<void> => {
    const { storage } = context;
    isReached = true;
    checks.push(
      hostCheck('engine_reachable', []),
      await checkVersion(storage),
      ...(await pastDamage('tables', async () => [await checkTables(storage)])),
    );
    checks.push(await checkClock(storage, config.dataDir));
    checks.push(...(await pastDamage('order', async () => [await checkOrder(storage, config)])));
    checks.push(await checkPartCount(storage));
    // A ClickHouse server has replicas and monitoring for its parts.
    const isOwn = config.clickhouse.url === undefined;
    const ofControl = await checkControlData(context);
    checks.push(ofControl);
    if (ofControl.healthy) {
      checks.push(...[await checkSignOn(storage, setup)].filter((one) => one !== undefined));
      if (quick === undefined)
        checks.push(...(await pastDamage('retention', async () => [await checkRetention(storage)])));
    }
    if (!isOwn) checks.push(await checkUser(storage, config.clickhouse));
    else checks.push(...(await pastDamage('nothing_missing', async () => [await checkMissing(storage)])));
    if (isOwn && quick === undefined) {
      checks.push(await checkParts(storage, deps.io));
      checks.push(...(await pastDamage('trees_whole', async () => [await checkTrees(storage)])));
    }
  };
  try {
    await withStorage(setup, look, { asItIs: true });
  } catch (error) {
    // A wrong setting is no damage: the operator must correct it.
    if (isReached || error instanceof ConfigError || error instanceof Problem) throw error;
    if (error instanceof OtherReleaseError) {
      const remedy = `start the release of this database (${projectFile('docs/install.md')})`;
      return [hostCheck('tables', [{ id: config.clickhouse.database, detail: error.message, remedy }])];
    }
    const detail = operatorWords(error);
    const remedy =
      config.clickhouse.url === undefined
        ? 'run this again with LOG_LEVEL=debug, which shows the messages of the engine'
        : 'check that the server runs, and CLICKHOUSE_URL, _USER and _PASSWORD';
    checks.push(hostCheck('engine_reachable', [{ id: 'engine', detail, remedy }]));
  }
  return checks;
}

/** Damage that prevents a check of events is its finding; the other checks still run. */
async function pastDamage(name: string, work: () => Promise<Check[]>): Promise<Check[]> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EngineError) || error.damagedPart === undefined) throw error;
    const detail = 'this part is damaged: the check needs it repaired or removed first';
    return [check(name, [damagedPart(error.damagedTable, error.damagedPart, detail)])];
  }
}

/** With a ClickHouse server commands may run without a DATA_DIR. */
async function hostChecks({ config, log }: Setup): Promise<Check[]> {
  const pem = config.tls && (await readIfThere(config.tls.pem));
  const ofCertificate = pem === undefined ? [] : [checkCertificate(pem, Date.now())];
  if (!(await hasData(config.dataDir))) {
    const note = `there is no data in DATA_DIR ${config.dataDir} on this machine: its disk and files were not checked`;
    return [hostCheck('data_directory', [], [note]), ...ofCertificate];
  }
  await prepareDataDir(config.dataDir, log);
  return [
    await checkDiskSpace(config),
    await checkFileSystem(config),
    await checkSyncedWrites(config),
    await checkPermissions(config),
    ...ofCertificate,
  ];
}

function checkText({ name, about, healthy, findings, notes }: Check): string {
  const lines = findings.flatMap(({ id, detail, remedy }) => [`${id}: ${detail}`, `  -> ${remedy}`]);
  const word = healthy ? 'ok' : about === 'events' ? 'DAMAGED' : 'LOOK AT';
  return [`${word.padEnd(9)}${name}`, ...[...lines, ...notes].map((line) => `           ${line}`)].join('\n');
}

/** Takes a damaged part out of the table and records the loss. */
async function takeOut(context: EngineContext, options: DoctorOptions, name: string): Promise<void> {
  const { storage } = context;
  const part = (await activeParts(storage, 'events')).find((one) => one.name === name);
  if (part === undefined)
    throw new Problem(
      'not_found',
      `the table of events has no part "${name}"; "auditlog doctor" lists the damaged ones`,
    );
  if (await isPartWhole(storage, part))
    throw new Problem('conflict', `part ${name} is intact; nothing was removed`);
  const shares = (await sharesOfPart(storage, name))?.map(recordedShare);
  await detachPart(storage, part);
  const missing = (await missingAfter(storage)).filter(
    ({ organization }) => shares?.some(({ organizationId }) => organizationId === organization) ?? true,
  );
  await record(context, options, { part, shares, missing });
}

/**
 * Another damaged part may prevent the count. Then the run that takes that part out acknowledges the loss.
 */
async function missingAfter(storage: EngineContext['storage']): Promise<MissingEvents[]> {
  try {
    return await findMissing(storage, Date.now());
  } catch (error) {
    if (error instanceof EngineError && error.damagedPart !== undefined) return [];
    throw error;
  }
}

/** Records the missing events as lost, so that later runs do not report them again. */
async function recordMissing(context: EngineContext, options: DoctorOptions): Promise<void> {
  const missing = await findMissing(context.storage, Date.now());
  if (missing.length === 0) throw new Problem('conflict', 'no stored events are missing');
  await record(context, options, { part: undefined, shares: undefined, missing });
}

type RecordedShare = PartShare & { readonly fromMicros: number; readonly toMicros: number };

function recordedShare(share: PartShare): RecordedShare {
  const { seqMin, seqMax } = share;
  return { ...share, fromMicros: seqTimeMs(seqMin) * 1000, toMicros: seqTimeMs(seqMax) * 1000 };
}

interface Loss {
  readonly part: ActivePart | undefined;
  /** Undefined if unknown. */
  readonly shares: readonly RecordedShare[] | undefined;
  readonly missing: readonly MissingEvents[];
}

async function record(
  context: EngineContext,
  options: DoctorOptions,
  { part, shares, missing }: Loss,
): Promise<void> {
  const { deps, storage } = context;
  const loss = randomUUID();
  await acknowledgeMissing(storage, loss, part?.name ?? '', missing);
  const events = part?.rows ?? missing.reduce((sum, one) => sum + one.events, 0);
  const { directory, change, hand } = await openDirectory(context);
  const there = directory.organizations().map(({ id }) => id);
  const facts = { loss, shares, operator: operator(), now: systemClock() };
  const affected =
    part === undefined
      ? missing.flatMap((one) =>
          lostEvents({
            ...facts,
            events: one.events,
            organizations: there.filter((id) => id === one.organization),
          }),
        )
      : lostEvents({ ...facts, events, organizations: there });
  if (affected.length > 0) await change('recordEvents', affected);
  await hand();
  const value = { loss, part: part?.name ?? null, events, organizations: shares?.map(shareView) ?? null };
  const what = part === undefined ? 'recorded as lost' : `removed with part ${part.name}`;
  print(
    deps,
    options,
    'CliLoss',
    value,
    `${counted(events, 'event')} ${what}; recorded in ${counted(affected.length, 'organization')}`,
  );
}

function shareView({ organizationId, events }: PartShare): { id: string; events: number } {
  return { id: organizationId, events };
}

export function registerDoctor(program: Command, deps: CliDeps): void {
  program
    .command('doctor')
    .description('check stored events for damage, and the host; remove damaged parts')
    .option('--detach <part>', 'remove a damaged part from the table, and accept the loss')
    .option('--record-missing', 'record missing events as lost, in their organizations')
    .option(
      '--repair',
      'keep the remaining control data; remove unreadable parts of it and of rebuildable tables',
    )
    .option('--quick', 'do not read all parts')
    .option('--json', 'print JSON')
    .action((options: DoctorOptions) => doctor(deps, options));
}
