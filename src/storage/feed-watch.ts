import { errorFacts, type Logger } from '../base/log.ts';
import { gauge } from '../base/metrics.ts';
import { Repeated } from '../base/repeated.ts';
import { segmentTimeMs } from '../base/sequence.ts';
import { limits } from './limits.ts';
import { listWriters, type Writer } from './retired-writers.ts';
import type { Storage } from './storage.ts';

interface FeedWatchOptions {
  readonly storage: Storage;
  readonly instance: string;
  readonly log: Logger;
}

/**
 * Tells an operator of another server that the feed waits for, by the metric `auditlog_feed_held_back_seconds`, a line
 * once a minute and `/readyz`: one that died with events in its log, or cannot reach the engine. Of this server's own
 * log `auditlog_ingest_lag_seconds` tells.
 */
export class FeedWatch {
  readonly #options: FeedWatchOptions;
  readonly #watching: Repeated;
  #holding: readonly Writer[] = [];
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(options: FeedWatchOptions) {
    this.#options = options;
    const help = 'How far the feed is behind the clock because of another server, by its writer number';
    gauge('auditlog_feed_held_back_seconds', help, ['writer'], (metric) => {
      metric.reset();
      for (const { number, heldMs } of this.#holding)
        metric.set({ writer: String(number) }, Math.round(heldMs / 1000));
    });
    this.#watching = new Repeated(
      limits.writerSeenMs,
      () => this.#look(),
      (error) => options.log.debug(errorFacts(error), 'whom the feed waits for could not be looked up yet'),
    );
  }

  get isHeld(): boolean {
    return this.#holding.length > 0;
  }

  stop(): Promise<void> {
    return this.#watching.stop();
  }

  async #look(): Promise<void> {
    const { storage, instance, log } = this.#options;
    const wasHeld = this.isHeld;
    const writers = await listWriters(storage);
    this.#holding = writers.filter((writer) => writer.heldMs > 0 && writer.instance !== instance);
    if (wasHeld && !this.isHeld) log.info({}, 'the feed goes on');
    const [first] = this.#holding.toSorted((one, other) => one.low - other.low);
    if (first === undefined || performance.now() - this.#toldMs < limits.feedHeldLogMs) return;
    this.#toldMs = performance.now();
    log.warn(factsOf(first), 'the feed waits for a writer: see auditlog writers list');
  }
}

function factsOf({ number, host, pid, state, low, heldMs, seenMs }: Writer): object {
  return {
    writer: number,
    host,
    pid,
    state,
    since: new Date(segmentTimeMs(low)).toISOString(),
    heldBackSeconds: Math.round(heldMs / 1000),
    lastSeen: new Date(seenMs).toISOString(),
  };
}
