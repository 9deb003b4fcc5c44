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

/** Time in which a server on the original of a copied data directory publishes. */
const writerCopyLookMs = 5_000;
/** The feed is always a few seconds behind; beyond this the log names the writer that holds it back. */
const feedHeldMsMin = 10_000;
const feedHeldLogMs = 60_000;

export interface OwnNumbers {
  lowest(): number;
  raise(number: number): void;
  isInFlight(): boolean;
}

export interface SharedOrderOptions {
  readonly storage: Storage;
  readonly instance: string;
  readonly isAtHome: boolean;
  readonly log: Logger;
  takeNumber(): Promise<void>;
  /** Without a successful publication for this long, this process joins anew before it takes a number. */
  readonly leaseMs?: number;
  failed(error: Error): void;
}

class CopiedDataDirError extends Error {
  constructor({ host, pid }: WriterRow) {
    super(
      `DATA_DIR is a copy of the one of a running server (host ${host}, process ${pid}): give this server a DATA_DIR ` +
        'of its own, or remove instance-id, wal, wal-head, wal-order and idempotency from the copy (the other server stores the events in its log)',
    );
    this.name = 'CopiedDataDirError';
  }
}

interface Seen {
  readonly version: bigint;
  readonly sinceMs: number;
}

/**
 * README.md, Servers that share an engine:
 *
 *     join:   publish ─▶ read all rows ─▶ take numbers above them
 *     turn:   publish ─▶ read all rows ─▶ the watermark is the lowest of the open ones, its own included
 */
export class SharedOrder {
  readonly #options: SharedOrderOptions;
  readonly #numbers: OwnNumbers;
  readonly #leaseMs: number;
  readonly #turns = new Mutex();
  readonly #seen = new Map<string, Seen>();
  #low = 0;
  #version = 0n;
  #confirmedMs = Number.NEGATIVE_INFINITY;
  #watermark = 0;
  #movedMs = performance.now();
  #loggedMs = Number.NEGATIVE_INFINITY;
  #publishing: Repeated | undefined;
  #failure: Error | undefined;

  private constructor(options: SharedOrderOptions, numbers: OwnNumbers) {
    this.#options = options;
    this.#numbers = numbers;
    this.#leaseMs = options.leaseMs ?? limits.writerLeaseMs;
  }

  /** Rejects with EngineError, and if the data directory is a copy of another server's. */
  static async join(options: SharedOrderOptions, numbers: OwnNumbers): Promise<SharedOrder> {
    const order = new SharedOrder(options, numbers);
    if (!options.isAtHome) await order.#lookForOriginal();
    await order.#turn();
    if (order.#failure !== undefined) throw order.#failure;
    const help = 'Seconds for which another server has held back the feed';
    gauge('auditlog_feed_held_back_seconds', help, [], (metric) =>
      metric.set(Math.round(order.#heldBackMs() / 1000)),
    );
    order.#publishing = new Repeated(
      limits.watermarkPublishMs,
      (signal) => order.#turn(signal),
      (error) => options.log.debug(errorFacts(error), 'Publishing the watermark failed; will retry'),
    );
    return order;
  }

  watermark(): number {
    return this.#watermark;
  }

  /** Resolves when a number may be taken: the others will wait for an INSERT that begins now. */
  async ready(): Promise<void> {
    if (this.#hasLapsed()) await this.#turn();
    if (this.#failure !== undefined) throw this.#failure;
  }

  requireReady(): void {
    if (this.#hasLapsed())
      throw new EngineError('timeout', 'This server could not publish its watermark for too long');
  }

  /** Takes no more numbers. An INSERT that may be in flight is still waited for. */
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
      // Otherwise the others would wait for a clock behind theirs.
      this.#numbers.raise(reachedBy(rows) - 1);
      const open = rows.filter(({ isOpen }) => isOpen);
      this.#moveTo(Math.min(...open.map(({ low }) => low)));
      this.#reportHeldBack(open);
    });
  }

  /**
   * For the first row of a process, and after a long pause. If its row is still open, the others wait for its
   * INSERTs.
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

  /** A failed INSERT may have taken effect; the next version is above it anyway. */
  async #put(isOpen: boolean): Promise<void> {
    const { storage, instance } = this.#options;
    // At random, so that of two servers with one name one sees the other.
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
          'A writer has not published its watermark for too long; the feed no longer waits for it',
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

  #heldBackMs(): number {
    const heldMs = performance.now() - this.#movedMs;
    return heldMs > feedHeldMsMin ? heldMs : 0;
  }

  #reportHeldBack(open: readonly WriterRow[]): void {
    if (this.#heldBackMs() === 0 || performance.now() - this.#loggedMs < feedHeldLogMs) return;
    this.#loggedMs = performance.now();
    const [first] = open.toSorted((one, other) => one.low - other.low);
    const facts = {
      host: first?.host,
      pid: first?.pid,
      writer: first?.writer,
      heldBackSeconds: Math.round(this.#heldBackMs() / 1000),
    };
    this.#options.log.warn(facts, 'The feed waits for a writer that does not publish its watermark');
  }

  /** An open row may be of a killed server, or of a running one, which will publish soon. */
  async #lookForOriginal(): Promise<void> {
    const { storage, instance, log } = this.#options;
    const rowOfOwn = async () => (await readWriters(storage)).find(({ writer }) => writer === instance);
    const first = await rowOfOwn();
    if (first?.isOpen !== true) return;
    const { host, pid } = first;
    log.info({ host, pid }, 'Checking whether another server runs on a copy of DATA_DIR');
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
