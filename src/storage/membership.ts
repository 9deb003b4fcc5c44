import { errorFacts, type Logger } from '../base/log.ts';
import { gauge } from '../base/metrics.ts';
import { Repeated } from '../base/repeated.ts';
import { segmentTimeMs, writersMax } from '../base/sequence.ts';
import type { StopStack } from '../base/stop-stack.ts';
import { limits } from './limits.ts';
import { type Peers, serverPeers } from './peers.ts';
import type { Storage } from './storage.ts';
import { highestWatermark, publishWatermark, withdrawWatermark } from './watermarks.ts';
import { claimWriter, renewWriter } from './writers.ts';

interface MembershipOptions {
  readonly storage: Storage;
  /** UUID of this process that outlives a restart. */
  readonly instance: string;
  readonly log: Logger;
  readonly stops: StopStack;
}

/** How far the log of this process has come. */
interface LogProgress {
  /** Everything in segments below it is stored, and nothing that comes later is below it. */
  lowestUnsettled(): Promise<number>;
  /** Begins segments above this number from now on. */
  raise(segment: number): void;
  /** Segments that wait for the engine. */
  unsent(): number;
}

/** A place among the processes that share the embedded engine of one machine, which nobody has to claim. */
interface OwnPlace {
  readonly writer: number;
  /** The lowest segment that its log may hold or begin. */
  readonly low: number;
}

/** This process among those that share an engine: they agree on their numbers through it. */
export class Membership {
  readonly peers: Peers;
  /** Number of this process in the order of ingest. */
  readonly writer: number;
  readonly #options: MembershipOptions;
  /** The clock bounds the order for such as begin to write; beside the engine of this machine all are known. */
  readonly #byClock: boolean;

  private constructor(options: MembershipOptions, writer: number, byClock: boolean) {
    this.#options = options;
    this.peers = serverPeers(options.storage, options.instance);
    this.writer = writer;
    this.#byClock = byClock;
  }

  /** Claims a writer number and keeps it. Rejects with EngineError, and where all numbers are taken. */
  static async join(options: MembershipOptions): Promise<Membership> {
    const { storage, instance, log, stops } = options;
    // The last number is left to commands that record beside a server.
    const writer = await claimWriter(storage, instance, writersMax - 1);
    const renewal = new Repeated(
      limits.writerRenewMs,
      () => renewWriter(storage, instance, writer),
      (error) => log.warn(errorFacts(error), 'the claim of this writer number could not be renewed yet'),
    );
    stops.add(() => renewal.stop());
    return new Membership(options, writer, true);
  }

  /**
   * Says in the engine that this process may write from `low` on. Who takes its first number above all there is after
   * that comes behind whatever readers have been given, whatever the clock says: commands do the same.
   */
  static async joinOwn(options: MembershipOptions, { writer, low }: OwnPlace): Promise<Membership> {
    await publishWatermark(options.storage, options.instance, low);
    return new Membership(options, writer, false);
  }

  /**
   * Tells the other processes how far this one has settled, about once a second. A process that stops with events in
   * its log is still waited for: the next start sends them. On a ClickHouse server it also watches the clock; beside
   * the engine of this machine it goes on from the numbers of the others, so that none holds back the order after the
   * clock was set.
   */
  async publish(progress: LogProgress): Promise<void> {
    const { storage, instance, log, stops } = this.#options;
    if (this.#byClock) stops.add(await watchClock(this.#options));
    let published = await progress.lowestUnsettled();
    await publishWatermark(storage, instance, published);
    const publish = async (): Promise<void> => {
      if (!this.#byClock) progress.raise(await highestWatermark(storage, instance));
      const low = await progress.lowestUnsettled();
      if (low === published) return;
      await publishWatermark(storage, instance, low);
      published = low;
    };
    const publishing = new Repeated(limits.watermarkPublishMs, publish, (error) =>
      log.debug(errorFacts(error), 'how far the log has settled could not be published yet'),
    );
    stops.add(async () => {
      await publishing.stop();
      if (progress.unsent() === 0) await withdrawWatermark(storage, instance);
    });
  }
}

/**
 * How many milliseconds the clock of this process is behind: the engine's, or that of another process on it, as the
 * newest place that it has taken in the order tells; 0 when it is not. Rejects with EngineError.
 */
async function clockBehindMs(
  { storage, instance }: MembershipOptions,
  signal?: AbortSignal,
): Promise<number> {
  const [row] = await storage.rows<{ now: string; newest: string }>(
    `SELECT toString(toUnixTimestamp64Milli(now64(3))) AS now, toString(max(low)) AS newest FROM watermarks FINAL
     WHERE until > now64(3) AND writer != {instance:UUID}`,
    { instance },
    signal === undefined ? {} : { signal },
  );
  // Of after the answer, so that the way of it does not count.
  const ownMs = Date.now();
  const aheadMs = Math.max(Number(row?.now ?? 0), segmentTimeMs(Number(row?.newest ?? 0)));
  return Math.max(0, aheadMs - ownMs);
}

/**
 * Tells an operator, at the start and by a metric, of a clock that is behind those of the other processes on the
 * engine: events that come here then reach followers of the feed there too late to be handed out in order, and the
 * feed here waits for the time to pass. The function returned ends the watch.
 */
async function watchClock(options: MembershipOptions): Promise<() => Promise<void>> {
  let behindMs = await clockBehindMs(options);
  if (behindMs > limits.clockSkewMsMax) {
    const facts = { behindSeconds: behindMs / 1000, allowedSeconds: limits.clockSkewMsMax / 1000 };
    options.log.warn(facts, 'the clock is behind those of others on the engine: set it right for the feed');
  }
  const help = 'How far the clock is behind the engine and the other processes on it';
  gauge('auditlog_clock_behind_seconds', help, [], (metric) => metric.set(behindMs / 1000));
  const check = async (signal: AbortSignal): Promise<void> => {
    behindMs = await clockBehindMs(options, signal);
  };
  const checks = new Repeated(limits.clockCheckMs, check, (error) =>
    options.log.debug(errorFacts(error), 'the clock could not be compared yet'),
  );
  return () => checks.stop();
}
