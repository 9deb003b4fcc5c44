import { errorFacts, type Logger } from '../base/observability/log.ts';
import { gauge } from '../base/observability/metrics.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { segmentTimeMs } from '../base/events/sequence.ts';
import { endLostClaims, type OpenClaim, openClaims } from './command-claims.ts';
import { limits } from './limits.ts';
import { listWriters, type Writer } from './fenced-writers.ts';
import type { Storage } from './storage.ts';

interface FeedWatchOptions {
  readonly storage: Storage;
  /** This server's name among those that share the engine; undefined where it has one of its own. */
  readonly instance: string | undefined;
  readonly log: Logger;
}

/** Whom the feed waits for. */
interface Holder {
  /** The number of a server, or `command`. */
  readonly writer: string;
  readonly low: number;
  readonly heldMs: number;
  readonly facts: object;
  readonly words: string;
}

/**
 * Tells an operator whom the feed, and with it the trees of evidence, wait for, by the metric
 * `auditlog_feed_held_back_seconds`, a line once a minute and `/readyz`: another server that died with events in its log,
 * or cannot reach the engine; a command that stands still. Claims of commands that have ended it ends. Of this server's own
 * log `auditlog_ingest_lag_seconds` tells.
 */
export class FeedWatch {
  readonly #options: FeedWatchOptions;
  readonly #watching: Repeated;
  #holding: readonly Holder[] = [];
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(options: FeedWatchOptions) {
    this.#options = options;
    const help =
      'How far the feed is behind the clock because of another server, by its writer number, or a command';
    gauge('auditlog_feed_held_back_seconds', help, ['writer'], (metric) => {
      metric.reset();
      for (const { writer, heldMs } of this.#holding.toSorted((one, other) => one.heldMs - other.heldMs))
        metric.set({ writer }, Math.round(heldMs / 1000));
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
    const { log } = this.#options;
    const wasHeld = this.isHeld;
    this.#holding = [...(await this.#servers()), ...(await this.#commands())];
    if (wasHeld && !this.isHeld) log.info({}, 'the feed goes on');
    const [first] = this.#holding.toSorted((one, other) => one.low - other.low);
    if (first === undefined || performance.now() - this.#toldMs < limits.feedHeldLogMs) return;
    this.#toldMs = performance.now();
    log.warn({ ...first.facts, ...timesOf(first) }, first.words);
  }

  async #servers(): Promise<Holder[]> {
    const { storage, instance } = this.#options;
    if (instance === undefined) return [];
    const writers = await listWriters(storage);
    return writers.flatMap((one) => (one.heldMs > 0 && one.instance !== instance ? [holderOf(one)] : []));
  }

  async #commands(): Promise<Holder[]> {
    const { storage, log } = this.#options;
    await endLostClaims(storage).catch((error: unknown) =>
      log.warn(errorFacts(error), 'the claim of a command that has ended could not be ended yet'),
    );
    const claims = await openClaims(storage);
    return claims.flatMap((one) => (one.heldMs > limits.feedHeldMsMin ? [commandOf(one)] : []));
  }
}

const timesOf = ({ low, heldMs }: Holder) => ({
  since: new Date(segmentTimeMs(low)).toISOString(),
  heldBackSeconds: Math.round(heldMs / 1000),
});

function holderOf({ number, host, pid, state, low, heldMs, seenMs }: Writer): Holder {
  const facts = { writer: number, host, pid, state, lastSeen: new Date(seenMs).toISOString() };
  const words = 'the feed waits for a writer: see auditlog writers list';
  return { writer: String(number), low, heldMs, facts, words };
}

function commandOf({ host, pid, segment: low, heldMs }: OpenClaim): Holder {
  const words = 'the feed waits for a command: end that process if it does not go on';
  return { writer: 'command', low, heldMs, facts: { host, pid }, words };
}
