import { systemClock } from './base/clock.ts';
import { DamageRegister } from './base/damage.ts';
import { collectProcessMetrics } from './base/metrics.ts';
import { Problem } from './base/problem.ts';
import { localUrl, removeServerFile, writeServerFile } from './base/server-file.ts';
import { StopStack } from './base/stop-stack.ts';
import { fullDiskWords } from './base/system-error.ts';
import type { RunningService, ServiceOutputs } from './cli/context.ts';
import type { Config } from './config/config.ts';
import { takeDataDir } from './config/data-dir.ts';
import { checkListener } from './config/listener.ts';
import { evidenceKeys, sessionSecret } from './config/secrets.ts';
import { prepareAnswers } from './contract/stringify.ts';
import { Administration } from './control/administration.ts';
import { Directory } from './control/directory.ts';
import { IngestDirectory } from './control/ingest-directory.ts';
import { KeyUses } from './control/key-uses.ts';
import { PasswordLinks } from './control/password-links.ts';
import { PasswordThrottle } from './control/password-throttle.ts';
import { overBefore } from './control/retention.ts';
import { RetentionKeeper } from './control/retention-keeper.ts';
import { Sessions } from './control/sessions.ts';
import { newEvidenceKey, openEvidence } from './evidence/evidence.ts';
import type { EvidenceReader } from './evidence/evidence-reader.ts';
import { readProgress } from './evidence/progress-table.ts';
import { startFrontEnd } from './http/front-end.ts';
import { drain } from './http/drain.ts';
import type { HttpServer } from './http/server.ts';
import { openIngest } from './ingest/ingest.ts';
import { IngestOrder } from './ingest/ingest-order.ts';
import { limits as ingestLimits } from './ingest/limits.ts';
import { eventHead, eventTail } from './ocsf/envelope.ts';
import { createReaders } from './read/readers.ts';
import { StandardPool } from './read/standard/pool.ts';
import { createSegmentInsert } from './storage/insert.ts';
import { limits as storageLimits } from './storage/limits.ts';
import { Membership } from './storage/membership.ts';
import {
  isOutOfRoom,
  type ServiceStorage,
  startStorage,
  type StorageOptions,
  watchParts,
} from './storage/open-storage.ts';
import { commandPeers } from './storage/peers.ts';
import { EventRemoval } from './storage/removal.ts';

const clock = systemClock;

/** Starts everything in the order of its dependencies; what was started is stopped again when a later part fails. */
export async function startService(config: Config, outputs: ServiceOutputs): Promise<RunningService> {
  const stops = new StopStack(outputs.log);
  try {
    return await start(config, outputs, stops);
  } catch (error) {
    await stops.run();
    const isFull = isOutOfRoom(error, config.clickhouse);
    throw isFull ? new Error(fullDiskWords(config.dataDir), { cause: error }) : error;
  }
}

async function start(config: Config, outputs: ServiceOutputs, stops: StopStack): Promise<RunningService> {
  const { log } = outputs;
  collectProcessMetrics();
  const lock = await takeDataDir(config.dataDir, log);
  stops.add(() => lock.release());
  await checkListener(config);
  const envelope = { head: eventHead, tail: eventTail(config) };
  const base = { ...config, config, ...outputs, envelope, damage: new DamageRegister(), stops };
  setImmediate(prepareAnswers);
  const stored = await startStorage(base);
  const directory = new Directory({ storage: stored.storage, log, clock });
  await directory.refresh();
  directory.start();
  stops.add(() => directory.stop());
  const organizations = new IngestDirectory(directory, config.retentionDays);
  const writing = await startWriting(base, stored, organizations);
  const { ingest, order } = writing;
  await watchParts(stored, base, async () => (await order.settledBefore()).ofAll);
  const keptFrom = (organization: string) => overBefore(directory.policyOf(organization), clock());
  const evidence = await startEvidence(base, stored, order, keptFrom);
  startRetention(base, stored, writing, organizations);
  const stopping = new AbortController();
  const server = await startAnswering(
    base,
    { stored, directory, organizations, writing, evidence, keptFrom },
    stopping.signal,
  );
  const url = localUrl(config.host, server.port);
  await writeServerFile(config.dataDir, url, log);
  stops.add(() => removeServerFile(config.dataDir));

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

/** What every part is started with. */
interface Base extends ServiceOutputs, StorageOptions {
  readonly config: Config;
}

type Writing = Awaited<ReturnType<typeof startWriting>>;

/** The log and the way of its segments into the table, in one order with all others that write there. */
async function startWriting(base: Base, stored: ServiceStorage, organizations: IngestDirectory) {
  const { config, dataDir, log, stops, damage } = base;
  const { storage, engine, instance, writeHealth } = stored;
  const joining = instance === undefined ? undefined : Membership.join({ storage, instance, log, stops });
  const member = await joining;
  const ingest = await openIngest({
    ...config,
    log,
    bodyBytesMax: config.maxBodyBytes,
    walBytesMax: config.walMaxBytes,
    // The engine needs room to take over what the log holds, or neither could go on.
    keepFreeBytes: engine === undefined ? 0 : ingestLimits.walKeepFreeBytes,
    writer: member?.writer ?? 0,
    sink: writeHealth.watch(createSegmentInsert(storage, log)),
    damage,
    directory: () => organizations.shared(),
  });
  stops.add(() => ingest.close());
  await member?.publish(ingest);
  const peers = member?.peers ?? commandPeers(storage, dataDir);
  const order = new IngestOrder({ ingest, peers, clockSkewMs: member && storageLimits.clockSkewMsMax });
  return { ingest, order };
}

/** The trees of evidence: built from what is stored, so after all that writes, and ended before it. */
async function startEvidence(
  { config, log, damage, stops }: Base,
  stored: ServiceStorage,
  order: IngestOrder,
  keptFrom: Answering['keptFrom'],
) {
  const { serviceName, evidenceIntervalMs: intervalMs, evidenceDir: mirrorDirectory } = config;
  const { evidenceWitnesses: witnesses } = config;
  const { storage, instance } = stored;
  const keys = await evidenceKeys(config, log, () => newEvidenceKey(serviceName));
  const settledBefore = async () => (await order.settledBefore()).ofAll;
  const own = { storage, instance, serviceName, keys, intervalMs, mirrorDirectory, witnesses };
  const evidence = openEvidence({ ...own, settledBefore, keptFrom, damage, log });
  stops.add(() => evidence.stop());
  return evidence.reader;
}

/** Removes what is over: only what is in its tree, where trees are built, as nothing would tell of it otherwise. */
function startRetention(
  { config, log, stops }: Base,
  { storage, instance }: ServiceStorage,
  { ingest, order }: Writing,
  organizations: IngestDirectory,
): void {
  const { retentionDays, retentionIntervalMs: intervalMs, evidenceIntervalMs } = config;
  const settledBefore = async (): Promise<bigint> => {
    const { ofAll } = await order.settledBefore();
    if (evidenceIntervalMs === undefined) return ofAll;
    const inTrees = (await readProgress(storage))?.settled ?? 0n;
    return inTrees < ofAll ? inTrees : ofAll;
  };
  const record = async (id: string, event: object): Promise<void> => {
    const organization = organizations.organization(id);
    if (organization === undefined) return;
    const body = new Uint8Array(Buffer.from(JSON.stringify(event)));
    await ingest.accept({ body, form: 'json', encoding: 'identity', organization, idempotency: undefined });
  };
  const removal = new EventRemoval({ storage, cluster: config.clickhouse.cluster });
  const own = { storage, removal, instance, retentionDays, intervalMs };
  const keeper = new RetentionKeeper({ ...own, settledBefore, record, clock, log });
  stops.add(() => keeper.stop());
}

interface Answering {
  readonly stored: ServiceStorage;
  readonly directory: Directory;
  readonly organizations: IngestDirectory;
  readonly writing: Writing;
  readonly evidence: EvidenceReader;
  /** Before which time (Unix microseconds) an organization's events are over. */
  readonly keptFrom: (organization: string) => number | undefined;
}

/** Listens; `stopping` ends the requests that only wait. */
async function startAnswering(base: Base, parts: Answering, stopping: AbortSignal): Promise<HttpServer> {
  const { config, envelope, damage } = base;
  const { directory, organizations, evidence, keptFrom } = parts;
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
    clock,
    ingest,
    read: createReaders({ storage, pool, envelope, clock, secret, order, keptFrom, stopping }),
    evidence,
    directory,
    organizationOf: (id) => organizations.organization(id),
    sessions: new Sessions({ secret, ttlMs: config.sessionTtlMs, clock, directory, storage }),
    administration: new Administration(storage, clock, config.retentionDays),
    keyUses,
    passwords,
    passwordLinks: new PasswordLinks({ secret, clock, directory }),
    readiness: {
      engineReachable: () => storage.ping(storageLimits.readinessMsMax),
      engineTakesWrites: () => writeHealth.takesWrites(),
      logFailure: ingest.logFailure,
      damage: () => damage.list(),
    },
  });
}
