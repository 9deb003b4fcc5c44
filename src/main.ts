import { join } from 'node:path';
import { EngineError } from './base/errors/engine-error.ts';
import { Problem } from './base/errors/problem.ts';
import { DamageRegister } from './base/observability/damage.ts';
import { errorFacts, type Logger } from './base/observability/log.ts';
import { collectProcessMetrics } from './base/observability/metrics.ts';
import { StopStack } from './base/processes/stop-stack.ts';
import { systemClock as clock } from './base/time/clock.ts';
import { steadyClock } from './base/time/steady-clock.ts';
import type { Config } from './config/config.ts';
import { requireUsable, takeDataDir } from './config/data-dir.ts';
import { checkListener } from './config/listener.ts';
import { sessionSecret } from './config/secrets.ts';
import { prepareAnswers } from './contract/stringify.ts';
import type { Directory } from './control/directory.ts';
import { IngestDirectory } from './control/ingest-directory.ts';
import { cutOffOf } from './control/retention.ts';
import type { HttpServer } from './http/server.ts';
import { newestAnswerMs } from './ingest/answer-store.ts';
import type { Ingest } from './ingest/ingest.ts';
import { eventHead, eventTail } from './ocsf/envelope.ts';
import { startAnswering } from './service/answering.ts';
import { openCounts, startEvidence, startRetention, startTracing } from './service/background.ts';
import type { Base, Intervals } from './service/base.ts';
import { handChanges, startDirectory } from './service/changes.ts';
import { startWriting } from './service/writing.ts';
import { explainFullDisk, startStorage } from './storage/open-storage.ts';
import type { Storage } from './storage/storage.ts';

const shutdownFlushMsMax = 10_000;
const shutdownRequestsMsMax = 10_000;
/** A day for an operator to correct a wrong clock before it costs events. */
const usualIntervals: Intervals = { evidenceMs: 30_000, retentionGraceMs: 86_400_000 };

interface Outputs {
  readonly log: Logger;
  /** A file descriptor or a path. */
  readonly accessLogTo: number | string;
}

interface Service {
  readonly url: string;
  readonly storage: Storage;
  readonly directory: Directory;
  readonly record: ReturnType<typeof makeRecorder>;
  readonly flush: Ingest['flush'];
  /** Fires with the reason when the process must end. */
  readonly failure: AbortSignal;
  stop(): Promise<void>;
}

/** Starts the service; if a later part fails, stops the earlier ones. Tests give shorter `intervals`. */
export async function startService(
  config: Config,
  outputs: Outputs,
  intervals: Partial<Intervals> = {},
): Promise<Service> {
  const { log } = outputs;
  const stops = new StopStack(log);
  try {
    return await start(config, { ...usualIntervals, ...intervals }, outputs, stops);
  } catch (error) {
    await stops.run();
    const explained = explainFullDisk(error, config);
    if (explained instanceof EngineError)
      log.error(errorFacts(explained), 'The engine rejected a statement of the start');
    throw explained;
  }
}

/** In the order of dependencies; `stops` runs in the opposite order. */
async function start(config: Config, intervals: Intervals, { log, accessLogTo }: Outputs, stops: StopStack) {
  const { dataDir, clickhouse } = config;
  await prepare(config, log, stops);
  const envelope = { head: eventHead, tail: eventTail(config) };
  const damage = new DamageRegister();
  const stored = await startStorage({ dataDir, clickhouse, envelope, damage, log, stops });

  const failing = new AbortController();
  const failed = (error: Error): void => failing.abort(error);
  const steadyMs = steadyClock(await newestAnswerMs(join(dataDir, 'idempotency')));
  const base: Base = { config, intervals, log, damage, stops, steadyMs, failed };

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
  const { server, url } = await startAnswering(base, {
    envelope,
    stored,
    directory,
    organizations,
    writing,
    counts,
    evidence,
    retentionCutOff,
    secret,
    stopping: stopping.signal,
    accessLogTo,
  });

  return {
    url,
    storage: stored.storage,
    directory,
    record: makeRecorder(ingest, directory, organizations),
    flush: ingest.flush,
    failure: failing.signal,
    async stop() {
      server.stopAccepting();
      stopping.abort();
      await drain(server, ingest, log);
      await stops.run();
    },
  };
}

/** All that can fail before anything is started. */
async function prepare(config: Config, log: Logger, stops: StopStack): Promise<void> {
  collectProcessMetrics();
  const lock = await takeDataDir(config.dataDir, log);
  stops.add(() => lock.release());
  await requireUsable(config.dataDir);
  await checkListener(config);
  await startTracing(config, log, stops);
  setImmediate(prepareAnswers);
}

/** Records events as a producer would, for `demo`. */
function makeRecorder({ accept }: Ingest, directory: Directory, organizations: IngestDirectory) {
  return (slug: string, ndjson: Uint8Array) => {
    const organization = organizations.organization(directory.organizationBySlug(slug)?.id ?? '');
    if (organization === undefined) throw new Problem('not_found', `There is no organization "${slug}"`);
    const body = new Uint8Array(ndjson);
    return accept({ form: 'ndjson', encoding: 'identity', idempotency: undefined, body, organization });
  };
}

/** Answers the requests in progress, and sends the log to the engine. */
async function drain(server: HttpServer, ingest: Ingest, log: Logger): Promise<void> {
  const answered = await server.drained(shutdownRequestsMsMax);
  const flushed = await ingest.flush(shutdownFlushMsMax).catch((error: unknown) => {
    log.warn(errorFacts(error), 'Sealing the log failed');
    return false;
  });
  const words = flushed ? 'Drained' : 'Stopped with events in the log; the next start sends them';
  log.info({ answered, flushed }, words);
}
