import { join } from 'node:path';
import { systemClock } from './base/time/clock.ts';
import { errorFacts, type Logger } from './base/observability/log.ts';
import { DamageRegister } from './base/observability/damage.ts';
import { collectProcessMetrics } from './base/observability/metrics.ts';
import { EngineError } from './base/errors/engine-error.ts';
import { Problem } from './base/errors/problem.ts';
import { localUrl, removeServerFile, writeServerFile } from './base/files/server-file.ts';
import { StopStack } from './base/processes/stop-stack.ts';
import type { RunningService, ServiceOutputs } from './cli/context.ts';
import type { Config } from './config/config.ts';
import { requireUsable, takeDataDir } from './config/data-dir.ts';
import { checkListener } from './config/listener.ts';
import { sessionSecret } from './config/secrets.ts';
import { prepareAnswers } from './contract/stringify.ts';
import type { Directory } from './control/directory.ts';
import { IngestDirectory } from './control/ingest-directory.ts';
import { KeyUses } from './control/key-uses.ts';
import { PasswordLinks } from './control/password-links.ts';
import { PasswordThrottle } from './control/password-throttle.ts';
import { cutOffOf } from './control/retention.ts';
import { RetentionPreview } from './control/retention-preview.ts';
import { SealedSecrets } from './control/sealed-secret.ts';
import { Sessions } from './control/sessions.ts';
import type { EvidenceReader } from './evidence/evidence-reader.ts';
import { serve } from './http/serve.ts';
import type { HttpServer } from './http/server.ts';
import type { Ingest } from './ingest/ingest.ts';
import { newestAnswerMs } from './ingest/answer-store.ts';
import { eventHead, eventTail } from './ocsf/envelope.ts';
import { steadyClock } from './base/time/steady-clock.ts';
import { createReaders } from './read/readers.ts';
import { Ocsf110Pool } from './read/ocsf110/pool.ts';
import { limits as storageLimits } from './storage/limits.ts';
import { Attempts } from './sign-on/attempt.ts';
import { Providers } from './sign-on/providers.ts';
import type { Base, Intervals } from './service/base.ts';
import { openCounts, startEvidence, startRetention, startTracing } from './service/background.ts';
import { handChanges, startDirectory } from './service/changes.ts';
import { startWriting, type Writing } from './service/writing.ts';
import { explainFullDisk, type ServiceStorage, startStorage } from './storage/open-storage.ts';

const shutdownFlushMsMax = 10_000;
const shutdownRequestsMsMax = 10_000;
/** A day, in which an operator can set a wrong clock right before it costs events. */
const usualIntervals: Intervals = { evidenceMs: 30_000, retentionGraceMs: 86_400_000 };

const clock = systemClock;

/**
 * Starts everything in the order of its dependencies; what was started is stopped again when a later part fails. Tests
 * give shorter `intervals`.
 */
export async function startService(
  config: Config,
  outputs: ServiceOutputs,
  intervals: Partial<Intervals> = {},
): Promise<RunningService> {
  const stops = new StopStack(outputs.log);
  try {
    return await start(config, { ...usualIntervals, ...intervals }, outputs, stops);
  } catch (error) {
    await stops.run();
    const explained = explainFullDisk(error, config);
    if (explained instanceof EngineError)
      outputs.log.error(errorFacts(explained), 'the engine refused what a start needs');
    throw explained;
  }
}

async function start(
  config: Config,
  intervals: Intervals,
  outputs: ServiceOutputs,
  stops: StopStack,
): Promise<RunningService> {
  const { log } = outputs;
  collectProcessMetrics();
  const lock = await takeDataDir(config.dataDir, log);
  stops.add(() => lock.release());
  await requireUsable(config.dataDir);
  await checkListener(config);
  await startTracing(config, log, stops);
  const envelope = { head: eventHead, tail: eventTail(config) };
  const damage = new DamageRegister();
  const failing = new AbortController();
  const failed = (error: Error): void => failing.abort(error);
  const opened = { ...config, config, ...outputs, envelope, damage, stops, failed };
  setImmediate(prepareAnswers);
  const stored = await startStorage(opened);
  const steadyMs = steadyClock(await newestAnswerMs(join(config.dataDir, 'idempotency')));
  const base = { ...opened, intervals, steadyMs };
  const control = await startDirectory(base, stored, clock);
  const { directory } = control;
  const organizations = new IngestDirectory(directory, config.retentionDays);
  const secret = await sessionSecret(config, log);
  const counts = await openCounts(base, secret);
  const sharedAnswers = stored.instance === undefined ? undefined : counts.answers(stored.instance);
  const writing = await startWriting(base, stored, organizations, sharedAnswers);
  const { ingest, order } = writing;
  await handChanges(base, control, organizations, ingest);
  const retentionCutOff = (organization: string) => cutOffOf(directory.policyOf(organization), clock());
  const evidence = await startEvidence(base, stored, order, retentionCutOff);
  startRetention(base, stored, writing, directory, organizations);
  const stopping = new AbortController();
  let url = '';
  const announce = (certificate: string | undefined) =>
    writeServerFile(config.dataDir, { url, certificate }, log);
  const shown = { writing, evidence, retentionCutOff, announce };
  const parts = { stored, directory, organizations, secret, counts, ...shown };
  const { server, certificate } = await startAnswering(base, parts, stopping.signal);
  url = localUrl(config.host, server.port, config.tls !== undefined);
  await announce(certificate);
  stops.add(() => removeServerFile(config.dataDir));
  const stop = async () => {
    server.stopAccepting();
    stopping.abort();
    await drain(server, ingest, log);
    await stops.run();
  };
  const running = { storage: stored.storage, directory, record: recorderOf(parts), flush: ingest.flush };
  return { url, ...running, failure: failing.signal, stop };
}

/** Records events of an organization as its producers do, for `demo`. */
function recorderOf({ organizations, directory, writing }: Answering): RunningService['record'] {
  return async (slug, ndjson) => {
    const organization = organizations.organization(directory.organizationBySlug(slug)?.id ?? '');
    if (organization === undefined) throw new Problem('not_found', `there is no organization "${slug}"`);
    const body = new Uint8Array(ndjson);
    const plain = { form: 'ndjson', encoding: 'identity', idempotency: undefined } as const;
    return writing.ingest.accept({ ...plain, body, organization });
  };
}

interface Answering {
  readonly stored: ServiceStorage;
  readonly directory: Directory;
  readonly organizations: IngestDirectory;
  readonly writing: Writing;
  /** Of sessions, and of names in Redis. */
  readonly secret: string;
  readonly counts: Awaited<ReturnType<typeof openCounts>>;
  readonly evidence: EvidenceReader;
  /** Before which time (Unix microseconds) an organization's events are over. */
  readonly retentionCutOff: (organization: string) => number | undefined;
  /** Tells commands where the server is, and which certificate it shows. */
  readonly announce: (certificate: string | undefined) => Promise<void>;
}

/** Listens; `stopping` ends the requests that only wait. */
async function startAnswering(base: Base, parts: Answering, stopping: AbortSignal) {
  const { config, envelope, damage } = base;
  const { directory, organizations, evidence, retentionCutOff, secret } = parts;
  const { rateCounter, accounts, limitsShared } = parts.counts;
  const { storage, engineWrites } = parts.stored;
  const { ingest, order } = parts.writing;
  const passwords = new PasswordThrottle({ accounts });
  stopping.addEventListener('abort', () => passwords.stop());
  const keyUses = new KeyUses({ storage, clock, log: base.log });
  keyUses.start();
  base.stops.add(() => keyUses.stop());
  const pool = new Ocsf110Pool(config, base.log);
  base.stops.add(() => pool.close());
  return serve({
    ...base,
    clock,
    ingest,
    read: createReaders({ storage, pool, envelope, clock, secret, order, retentionCutOff, stopping }),
    evidence,
    directory,
    organizationOf: (id) => organizations.organization(id),
    sessions: new Sessions({ secret, ttlMs: config.sessionTtlMs, clock, directory }),
    retention: new RetentionPreview({ storage, directory, clock, defaultDays: config.retentionDays }),
    keyUses,
    rateCounter,
    passwords,
    passwordLinks: new PasswordLinks({ secret, clock, directory }),
    providers: new Providers({ service: config.oidc, secrets: new SealedSecrets(secret) }),
    attempts: new Attempts(secret, clock),
    onCertificate: parts.announce,
    readiness: {
      engineReachable: () => storage.ping(storageLimits.readinessMsMax),
      engineTakesWrites: () => engineWrites.takesWrites(),
      logFailure: ingest.logFailure,
      controlDataTakesWrites: () => storage.takesControlWrites(storageLimits.readinessMsMax),
      limitsShared,
      damage: () => damage.list(),
    },
  });
}

/** The end of a server that accepts nothing more: answers what it has begun, and gives the engine what is in the log. */
async function drain(server: HttpServer, ingest: Ingest, log: Logger): Promise<void> {
  const answered = await server.drained(shutdownRequestsMsMax);
  const flushed = await ingest.flush(shutdownFlushMsMax).catch((error: unknown) => {
    log.warn(errorFacts(error), 'the log could not be sealed');
    return false;
  });
  const words = flushed ? 'drained' : 'stopped with events in the log; the next start sends them';
  log.info({ answered, flushed }, words);
}
