import { randomUUID } from 'node:crypto';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { readOrCreateFile, syncDirectory } from '../base/files/durable-file.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { gauge } from '../base/observability/metrics.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import type { SegmentSink } from '../base/events/segment-insert.ts';
import { segmentAtTime, segmentTimeMs, writersMax } from '../base/events/sequence.ts';
import type { StopStack } from '../base/processes/stop-stack.ts';
import { FeedWatch } from './feed-watch.ts';
import type { Lease } from './lease.ts';
import { limits } from './limits.ts';
import { type OtherWriters, otherServers } from './other-writers.ts';
import type { Storage } from './storage.ts';
import { isFenced, notFenced } from './fenced-writers.ts';
import { publishFirstWatermark, publishWatermark, withdrawWatermark, writers } from './watermarks.ts';
import { CopiedDataDirError, WriterRun } from './writer-runs.ts';
import { takeWriter } from './writers.ts';

/** In the data directory: the UUID of this server, and of the one that it becomes once it was fenced. */
export const instanceFile = 'instance-id';
const successorFile = 'instance-id.next';

interface WriterRegistryOptions {
  readonly storage: Storage;
  readonly dataDir: string;
  /** UUID of this process that outlives a restart. */
  readonly instance: string;
  readonly log: Logger;
  readonly stops: StopStack;
  /** Called once this process must end: it was fenced, or runs on a copy of another's data directory. */
  failed(error: Error): void;
  /** After so long without a word to the engine it asks before it sends a segment; `writerLeaseMs` if left out. */
  readonly leaseMs?: number;
}

/** How far the log of this process has come. */
interface LogProgress {
  /** Everything in segments below it is stored, and nothing that comes later is below it. */
  watermark(): Promise<number>;
  /** Segments that wait for the engine. */
  unsent(): number;
}

/** What a server has among those that share a ClickHouse server. */
interface Membership {
  readonly run: WriterRun;
  readonly writer: number;
  /** On its number. */
  readonly lease: Lease;
  readonly renumberAfter: number | undefined;
}

const fencedWords =
  'this server was fenced while it was away (auditlog writers fence): start it again, and what is in its log takes new places in the order';

const lostNumberWords =
  'this server was away for so long that its writer number is free for another: start it again, and it takes a new one';

/**
 * This server among those that share a ClickHouse server: they agree on their numbers through it. It may be fenced while it
 * is away, and may find a copy of itself.
 */
export class WriterRegistry {
  readonly others: OtherWriters;
  /** Number of this process in the order of ingest. */
  readonly writer: number;
  /**
   * Where this server was fenced nobody waits for what is in its log: it must take new places in the order, above this
   * segment number (see renumber.ts). Else undefined.
   */
  readonly renumberAfter: number | undefined;
  readonly #options: WriterRegistryOptions;
  readonly #run: WriterRun;
  readonly #lease: Lease;
  #feedWatch: FeedWatch | undefined;
  #failure: Error | undefined;
  /** When this process last began to say that it is alive, and was not fenced then. */
  #confirmedMs = performance.now();

  private constructor(options: WriterRegistryOptions, membership: Membership) {
    this.#options = options;
    this.#run = membership.run;
    this.#lease = membership.lease;
    this.others = otherServers(options.storage, options.instance);
    this.writer = membership.writer;
    this.renumberAfter = membership.renumberAfter;
  }

  /**
   * Claims a writer number and keeps it. Rejects with EngineError, where all numbers are taken, and where the data
   * directory is a copy of another server's.
   */
  static async join(options: WriterRegistryOptions): Promise<WriterRegistry> {
    const { storage, dataDir, log, stops } = options;
    const run = await WriterRun.begin(options);
    const wasFenced = await isFenced(storage, options.instance);
    const instance = wasFenced ? await successorOf(dataDir) : options.instance;
    // The last number is left to commands that record beside a server.
    const { id: writer, lease } = await takeWriter(storage, instance, writersMax - 1);
    // Before any place is taken above it, and once: a second start after a crash takes the same ones.
    const low = segmentAtTime(Date.now());
    const renumberAfter = wasFenced ? await publishFirstWatermark(storage, instance, low) : undefined;
    const renewal = new Repeated(
      limits.writerRenewMs,
      async () => void (await lease.take()),
      (error) => log.warn(errorFacts(error), 'the lease of this writer number could not be renewed yet'),
    );
    stops.add(() => renewal.stop());
    const member = new WriterRegistry({ ...options, instance }, { run, writer, lease, renumberAfter });
    if (!wasFenced) await member.#live();
    return member;
  }

  /** The log has new places: from here on this process is its successor, to itself and to others. */
  async succeed(): Promise<void> {
    const { dataDir } = this.#options;
    await rename(join(dataDir, successorFile), join(dataDir, instanceFile));
    await syncDirectory(dataDir);
    await this.#live();
  }

  /**
   * Tells the other servers the watermark of this one, about once a second. A server that stops with events in its log is
   * still waited for: the next start sends them. It also watches the clock, and whom the feed waits for.
   */
  async publish(progress: LogProgress): Promise<void> {
    const { storage, instance, log, stops } = this.#options;
    await this.#watch();
    let published = await progress.watermark();
    await publishWatermark(storage, instance, published);
    const publish = async (): Promise<void> => {
      const low = await progress.watermark();
      if (low === published) return;
      await publishWatermark(storage, instance, low);
      published = low;
    };
    const publishing = new Repeated(limits.watermarkPublishMs, publish, (error) =>
      log.debug(errorFacts(error), 'the watermark could not be published yet'),
    );
    stops.add(async () => {
      await publishing.stop();
      if (progress.unsent() === 0) await withdrawWatermark(storage, instance);
    });
  }

  async #watch(): Promise<void> {
    const { storage, instance, log, stops } = this.#options;
    stops.add(await watchClock(this.#options));
    this.#feedWatch = new FeedWatch({ storage, instance, log });
    stops.add(() => this.#feedWatch?.stop());
  }

  /** False while the feed waits for another server, see FeedWatch. */
  feedGoesOn(): boolean {
    return this.#feedWatch?.isHeld !== true;
  }

  /**
   * The way of segments into the table, closed to a process that was fenced. One that the engine has heard of lately
   * cannot have been (`writerFenceAfterMs`); any other asks before it sends.
   */
  fence(sink: SegmentSink): SegmentSink {
    const { leaseMs = limits.writerLeaseMs } = this.#options;
    return async (segment) => {
      if (performance.now() - this.#confirmedMs >= leaseMs) await this.#confirm();
      if (this.#failure !== undefined) throw this.#failure;
      return sink(segment);
    };
  }

  /** Says every few seconds that this process is alive, until it stops. */
  async #live(): Promise<void> {
    const { log, stops } = this.#options;
    await this.#confirm();
    const living = new Repeated(
      limits.writerSeenMs,
      () => this.#confirm(),
      (error) => log.debug(errorFacts(error), 'other servers could not be told yet that this one is alive'),
    );
    stops.add(async () => {
      await living.stop();
      await this.#run.end();
    });
  }

  /** First says that it is alive, then looks: who fences it does the opposite, so one of the two sees the other. */
  async #confirm(): Promise<void> {
    const { storage, instance, dataDir } = this.#options;
    const begunMs = performance.now();
    await this.#run.renew(instance);
    if (await isFenced(storage, instance)) return this.#fail(new Error(fencedWords));
    const rival = await this.#run.rival();
    if (rival !== undefined) return this.#fail(new CopiedDataDirError(dataDir, rival));
    if (!(await this.#lease.holds())) return this.#fail(new Error(lostNumberWords));
    this.#confirmedMs = begunMs;
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#options.log.error({}, error.message);
    this.#options.failed(error);
  }
}

/** The instance that takes over from one that was fenced: the same one, however often the start is begun anew. */
async function successorOf(dataDir: string): Promise<string> {
  return (await readOrCreateFile(join(dataDir, successorFile), randomUUID())).trim();
}

/**
 * How many milliseconds the clock of this process is behind: the engine's, or that of another process on it, as the
 * newest place that it has taken in the order tells; 0 when it is not. Rejects with EngineError.
 */
async function clockBehindMs(
  { storage, instance }: WriterRegistryOptions,
  signal?: AbortSignal,
): Promise<number> {
  const [row] = await storage.rows<{ now: string; newest: string }>(
    `SELECT toString(toUnixTimestamp64Milli(now64(3))) AS now, toString(max(low)) AS newest FROM ${writers}
     WHERE is_open AND writer != {instance:UUID} AND ${notFenced}`,
    { instance },
    signal === undefined ? {} : { signal },
  );
  // Read after the answer, so that the time of its way does not make this clock look slow.
  const ownMs = Date.now();
  const aheadMs = Math.max(Number(row?.now ?? 0), segmentTimeMs(Number(row?.newest ?? 0)));
  return Math.max(0, aheadMs - ownMs);
}

/**
 * Tells an operator, at the start and by a metric, of a clock that is behind those of the other servers on the
 * engine: events that come here then reach followers of the feed there too late to be handed out in order, and the
 * feed here waits for the time to pass. The function returned ends the watch.
 */
async function watchClock(options: WriterRegistryOptions): Promise<() => Promise<void>> {
  let behindMs = await clockBehindMs(options);
  if (behindMs > limits.clockSkewMsMax) {
    const facts = { behindSeconds: behindMs / 1000, allowedSeconds: limits.clockSkewMsMax / 1000 };
    options.log.warn(facts, 'the clock is behind those of others on the engine: set it right for the feed');
  }
  const help = 'How far the clock is behind the engine and the other servers on it';
  gauge('auditlog_clock_behind_seconds', help, [], (metric) => metric.set(behindMs / 1000));
  const check = async (signal: AbortSignal): Promise<void> => {
    behindMs = await clockBehindMs(options, signal);
  };
  const checks = new Repeated(limits.clockCheckMs, check, (error) =>
    options.log.debug(errorFacts(error), 'the clock could not be compared yet'),
  );
  return () => checks.stop();
}
