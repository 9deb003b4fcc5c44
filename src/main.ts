import { randomUUID } from 'node:crypto';
import { systemClock } from './base/clock.ts';
import { DamageRegister } from './base/damage.ts';
import { collectProcessMetrics, renderMetrics, renderTogether } from './base/metrics.ts';
import { Problem } from './base/problem.ts';
import { localUrl, removeServerFile, writeServerFile } from './base/server-file.ts';
import { StopStack } from './base/stop-stack.ts';
import { fullDiskWords } from './base/system-error.ts';
import type { RunningService, ServiceOutputs } from './cli/context.ts';
import type { Config } from './config/config.ts';
import { takeDataDir } from './config/data-dir.ts';
import { checkListener } from './config/listener.ts';
import { logDirectories } from './config/log-directories.ts';
import { evidenceKeys, sessionSecret } from './config/secrets.ts';
import { prepareAnswers } from './contract/stringify.ts';
import { Administration } from './control/administration.ts';
import { Directory } from './control/directory.ts';
import { IngestDirectory } from './control/ingest-directory.ts';
import { KeyUses } from './control/key-uses.ts';
import { PasswordLinks } from './control/password-links.ts';
import { PasswordThrottle } from './control/password-throttle.ts';
import { Sessions } from './control/sessions.ts';
import { newEvidenceKey, openEvidence } from './evidence/evidence.ts';
import type { EvidenceReader } from './evidence/evidence-reader.ts';
import { startFrontEnd } from './http/front-end.ts';
import { drain } from './http/drain.ts';
import type { HttpServer } from './http/server.ts';
import { openIngest } from './ingest/ingest.ts';
import { IngestOrder } from './ingest/ingest-order.ts';
import { lowestSegmentIn, newestSegmentOf } from './ingest/left-log.ts';
import { limits as ingestLimits } from './ingest/limits.ts';
import { eventHead, eventTail } from './ocsf/envelope.ts';
import { LeftLogs } from './processes/left-logs.ts';
import { limits as processLimits } from './processes/limits.ts';
import type { Place } from './processes/place.ts';
import { createReaders } from './read/readers.ts';
import { StandardPool } from './read/standard/pool.ts';
import { createSegmentInsert } from './storage/insert.ts';
import { KeyTable } from './storage/key-table.ts';
import { limits as storageLimits } from './storage/limits.ts';
import { Membership } from './storage/membership.ts';
import {
  instanceOf,
  isNamed,
  isOutOfRoom,
  type ServiceStorage,
  startStorage,
  type StorageOptions,
  watchParts,
} from './storage/open-storage.ts';
import { commandPeers } from './storage/peers.ts';
import { withdrawWatermark } from './storage/watermarks.ts';

const clock = systemClock;

/** One of several front ends: where it stands, and what it knows to be damaged, of which it tells the others. */
interface FrontEndOf {
  readonly place: Place;
  readonly damage: DamageRegister;
}

/**
 * Starts everything in the order of its dependencies; what was started is stopped again when a later part fails. With
 * `frontEnd` it is one of several processes, and what there is once for all of them is in their parent
 * (`processes/supervisor.ts`).
 */
export async function startService(
  config: Config,
  outputs: ServiceOutputs,
  frontEnd?: FrontEndOf,
): Promise<RunningService> {
  const stops = new StopStack(outputs.log);
  try {
    return await start(config, outputs, stops, frontEnd);
  } catch (error) {
    await stops.run();
    const isFull = isOutOfRoom(error, config.clickhouse);
    throw isFull ? new Error(fullDiskWords(config.dataDir), { cause: error }) : error;
  }
}

async function start(
  config: Config,
  outputs: ServiceOutputs,
  stops: StopStack,
  frontEnd: FrontEndOf | undefined,
): Promise<RunningService> {
  const { log } = outputs;
  const place = frontEnd?.place;
  collectProcessMetrics();
  const dataDir = place?.directory(config.dataDir) ?? config.dataDir;
  // A front end that was killed with its parent a moment ago is about to end.
  const lock = await takeDataDir(dataDir, log, place && processLimits.lockWaitMsMax);
  stops.add(() => lock.release());
  if (place === undefined) await checkListener(config);
  const envelope = { head: eventHead, tail: eventTail(config) };
  const damage = frontEnd?.damage ?? new DamageRegister();
  const base = { ...config, config, ...outputs, dataDir, place, envelope, damage, stops };
  setImmediate(prepareAnswers);
  const stored = await startStorage(base, place?.engine);
  const directory = new Directory({ storage: stored.storage, log, clock });
  await directory.refresh();
  directory.start();
  stops.add(() => directory.stop());
  const organizations = new IngestDirectory(directory, config.retentionDays);
  const writing = await startWriting(base, stored, organizations);
  const { ingest, order } = writing;
  if (stored.held) await watchParts(stored.held, base, async () => (await order.settledBefore()).ofAll);
  const evidence = await startEvidence(base, stored, order);
  const stopping = new AbortController();
  const server = await startAnswering(
    base,
    { stored, directory, organizations, writing, evidence },
    stopping.signal,
  );
  const url = localUrl(config.host, server.port);
  if (place === undefined) await announce(base, url);
  else await place.listening(server.port);

  const record = async (slug: string, ndjson: Uint8Array) => {
    const organization = organizations.organization(directory.organizationBySlug(slug)?.id ?? '');
    if (organization === undefined) throw new Problem('not_found', `there is no organization "${slug}"`);
    const body = new Uint8Array(ndjson);
    return ingest.accept({
      form: 'ndjson',
      encoding: 'identity',
      idempotency: undefined,
      body,
      organization,
    });
  };
  const stop = async () => {
    server.stopAccepting();
    stopping.abort();
    await drain(server, ingest, log);
    await stops.run();
  };
  return { url, storage: stored.storage, directory, record, flush: ingest.flush, stop };
}

/** Tells commands on the same data directory where the service is. */
async function announce({ config, log, stops }: Base, url: string): Promise<void> {
  await writeServerFile(config.dataDir, url, log);
  stops.add(() => removeServerFile(config.dataDir));
}

/** What every part is started with. */
interface Base extends ServiceOutputs, StorageOptions {
  readonly config: Config;
  /** Undefined: this process is all of the server. */
  readonly place: Place | undefined;
}

type Writing = Awaited<ReturnType<typeof startWriting>>;

/** The log and the way of its segments into the table, in one order with all others that write there. */
async function startWriting(base: Base, stored: ServiceStorage, organizations: IngestDirectory) {
  const { config, dataDir, log, damage } = base;
  const { storage, writeHealth, isOwnEngine } = stored;
  const left = await findLeftLogs(base, stored);
  const member = await join(base, stored);
  const ingest = await openIngest({
    ...config,
    dataDir,
    log,
    bodyBytesMax: config.maxBodyBytes,
    walBytesMax: config.walMaxBytes,
    // The engine needs room to take over what the log holds, or neither could go on.
    keepFreeBytes: isOwnEngine ? ingestLimits.walKeepFreeBytes : 0,
    writer: member?.writer ?? 0,
    // Once all know that this process may write, and so behind everything that readers have been given.
    above: isOwnEngine ? await newestSegmentOf(await logDirectories(config.dataDir)) : 0,
    sink: writeHealth.watch(createSegmentInsert(storage, log)),
    damage,
    keys: {
      table: new KeyTable(storage),
      instance: stored.instance ?? randomUUID(),
      log,
      isShared: stored.instance !== undefined,
    },
    directory: () => organizations.shared(),
  });
  base.stops.add(() => ingest.close());
  await member?.publish(ingest);
  left?.start(ingest);
  base.stops.add(() => left?.stop());
  const peers = member?.peers ?? commandPeers(storage, dataDir);
  const clockSkewMs = isOwnEngine ? undefined : storageLimits.clockSkewMsMax;
  return { ingest, order: new IngestOrder({ ingest, peers, clockSkewMs }) };
}

/** Its place among those that write; undefined where it has the engine for itself. */
async function join(
  { config, place, dataDir, log, stops }: Base,
  { storage, instance, isOwnEngine }: ServiceStorage,
): Promise<Membership | undefined> {
  if (instance === undefined) {
    // What it was known by as one of several processes must not hold back the order; its log is open here.
    if (await isNamed(dataDir)) await withdrawWatermark(storage, await instanceOf(dataDir));
    return undefined;
  }
  const options = { storage, instance, log, stops };
  if (place === undefined || !isOwnEngine) return Membership.join(options);
  const newest = await newestSegmentOf(await logDirectories(config.dataDir));
  const low = (await lowestSegmentIn(dataDir)) ?? newest;
  return Membership.joinOwn(options, { writer: place.number - 1, low });
}

/** What processes have left of which there are no more: the first one, or the only one, takes it over. */
async function findLeftLogs({ config, place, log }: Base, { storage }: ServiceStorage) {
  if (place !== undefined && place.number > 1) return undefined;
  const { dataDir } = config;
  return LeftLogs.find({ storage, dataDir, used: place?.directories(dataDir) ?? [dataDir], log });
}

/** The trees of evidence: built from what is stored, so after all that writes, and ended before it. */
async function startEvidence(
  { config, log, damage, stops }: Base,
  stored: ServiceStorage,
  order: IngestOrder,
) {
  const { serviceName, evidenceIntervalMs: intervalMs, evidenceDir: mirrorDirectory } = config;
  const { evidenceWitnesses: witnesses } = config;
  const { storage, instance } = stored;
  const keys = await evidenceKeys(config, log, () => newEvidenceKey(serviceName));
  const settledBefore = async () => (await order.settledBefore()).ofAll;
  const own = { storage, instance, serviceName, keys, intervalMs, mirrorDirectory, witnesses };
  const evidence = openEvidence({ ...own, settledBefore, damage, log });
  stops.add(() => evidence.stop());
  return evidence.reader;
}

interface Answering {
  readonly stored: ServiceStorage;
  readonly directory: Directory;
  readonly organizations: IngestDirectory;
  readonly writing: Writing;
  readonly evidence: EvidenceReader;
}

/** Listens; `stopping` ends the requests that only wait. */
async function startAnswering(base: Base, parts: Answering, stopping: AbortSignal): Promise<HttpServer> {
  const { config, envelope, damage, place } = base;
  const { directory, organizations, evidence } = parts;
  const { storage, writeHealth } = parts.stored;
  const { ingest, order } = parts.writing;
  const secret = await sessionSecret(config, base.log);
  const passwords = new PasswordThrottle();
  stopping.addEventListener('abort', () => passwords.stop());
  const keyUses = new KeyUses({ storage, clock, log: base.log });
  keyUses.start();
  base.stops.add(() => keyUses.stop());
  const pool = new StandardPool(config, base.log);
  base.stops.add(() => pool.close());
  return startFrontEnd({
    ...base,
    config: { ...config, port: place?.port ?? config.port },
    sharesPort: place !== undefined,
    renderMetrics: async () => (place ? renderTogether(await place.metrics()) : renderMetrics()),
    clock,
    ingest,
    read: createReaders({ storage, pool, envelope, clock, secret, order, stopping }),
    evidence,
    directory,
    organizationOf: (id) => organizations.organization(id),
    sessions: new Sessions({ secret, ttlMs: config.sessionTtlMs, clock, directory, storage }),
    administration: new Administration(storage),
    keyUses,
    passwords,
    passwordLinks: new PasswordLinks({ secret, clock, directory }),
    readiness: {
      engineReachable: () => storage.ping(storageLimits.readinessMsMax),
      engineTakesWrites: () => writeHealth.takesWrites(),
      logFailure: ingest.logFailure,
      // What others know is left out when they do not say.
      damage: async () => (await place?.damage().catch(() => undefined)) ?? damage.list(),
    },
  });
}
