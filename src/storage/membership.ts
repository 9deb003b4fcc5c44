import { errorFacts, type Logger } from '../base/log.ts';
import { Repeated } from '../base/repeated.ts';
import type { StopStack } from '../base/stop-stack.ts';
import { watchClock } from './clock-check.ts';
import { limits } from './limits.ts';
import { type Peers, serverPeers } from './peers.ts';
import type { Storage } from './storage.ts';
import { publishWatermark, withdrawWatermark } from './watermarks.ts';
import { claimWriter, renewWriter } from './writers.ts';

interface MembershipOptions {
  readonly storage: Storage;
  /** UUID of this process that outlives a restart. */
  readonly instance: string;
  readonly log: Logger;
  readonly stops: StopStack;
  /** How many writers the order of ingest has room for. */
  readonly writersMax: number;
  /** Milliseconds: the moment at which a segment of this number was begun, by its writer's clock. */
  timeOfSegment(segment: number): number;
}

/** How far the log of this process has come. */
interface LogProgress {
  /** Everything in segments below it is stored, and nothing that comes later is below it. */
  lowestUnsettled(): Promise<number>;
  /** Segments that wait for the engine. */
  unsent(): number;
}

/** This process among those that share a ClickHouse server: they agree on their numbers through it. */
export class Membership {
  readonly peers: Peers;
  /** Number of this process in the order of ingest. */
  readonly writer: number;
  readonly #options: MembershipOptions;

  private constructor(options: MembershipOptions, writer: number) {
    this.#options = options;
    this.peers = serverPeers(options.storage, options.instance);
    this.writer = writer;
  }

  /** Claims a writer number and keeps it. Rejects with EngineError, and where all numbers are taken. */
  static async join(options: MembershipOptions): Promise<Membership> {
    const { storage, instance, log, stops } = options;
    // The last number is left to commands that record beside a server.
    const writer = await claimWriter(storage, instance, options.writersMax - 1);
    const renewal = new Repeated(
      limits.writerRenewMs,
      () => renewWriter(storage, instance, writer),
      (error) => log.warn(errorFacts(error), 'the claim of this writer number could not be renewed yet'),
    );
    stops.add(() => renewal.stop());
    return new Membership(options, writer);
  }

  /**
   * Tells the other processes how far this one has settled, about once a second, and watches its clock. A process that
   * stops with events in its log is still waited for: the next start sends them.
   */
  async publish(progress: LogProgress): Promise<void> {
    const { storage, instance, log, stops } = this.#options;
    stops.add(await watchClock(this.#options));
    let published = await progress.lowestUnsettled();
    await publishWatermark(storage, instance, published);
    const publish = async (): Promise<void> => {
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
