import { randomInt } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { gauge } from '../base/observability/metrics.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { Mutex } from '../base/waiting/keyed-mutex.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import { limits } from './limits.ts';
import type { Storage } from './storage.ts';
import { closeWriter, putWriter, reachedBy, readWriters, type WriterRow } from './watermarks.ts';

/** Time in which a server on the original of a copied data directory gives a sign of life. */
const writerCopyLookMs = 5_000;
/** The feed is always a few seconds behind. Beyond this the log names whom it waits for. */
const feedHeldMsMin = 10_000;
const feedHeldLogMs = 60_000;

/** The numbers of this process, which are in memory and in a file (see ingest/order-numbers.ts). */
export interface OwnNumbers {
  /** Nothing that this process stores later is below it. */
  lowest(): number;
  /** From now on numbers are above this one. */
  raise(number: number): void;
  /** Whether an attempt is in flight, or may be. */
  isInFlight(): boolean;
}

export interface SharedOrderOptions {
  readonly storage: Storage;
  /** UUID of the data directory, which a copy of it has, too. */
  readonly instance: string;
  /** The data directory is where its last server had it, and so no copy. */
  readonly isAtHome: boolean;
  readonly log: Logger;
  /** Makes sure of the writer number, before this process joins. */
  takeNumber(): Promise<void>;
  /** After so long without a sign of life that the engine took, this process joins anew before it takes a number. */
  readonly leaseMs?: number;
  /** Called once this process must end. */
  failed(error: Error): void;
}

/** Another server runs on the data directory that this one is a copy of, or on a copy of this one. */
class CopiedDataDirError extends Error {
  constructor({ host, pid }: WriterRow) {
    super(
      `DATA_DIR is a copy of one that a running server uses (host ${host}, process ${pid}): give this server a DATA_DIR ` +
        'of its own, or remove instance-id, wal, wal-head, wal-order and idempotency from the copy; what is in its log, the other server stores',
    );
    this.name = 'CopiedDataDirError';
  }
}

/** Another writer, and since when it has been seen without another sign of life. */
interface Seen {
  readonly version: bigint;
  readonly sinceMs: number;
}

/**
 * The order of ingest among servers that share an engine. Each tells the others once a second, by a row of `watermarks`,
 * below which number it stores nothing any more:
 *
 *     join:   publish ─▶ read how far all have come ─▶ take numbers above that
 *     turn:   publish ─▶ read all rows ─▶ the watermark is the lowest of those that are open, this one's among them
 *
 * So whoever did not see a row told nothing above what its writer read then, and whoever sees it waits for it. No two
 * clocks are compared. A writer that gives no sign of life for as long as its lease and the longest INSERT last together
 * has nothing under way: the others close its row, and it joins anew when it comes back.
 */
export class SharedOrder {
  readonly #options: SharedOrderOptions;
  readonly #numbers: OwnNumbers;
  readonly #leaseMs: number;
  readonly #turns = new Mutex();
  readonly #seen = new Map<string, Seen>();
  #low = 0;
  #version = 0n;
  /** When the last sign of life began that the engine took, by `performance.now()`. */
  #confirmedMs = Number.NEGATIVE_INFINITY;
  #watermark = 0;
  #movedMs = performance.now();
  #toldMs = Number.NEGATIVE_INFINITY;
  #publishing: Repeated | undefined;
  #failure: Error | undefined;

  private constructor(options: SharedOrderOptions, numbers: OwnNumbers) {
    this.#options = options;
    this.#numbers = numbers;
    this.#leaseMs = options.leaseMs ?? limits.writerLeaseMs;
  }

  /** Joins the others. Rejects with EngineError, and where the data directory is a copy of another server's. */
  static async join(options: SharedOrderOptions, numbers: OwnNumbers): Promise<SharedOrder> {
    const order = new SharedOrder(options, numbers);
    if (!options.isAtHome) await order.#lookForOriginal();
    await order.#turn();
    if (order.#failure !== undefined) throw order.#failure;
    const help = 'For how long the feed has not moved because of another server or a command';
    gauge('auditlog_feed_held_back_seconds', help, [], (metric) =>
      metric.set(Math.round(order.#heldMs() / 1000)),
    );
    order.#publishing = new Repeated(
      limits.watermarkPublishMs,
      (signal) => order.#turn(signal),
      (error) => options.log.debug(errorFacts(error), 'the watermark could not be published yet'),
    );
    return order;
  }

  /** Nothing that comes later is below it, whoever stores it. */
  watermark(): number {
    return this.#watermark;
  }

  /** Resolves when a number may be taken: nobody takes this process for gone before an INSERT of now has ended. */
  async ready(): Promise<void> {
    if (this.#hasLapsed()) await this.#turn();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Throws where too much time has passed since `ready`. */
  requireReady(): void {
    if (this.#hasLapsed()) throw new EngineError('timeout', 'this server has been cut off from the others');
  }

  /** This process will take no more numbers. One that may have an attempt under way is waited for. */
  async leave(): Promise<void> {
    await this.#publishing?.stop();
    if (this.#numbers.isInFlight()) return;
    await this.#turns.run(() => this.#put(false));
  }

  #hasLapsed(): boolean {
    return performance.now() - this.#confirmedMs > this.#leaseMs;
  }

  #turn(signal?: AbortSignal): Promise<void> {
    return this.#turns.run(async () => {
      const begunMs = performance.now();
      if (this.#hasLapsed()) await this.#joinAnew(signal);
      else await this.#publish();
      const rows = await readWriters(this.#options.storage, signal);
      const own = rows.find(({ writer }) => writer === this.#options.instance);
      if (own !== undefined && own.version > this.#version) return this.#fail(new CopiedDataDirError(own));
      this.#confirmedMs = begunMs;
      await this.#closeGone(rows);
      // Else the others would wait for a clock that is behind theirs.
      this.#numbers.raise(reachedBy(rows) - 1);
      const open = rows.filter(({ isOpen }) => isOpen);
      this.#moveTo(Math.min(...open.map(({ low }) => low)));
      this.#tellHeld(open);
    });
  }

  /**
   * As the first row of a process, and of one that may have been taken for gone. Where nobody has closed its row the
   * others still wait for what it had under way.
   */
  async #joinAnew(signal: AbortSignal | undefined): Promise<void> {
    const { storage, instance } = this.#options;
    const rows = await readWriters(storage, signal);
    const own = rows.find(({ writer }) => writer === instance);
    const isFirst = this.#version === 0n;
    if (!isFirst && own !== undefined && own.version > this.#version + 1n)
      return this.#fail(new CopiedDataDirError(own));
    await this.#options.takeNumber();
    if (own !== undefined && own.version > this.#version) this.#version = own.version;
    this.#low = own?.isOpen === true ? own.low : reachedBy(rows);
    await this.#put(true);
    this.#numbers.raise(reachedBy(await readWriters(storage, signal)));
    await this.#publish();
  }

  async #publish(): Promise<void> {
    this.#low = Math.max(this.#low, this.#numbers.lowest());
    await this.#put(true);
  }

  /** An INSERT that fails may have taken effect: the next version is above it all the same. */
  async #put(isOpen: boolean): Promise<void> {
    const { storage, instance } = this.#options;
    // At random, so that of two that give signs of life in one name one sees the other's.
    this.#version += 2n * BigInt(randomInt(1, 2 ** 20));
    const row = { writer: instance, low: this.#low, isOpen, version: this.#version };
    const goneAfterMs = this.#leaseMs + limits.attemptMsMax;
    await putWriter(storage, { ...row, goneAfterMs, host: hostname(), pid: process.pid });
  }

  async #closeGone(rows: readonly WriterRow[]): Promise<void> {
    const { storage, instance, log } = this.#options;
    for (const row of rows) {
      const { writer, version, goneAfterMs, host, pid } = row;
      if (!row.isOpen || writer === instance) continue;
      const seen = this.#seen.get(writer);
      if (seen?.version !== version) this.#seen.set(writer, { version, sinceMs: performance.now() });
      else if (performance.now() - seen.sinceMs > goneAfterMs) {
        log.warn(
          { writer, host, pid },
          'a writer has given no sign of life: the feed does not wait for it any more',
        );
        await closeWriter(storage, row);
      }
    }
    for (const writer of this.#seen.keys())
      if (!rows.some((row) => row.writer === writer && row.isOpen)) this.#seen.delete(writer);
  }

  #moveTo(watermark: number): void {
    if (watermark <= this.#watermark) return;
    this.#watermark = watermark;
    this.#movedMs = performance.now();
  }

  #heldMs(): number {
    const heldMs = performance.now() - this.#movedMs;
    return heldMs > feedHeldMsMin ? heldMs : 0;
  }

  #tellHeld(open: readonly WriterRow[]): void {
    if (this.#heldMs() === 0 || performance.now() - this.#toldMs < feedHeldLogMs) return;
    this.#toldMs = performance.now();
    const [first] = open.toSorted((one, other) => one.low - other.low);
    const facts = {
      host: first?.host,
      pid: first?.pid,
      writer: first?.writer,
      heldBackSeconds: Math.round(this.#heldMs() / 1000),
    };
    this.#options.log.warn(facts, 'the feed waits for a writer that gives no sign of life');
  }

  /** A row that is open may be that of a server which was killed, or which lives: then there is another one soon. */
  async #lookForOriginal(): Promise<void> {
    const { storage, instance, log } = this.#options;
    const rowOfOwn = async () => (await readWriters(storage)).find(({ writer }) => writer === instance);
    const first = await rowOfOwn();
    if (first?.isOpen !== true) return;
    const { host, pid } = first;
    log.info({ host, pid }, 'looking whether another server runs on a copy of DATA_DIR');
    await sleep(writerCopyLookMs);
    const second = await rowOfOwn();
    if (second !== undefined && second.version > first.version) throw new CopiedDataDirError(second);
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#options.log.error({}, error.message);
    this.#options.failed(error);
  }
}
