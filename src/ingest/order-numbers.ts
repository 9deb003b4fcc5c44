import { join } from 'node:path';
import { decodeValue, encodeValue } from '../base/bytes/checked-line.ts';
import { isDiskFull } from '../base/errors/system-error.ts';
import { nextSegmentNumber, segmentAtTime } from '../base/events/sequence.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Mutex } from '../base/waiting/keyed-mutex.ts';
import { besideLog, type SyncedFile } from './files.ts';
import type { DamageReports } from './recovery.ts';

/** `wal-order` allows numbers and watermarks up to 2 s ahead of the clock before the next write. */
const orderReserveSegments = 200 * 64;

export interface Watermarks {
  /** Among segments with events of any organization. */
  readonly lowest: number;
  /** By organization id, among segments with events of that organization only. */
  readonly ofOrganization: ReadonlyMap<string, number>;
}

export interface Order {
  /** No higher number was taken, and no watermark above the next one was published. */
  readonly through: number;
  /** Numbers under which a segment may be stored, by its number in the log. */
  readonly taken: ReadonlyMap<number, readonly number[]>;
}

interface StoredOrder {
  readonly through: number;
  readonly taken: readonly (readonly [segment: number, numbers: readonly number[]])[];
}

export function encodeOrder({ through, taken }: Order): Buffer {
  return encodeValue({ through, taken: [...taken] } satisfies StoredOrder);
}

/** Undefined if the file is damaged. */
function decodeOrder(file: Buffer): Order | undefined {
  const stored = decodeValue(file) as StoredOrder | undefined;
  return stored && { through: stored.through, taken: new Map(stored.taken) };
}

/** No server on the data directory took a higher number; 0 without a file. */
export async function orderThrough(dataDir: string): Promise<number> {
  const bytes = await besideLog(join(dataDir, 'wal'), 'order').read();
  return (bytes && decodeOrder(bytes))?.through ?? 0;
}

export async function takeNumberIn(
  dataDir: string,
  writer: number,
  newest: () => Promise<number>,
): Promise<number> {
  const file = besideLog(join(dataDir, 'wal'), 'order');
  const bytes = await file.read();
  const { through, taken } = (bytes && decodeOrder(bytes)) ?? { through: await newest(), taken: new Map() };
  const number = nextSegmentNumber(Date.now(), writer, through);
  await file.write(encodeOrder({ through: number, taken }));
  return number;
}

export interface Permit {
  ready(): Promise<void>;
  requireReady(): void;
}

interface OrderNumbersOptions {
  readonly file: SyncedFile;
  readonly writer: () => number;
  /** Resolves when a number may be taken; throws if too much time has passed since (storage/shared-order.ts). */
  readonly permit?: Permit | undefined;
  readonly nowMs: () => number;
  readonly log: Logger;
  readonly damage: DamageReports;
  newestStored(): Promise<number>;
  hasFile(segment: number): boolean;
  readonly recovered: readonly number[];
}

/**
 * Numbers of segments in the order of ingest. A segment gets one for each INSERT, durable in `wal-order`
 * before:
 *
 *     take ─▶ in flight: the watermark is not above it ─▶ stored, or the table was asked ─▶ settled
 *
 * So numbers rise, and stay above every published watermark over crashes and clocks that are set back:
 * `through` is ahead of both. An entry is removed when the segment's file is gone for good: without it, a
 * file that came back would be sent twice.
 */
export class OrderNumbers {
  readonly #options: OrderNumbersOptions;
  readonly #turns = new Mutex();
  readonly #taken: Map<number, readonly number[]>;
  readonly #inFlight = new Map<number, string | undefined>();
  #through = 0;
  #last: number;
  #reserving: Promise<void> | undefined;

  private constructor(options: OrderNumbersOptions, { through, taken }: Order) {
    this.#options = options;
    this.#taken = new Map(taken);
    this.#last = through;
    for (const segment of options.recovered)
      for (const number of this.numbersOf(segment)) this.#inFlight.set(number, undefined);
  }

  /** Rejects with EngineError if the file is missing and the table cannot be asked. */
  static async open(options: OrderNumbersOptions): Promise<OrderNumbers> {
    const { file, damage, log, recovered } = options;
    const bytes = await file.read();
    const order = bytes && decodeOrder(bytes);
    if (order === undefined && (bytes !== undefined || recovered.length > 0)) {
      const state = bytes === undefined ? 'missing' : 'damaged';
      const detail = `wal-order is ${state}; segments in the log are sent as new, though the table may have them`;
      log.error({ segments: recovered.length }, detail);
      damage.report({ kind: 'log_segment', id: 'wal-order', detail });
    }
    const through = order?.through ?? (await options.newestStored());
    const numbers = new OrderNumbers(options, { through, taken: order?.taken ?? new Map() });
    if (order === undefined) await numbers.#begin();
    else numbers.#through = through;
    return numbers;
  }

  get last(): number {
    return this.#last;
  }

  get isInFlight(): boolean {
    return this.#inFlight.size > 0;
  }

  numbersOf(segment: number): readonly number[] {
    return this.#taken.get(segment) ?? [];
  }

  /** Of the segment's earlier numbers, those in `stored` have rows, and no other will. Rejects if the file cannot be written. */
  async take(segment: number, organization: string | undefined, stored: readonly number[]): Promise<number> {
    await this.#options.permit?.ready();
    const number = await this.#take(segment, organization, stored);
    this.#options.permit?.requireReady();
    return number;
  }

  #take(segment: number, organization: string | undefined, stored: readonly number[]): Promise<number> {
    return this.#turns.run(async () => {
      const { nowMs, writer, hasFile } = this.#options;
      const number = nextSegmentNumber(nowMs(), writer(), this.#last);
      this.#last = number;
      this.#inFlight.set(number, organization);
      const earlier = this.numbersOf(segment);
      for (const one of this.#taken.keys()) if (!hasFile(one)) this.#taken.delete(one);
      this.#taken.set(segment, [...stored, number]);
      try {
        await this.#write(Math.max(number, this.#reserve()));
      } catch (error) {
        // The number stays unused; the earlier ones stay in doubt.
        this.#taken.set(segment, earlier);
        this.#inFlight.delete(number);
        throw error;
      }
      for (const one of earlier) this.#inFlight.delete(one);
      return number;
    });
  }

  settle(segment: number): void {
    for (const number of this.numbersOf(segment)) this.#inFlight.delete(number);
  }

  /** Another server has reached this number; later ones are above it. */
  raise(number: number): void {
    this.#last = Math.max(this.#last, number);
  }

  /** Later numbers are not below these. Without one in flight they follow the clock as far as the file allows. */
  watermarks(): Watermarks {
    const byClock = segmentAtTime(this.#options.nowMs());
    const next = Math.max(this.#last + 1, byClock);
    const isReached = byClock > this.#through - orderReserveSegments / 2;
    if (isReached || next > this.#through + 1) this.#reserveSoon(next);
    let lowest = Math.min(next, this.#through + 1);
    this.#last = Math.max(this.#last, lowest - 1);
    const ofOrganization = new Map<string, number>();
    for (const [number, organization] of this.#inFlight) {
      if (organization === undefined) lowest = Math.min(lowest, number);
      else ofOrganization.set(organization, Math.min(number, ofOrganization.get(organization) ?? number));
    }
    return { lowest, ofOrganization };
  }

  async close(): Promise<void> {
    await this.#reserving;
    await this.#turns.run(() => Promise.resolve());
  }

  /** A full disk must not prevent a start, as stored events can still be read. */
  async #begin(): Promise<void> {
    try {
      await this.#write(Math.max(this.#last, this.#reserve()));
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
  }

  #reserve(): number {
    return segmentAtTime(this.#options.nowMs()) + orderReserveSegments;
  }

  #reserveSoon(next: number): void {
    this.#reserving ??= this.#turns
      .run(() => this.#write(Math.max(next, this.#reserve())))
      .catch((error: unknown) =>
        this.#options.log.debug(errorFacts(error), 'Advancing the watermark failed; will retry'),
      )
      .finally(() => {
        this.#reserving = undefined;
      });
  }

  async #write(through: number): Promise<void> {
    const ahead = Math.max(this.#through, through);
    await this.#options.file.write(encodeOrder({ through: ahead, taken: this.#taken }));
    this.#through = ahead;
  }
}
