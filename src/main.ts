import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from './base/clock.ts';
import { DamageRegister } from './base/damage.ts';
import { lockDirectory } from './base/directory-lock.ts';
import { readOrCreateFile } from './base/durable-file.ts';
import { fullDiskWords, isDiskFull } from './base/system-error.ts';
import { limits as httpLimits } from './http/limits.ts';
import { limits as ingestLimits } from './ingest/limits.ts';
import { limits as readLimits } from './read/limits.ts';
import { limits as storageLimits } from './storage/limits.ts';
import { errorFacts, type Logger } from './base/log.ts';
import { collectProcessMetrics } from './base/metrics.ts';
import { Problem } from './base/problem.ts';
import { Repeated } from './base/repeated.ts';
import { memoizeFor } from './base/single-flight.ts';
import { removeServerFile, writeServerFile } from './base/server-file.ts';
import { type Config, ConfigError } from './config/config.ts';
import { prepareDataDir } from './config/data-dir.ts';
import { checkOpenFiles } from './config/open-files.ts';
import { sessionSecret } from './config/secrets.ts';
import { createAdministration } from './control/administration.ts';
import { createDirectory, type Directory } from './control/directory.ts';
import { effectiveRetentionDays, type Organization } from './control/organizations.ts';
import { PasswordThrottle } from './control/password-throttle.ts';
import { createPasswordVerifier } from './control/passwords.ts';
import { createSessions } from './control/sessions.ts';
import { Trail } from './http/trail.ts';
import { AccessLog } from './http/access-log.ts';
import { AddressError, checkAddress } from './http/address.ts';
import { createRouter } from './http/router.ts';
import { guardEndpoints } from './http/guard.ts';
import { endpointTable, type Readers } from './http/routes.ts';
import { SessionCookie } from './http/session-cookie.ts';
import { type HttpServer, startHttpServer } from './http/server.ts';
import type { BatchAnswer } from './ingest/idempotency.ts';
import { type Ingest, openIngest } from './ingest/ingest.ts';
import { firstSeqOf, segmentAtTime, segmentTimeMs, writersMax } from './ingest/sequence.ts';
import type { OrganizationFacts, SharedDirectory } from './ingest/task.ts';
import { eventHead, eventTail } from './ocsf/envelope.ts';
import { createExportReader } from './read/export.ts';
import { exportSlots, inTurn, readQueue, sourceStreamSlots } from './read/fair-queue.ts';
import { createFeedReader } from './read/feed.ts';
import { createFeedCursors } from './read/feed-cursor.ts';
import { createHistogramReader } from './read/histogram.ts';
import { createLegacyReader } from './read/legacy.ts';
import { createPageReader } from './read/page.ts';
import { createReceiptsReader } from './read/receipts.ts';
import { createTopValuesReader } from './read/top-values.ts';
import { openStorage } from './storage/client.ts';
import { type EmbeddedEngine, startEmbeddedEngine } from './storage/engine.ts';
import { DataDirLockedError } from './storage/engine-process.ts';
import { keepEventsView } from './storage/events-view.ts';
import { createSegmentInsert } from './storage/insert.ts';
import { migrate } from './storage/migrate.ts';
import type { MigrationMode } from './storage/migration-claims.ts';
import { checkRights } from './storage/rights.ts';
import { PartsWatch, reportUnreadable } from './storage/parts-watch.ts';
import { EngineError } from './base/engine-error.ts';
import type { Storage } from './storage/storage.ts';
import { type Peers, commandPeers, serverPeers } from './storage/peers.ts';
import { watchDamage } from './storage/watch-damage.ts';
import { publishWatermark, withdrawWatermark } from './storage/watermarks.ts';
import { watchClock } from './storage/clock-check.ts';
import { WriteHealth } from './storage/write-health.ts';
import { WrittenParts } from './storage/written-parts.ts';
import { claimWriter, renewWriter } from './storage/writers.ts';

/** A service that answers; what it holds open is closed by `stop`. */
export interface RunningService {
  readonly url: string;
  readonly port: number;
  readonly storage: Storage;
  readonly directory: Directory;
  /** Records NDJSON of source events as one organization, on the path that HTTP requests take. */
  record(organizationSlug: string, ndjson: Uint8Array): Promise<BatchAnswer>;
  /** Resolves when all that was recorded can be read; false when `timeoutMs` passed first. */
  flush(timeoutMs: number): Promise<boolean>;
  /** Finishes requests, flushes the log to the engine if it answers, stops the engine (contract: Operations). */
  stop(): Promise<void>;
}

export interface ServiceParts {
  readonly log: Logger;
  /** Where access-log lines go: a file descriptor or a path. */
  readonly accessLogTo: number | string;
}

/** Starts everything in the order of its dependencies; what was started is stopped again when a later part fails. */
export async function startService(config: Config, parts: ServiceParts): Promise<RunningService> {
  const started: (() => Promise<unknown>)[] = [];
  const stopAll = async (): Promise<void> => {
    for (const stop of started.splice(0).toReversed()) {
      // One part that cannot stop must not keep the others from it: the engine and the lock are the last.
      await stop().catch((error: unknown) =>
        parts.log.error(errorFacts(error), 'a part did not stop cleanly'),
      );
    }
  };
  try {
    return await startParts(config, parts, started, stopAll);
  } catch (error) {
    await stopAll();
    throw isDataDirFull(error, config) ? new Error(fullDiskWords(config.dataDir), { cause: error }) : error;
  }
}

async function startParts(
  config: Config,
  { log, accessLogTo }: ServiceParts,
  started: (() => Promise<unknown>)[],
  stopAll: () => Promise<void>,
): Promise<RunningService> {
  collectProcessMetrics();
  await checkOpenFiles();
  await prepareDataDir(config.dataDir, log);
  const lock = await lockDirectory(config.dataDir);
  started.push(() => lock.release());
  // Of a server that was killed, or on the directory that this one is a copy of.
  await removeServerFile(config.dataDir);
  await checkListener(config);
  const damage = new DamageRegister();
  const { storage, engine } = await startStorage(config, log, damage, started);
  const directory = createDirectory({ storage, log, clock: systemClock });
  await directory.refresh();
  directory.start();
  started.push(() => directory.stop());
  const { writer, instance } = await startWriter(config, storage, log, started);
  const writeHealth = await watchWrites(config, storage, engine, log);
  const organizationOf = (id: string): OrganizationFacts | undefined => facts(directory, id, config);
  const ingest = await openIngest({
    dataDir: config.dataDir,
    log,
    workers: config.workers,
    appName: config.appName,
    redactKeys: config.redactKeys,
    bodyBytesMax: config.maxBodyBytes,
    flushIntervalMs: config.flushIntervalMs,
    segmentBytes: config.segmentBytes,
    walBytesMax: config.walMaxBytes,
    // The engine needs room to take over what the log holds, or neither could go on.
    keepFreeBytes: engine === undefined ? 0 : ingestLimits.walKeepFreeBytes,
    writer,
    sink: writeHealth.watch(createSegmentInsert(storage, log)),
    damage,
    directory: sharedDirectory(directory, config),
  });
  started.push(() => ingest.close());
  if (instance !== undefined) {
    started.push(await watchClock({ storage, instance, log, timeOfSegment: segmentTimeMs }));
    started.push(await publishSettled(storage, ingest, instance, log));
  }
  const peers = peersOf(storage, config.dataDir, instance);
  if (engine !== undefined) {
    const watch = new PartsWatch({
      storage,
      dataDir: config.dataDir,
      damage,
      log,
      settledBefore: async () => (await settledBefore({ ingest, instance, peers })).ofAll,
      stored: () => writeHealth.stored(),
      checkWritten: () => writeHealth.checkWritten(),
      engineStarts: () => engine.restarts(),
    });
    await watch.start();
    started.push(() => watch.stop());
  }
  const waiters: (() => void)[] = [];

  const accessLog = new AccessLog({ destination: accessLogTo, clock: systemClock, log });
  started.push(() => accessLog.close());
  const server = await startServer({
    config,
    log,
    accessLog,
    storage,
    directory,
    ingest,
    organizationOf,
    started,
    instance,
    peers,
    damage,
    writeHealth,
    stopWaiting: (stop) => waiters.push(stop),
  });
  started.push(async () => server.close());
  const url = `http://${urlHost(config.host)}:${server.port}`;
  await announceServer(config, url, log);
  started.push(() => removeServerFile(config.dataDir));
  return {
    url,
    port: server.port,
    storage,
    directory,
    async record(slug, ndjson) {
      const organization = organizationOf(directory.organizationBySlug(slug)?.id ?? '');
      if (organization === undefined) throw new Problem('not_found', `there is no organization "${slug}"`);
      const body = new Uint8Array(ndjson);
      return ingest.accept({
        body,
        form: 'ndjson',
        encoding: 'identity',
        organization,
        idempotency: undefined,
      });
    },
    flush: ingest.flush,
    async stop() {
      server.stopAccepting();
      for (const stop of waiters) stop();

      const answered = await server.drained(httpLimits.shutdownRequestsMsMax);
      const flushed = await ingest.flush(ingestLimits.shutdownFlushMsMax).catch((error: unknown) => {
        log.warn(errorFacts(error), 'the log could not be sealed');
        return false;
      });
      log.info(
        { answered, flushed },
        flushed ? 'drained' : 'stopped with events in the log; the next start sends them',
      );
      await stopAll();
    },
  };
}

/** Whether a start needs to write what it cannot do without, such as tables, and DATA_DIR has no room for it. */
function isDataDirFull(error: unknown, { clickhouse }: Config): boolean {
  if (isDiskFull(error)) return true;
  if (!(error instanceof EngineError) || clickhouse.url !== undefined) return false;
  return /No space left on device|NOT_ENOUGH_SPACE/.test(error.message);
}

/** A full disk keeps commands from finding the server, and nobody from reading. */
async function announceServer({ dataDir }: Config, url: string, log: Logger): Promise<void> {
  try {
    await writeServerFile(dataDir, url);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    log.error({ dataDir, ...errorFacts(error) }, 'the disk is full: server.json could not be written');
  }
}

/** Before the engine starts and migrates, since that is in vain when nobody can listen. */
async function checkListener({ host, port }: Config): Promise<void> {
  try {
    await checkAddress(host, port);
  } catch (error) {
    if (error instanceof AddressError && error.reason === 'unusable') throw new ConfigError([error.message]);
    throw error;
  }
}

/** The engine, its tables, and the view for operators. */
async function startStorage(
  config: Config,
  log: Logger,
  damage: DamageRegister,
  started: (() => Promise<unknown>)[],
): Promise<{ storage: Storage; engine: EmbeddedEngine | undefined }> {
  const { url, user, password, database, cluster } = config.clickhouse;
  let connection = { url: url ?? '', user, password, database, headers: {} };
  let engine: EmbeddedEngine | undefined;
  if (url === undefined) {
    const own = await startEngine(config, log);
    engine = own;
    started.push(() => own.stop());
    connection = own.connection;
  }
  const storage = watchDamage(openStorage(connection, log), (part) => reportUnreadable(damage, log, part));
  started.push(() => storage.close());
  let mode: MigrationMode = { kind: 'exclusive' };
  if (url !== undefined) {
    await waitForServer(storage, url, user, log);
    await checkRights(storage, user, cluster);
    mode = { kind: 'shared', instance: await readInstance(config.dataDir) };
  }
  await migrate(storage, { log, cluster, mode });
  await keepEventsView(storage, { database, head: eventHead, tail: eventTail(config), cluster });
  return { storage, engine };
}

/**
 * A ClickHouse server may be starting at the same moment, as in a compose file: it is waited for, but not for ever.
 * One that answers and refuses is not going to change its mind.
 */
async function waitForServer(storage: Storage, url: string, user: string, log: Logger): Promise<void> {
  const deadline = performance.now() + storageLimits.engineStartMsMax;
  for (let told = false; ; told = true) {
    try {
      // In a database that is there already: ours may still have to be made.
      await storage.rows(
        'SELECT 1',
        {},
        { settings: { database: 'default' }, timeoutMs: storageLimits.readinessMsMax },
      );
      return;
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      if (error.failure === 'refused') {
        throw new Error(`the ClickHouse server at ${url} refuses the user "${user}": ${error.message}`, {
          cause: error,
        });
      }
      if (performance.now() > deadline) {
        throw new Error(`no ClickHouse server answers at ${url} (CLICKHOUSE_URL): ${error.message}`, {
          cause: error,
        });
      }
      if (!told) log.warn({ url, ...errorFacts(error) }, 'waiting for the ClickHouse server');
      await sleep(storageLimits.engineRestartDelayMsMin);
    }
  }
}

/** Of a ClickHouse server only what it answers can be known. */
async function watchWrites(
  config: Config,
  storage: Storage,
  engine: EmbeddedEngine | undefined,
  log: Logger,
): Promise<WriteHealth> {
  if (engine === undefined) return new WriteHealth(undefined, log);
  const written = new WrittenParts(storage);
  await written.trustLoaded();
  const restart = (): void => {
    const pid = engine.pid();
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  };
  return new WriteHealth({ directory: join(config.dataDir, 'engine'), written, restart }, log);
}

/** No other server has the directory (see `lockDirectory`), but a command may, for the moment that it takes. */
async function startEngine({ dataDir, clickhouse }: Config, log: Logger): Promise<EmbeddedEngine> {
  const deadline = performance.now() + storageLimits.commandEngineMsMax;
  for (;;) {
    try {
      return await startEmbeddedEngine({ dataDir, database: clickhouse.database, log });
    } catch (error) {
      if (!(error instanceof DataDirLockedError) || performance.now() > deadline) throw error;
      await sleep(storageLimits.engineRestartDelayMsMin);
    }
  }
}

/** The embedded engine has one process; processes that share a server agree on their numbers through it. */
async function startWriter(
  config: Config,
  storage: Storage,
  log: Logger,
  started: (() => Promise<unknown>)[],
): Promise<{ writer: number; instance: string | undefined }> {
  if (config.clickhouse.url === undefined) return { writer: 0, instance: undefined };
  const instance = await readInstance(config.dataDir);
  // The last number is left to commands that record beside a server.
  const writer = await claimWriter(storage, instance, writersMax - 1);
  const timer = setInterval(() => {
    renewWriter(storage, instance, writer).catch((error: unknown) => {
      log.warn(errorFacts(error), 'the claim of this writer number could not be renewed yet');
    });
  }, storageLimits.writerRenewMs);
  started.push(async () => clearInterval(timer));
  return { writer, instance };
}

/**
 * Tells the other processes on the engine how far this one has settled, about once a second; the function returned
 * ends that. A process that stops with events in its log is still waited for: the next start sends them.
 */
async function publishSettled(
  storage: Storage,
  ingest: Ingest,
  instance: string,
  log: Logger,
): Promise<() => Promise<void>> {
  let published = await ingest.lowestUnsettled();
  await publishWatermark(storage, instance, published);
  const publish = async (): Promise<void> => {
    const low = await ingest.lowestUnsettled();
    if (low === published) return;
    await publishWatermark(storage, instance, low);
    published = low;
  };
  const publishing = new Repeated(storageLimits.watermarkPublishMs, publish, (error) =>
    log.debug(errorFacts(error), 'how far the log has settled could not be published yet'),
  );
  return async () => {
    await publishing.stop();
    if (ingest.unsent() === 0) await withdrawWatermark(storage, instance);
  };
}

async function readInstance(dataDir: string): Promise<string> {
  return (await readOrCreateFile(join(dataDir, 'instance-id'), randomUUID())).trim();
}

/** Made once for each state of an organization: requests of the same one are known by the same object. */
const knownFacts = new WeakMap<Organization, OrganizationFacts>();

function facts(directory: Directory, id: string, config: Config): OrganizationFacts | undefined {
  const organization = directory.organizationById(id);
  if (organization === undefined) return undefined;
  let known = knownFacts.get(organization);
  if (known === undefined) {
    const retentionDays = effectiveRetentionDays(organization, config.retentionDays);
    known = { id, slug: organization.slug, retentionDays };
    knownFacts.set(organization, known);
  }
  return known;
}

/** All organizations as the workers need them, encoded again only when the directory has changed. */
function sharedDirectory(directory: Directory, config: Config): () => SharedDirectory {
  let shared: SharedDirectory | undefined;
  return () => {
    const version = directory.version();
    if (shared?.version !== version) {
      const all = directory.organizations().map(({ id }) => facts(directory, id, config));
      const text = Buffer.from(JSON.stringify(all), 'utf8');
      const json = new Uint8Array(new SharedArrayBuffer(text.length));
      json.set(text);
      shared = { version, json };
    }
    return shared;
  };
}

interface ServerParts {
  readonly config: Config;
  readonly log: Logger;
  readonly accessLog: AccessLog;
  readonly storage: Storage;
  readonly directory: Directory;
  readonly ingest: Ingest;
  readonly organizationOf: (id: string) => OrganizationFacts | undefined;
  readonly started: (() => Promise<unknown>)[];
  /** This process among those that share an engine; undefined where it has its own. */
  readonly instance: string | undefined;
  readonly peers: Peers;
  readonly damage: DamageRegister;
  readonly writeHealth: WriteHealth;
  /** What ends requests that only wait, when the server stops. */
  stopWaiting(stop: () => void): void;
}

async function startServer(parts: ServerParts): Promise<HttpServer> {
  const { config, log, accessLog, storage, directory, ingest, organizationOf } = parts;
  const secret = await sessionSecret(config, log);
  const sessions = createSessions({
    secret,
    ttlMs: config.sessionTtlMs,
    clock: systemClock,
    directory,
    storage,
  });
  const cookie = new SessionCookie(config.serviceName);
  const { tenantDomain } = config;
  const trail = new Trail({
    accept: ingest.accept,
    organizationOf,
    clock: systemClock,
    log,
    logFailure: ingest.logFailure,
  });
  parts.started.push(() => trail.stop());
  const passwords = new PasswordThrottle({
    verifier: createPasswordVerifier(),
    nowMs: () => performance.now(),
  });
  parts.stopWaiting(() => passwords.stop());
  const endpoints = endpointTable({
    accept: ingest.accept,
    organizationOf,
    read: readers(parts, secret),
    readiness: {
      engineReachable: () => storage.ping(storageLimits.readinessMsMax),
      engineTakesWrites: () => parts.writeHealth.takesWrites(),
      logFailure: ingest.logFailure,
      damage: () => parts.damage.list(),
    },
    directory,
    sessions,
    cookie,
    trail,
    log,
    clock: systemClock,
    tenantDomain,
    passwords,
    administration: createAdministration(storage),
    retentionDays: config.retentionDays,
    rateMax: config.rateLimits.audit,
    bodyBytesMax: config.maxBodyBytes,
    selfHosted: config.deployment === 'self-hosted',
    metricsPublic: config.metricsPublic,
    trustProxy: config.trustProxy,
  });
  const routes = guardEndpoints(endpoints, {
    directory,
    clock: systemClock,
    sessions,
    cookie,
    rates: config.rateLimits,
    tenantDomain,
  });
  const server = await startHttpServer({
    host: config.host,
    port: config.port,
    router: createRouter(routes),
    log,
    accessLog,
    trustProxy: config.trustProxy,
  });
  log.info({ host: config.host, port: server.port }, 'listening');
  return server;
}

function readers(parts: ServerParts, secret: string): Readers {
  const { storage, config, ingest, peers } = parts;
  const envelope = { head: eventHead, tail: eventTail(config) };
  const stopping = new AbortController();
  parts.stopWaiting(() => stopping.abort());
  const queue = readQueue();
  const settled = memoizeFor(readLimits.feedSettledMs, () => settledBefore(parts));
  return {
    page: inTurn(queue, createPageReader(storage, envelope, systemClock, versions(ingest, peers)), (page) =>
      'flow' in page ? page.flow : undefined,
    ),
    export: inTurn(exportSlots(), createExportReader(storage, envelope), (result) => result.stream),
    feed: createFeedReader({
      storage,
      envelope,
      clock: systemClock,
      cursors: createFeedCursors(secret),
      settledBefore: async (organization) => (await settled()).of(organization),
      peersVersion: peers.version,
      // What is in a segment lies below the first place of the next.
      arrivedBefore: (organization) => {
        const last = Math.max(ingest.lastSegmentOf(organization), peers.writtenThrough());
        return Number.isFinite(last) ? firstSeqOf(last + 1) : undefined;
      },
      queue,
      stopping: stopping.signal,
    }),
    legacy: inTurn(sourceStreamSlots(), createLegacyReader(storage), (stream) => stream),
    receipts: inTurn(queue, createReceiptsReader(storage)),
    histogram: inTurn(queue, createHistogramReader(storage)),
    topValues: inTurn(queue, createTopValuesReader(storage)),
  };
}

/** All that write events, as far as this process can know. */
interface Writers {
  readonly ingest: Ingest;
  readonly peers: Peers;
  /** See ServerParts. */
  readonly instance: string | undefined;
}

function peersOf(storage: Storage, dataDir: string, instance: string | undefined): Peers {
  if (instance !== undefined) return serverPeers(storage, instance);
  return commandPeers(storage, dataDir, () => segmentAtTime(Date.now()) + writersMax - 1);
}

/** First places in the order that are not settled. */
interface Settled {
  readonly ofAll: bigint;
  of(organization: string): bigint;
}

/**
 * How far the order of ingest has settled: below what this process has yet to store and below what other writers say.
 * Where processes share an engine also below the clock, as a writer that begins now begins there; the clocks of
 * several machines differ a little. With an own engine no clock counts: commands begin above the newest segment.
 */
async function settledBefore({ ingest, instance, peers }: Writers): Promise<Settled> {
  const { lowest, ofOrganization } = await ingest.unsettled();
  const elsewhere = await peers.watermark();
  const byClock =
    instance === undefined
      ? Number.MAX_SAFE_INTEGER
      : segmentAtTime(Date.now() - storageLimits.clockSkewMsMax);
  const anybodys = Math.min(lowest, elsewhere, byClock);
  return {
    ofAll: firstSeqOf(Math.min(anybodys, ...ofOrganization.values())),
    of: (organization) => firstSeqOf(Math.min(anybodys, ofOrganization.get(organization) ?? anybodys)),
  };
}

/**
 * A text that stays the same for as long as no event of an organization is added to the table; undefined when that
 * cannot be told, since some are on their way or others may write.
 */
function versions(ingest: Ingest, peers: Peers): (organization: string) => Promise<string | undefined> {
  return async (organization) => {
    const version = await peers.version();
    const last = ingest.lastSegmentOf(organization);
    const isKnown = version !== undefined && Number.isFinite(last) && ingest.isStored(last);
    return isKnown ? `${last} ${version}` : undefined;
  };
}

function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
