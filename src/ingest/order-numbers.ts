import { join } from 'node:path';
import { crc32c } from '@node-rs/crc32';
import { isDiskFull } from '../base/errors/system-error.ts';
import { nextSegmentNumber, segmentAtTime } from '../base/events/sequence.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Mutex } from '../base/waiting/keyed-mutex.ts';
import { besideLog, type SyncedFile } from './files.ts';
import type { DamageReports } from './recovery.ts';

/** So far ahead of the clock is what `wal-order` allows numbers and watermarks to reach without another write: 2 s. */
const orderReserveSegments = 200 * 64;

/** Lowest numbers of segments whose rows may not be in the engine yet. */
export interface Watermarks {
  /** The lowest of the segments that may hold events of any organization. */
  readonly lowest: number;
  /** The same of segments that hold events of one organization only, by its id. */
  readonly ofOrganization: ReadonlyMap<string, number>;
}

/** What the file `wal-order` has. */
export interface Order {
  /** No number above it was taken, and no watermark above the next one was told. */
  readonly through: number;
  /** The numbers under which segments of the log may be stored, by the segment's name in the log. */
  readonly taken: ReadonlyMap<number, readonly number[]>;
}

const magic = Buffer.from('AUDTORDR', 'latin1');
const headBytes = 24;
const entryBytes = 16;

/**
 * Little-endian; a file of up to 30 entries is one sector of the disk:
 *
 *     "AUDTORDR" | u64 through | u32 entries | u32 CRC-32C of all else | entries of u64 segment | u64 number
 */
export function encodeOrder({ through, taken }: Order): Buffer {
  const entries = [...taken].flatMap(([segment, numbers]) =>
    numbers.map((number) => [segment, number] as const),
  );
  const bytes = Buffer.alloc(headBytes + entries.length * entryBytes);
  magic.copy(bytes);
  bytes.writeBigUInt64LE(BigInt(through), 8);
  bytes.writeUInt32LE(entries.length, 16);
  for (const [index, [segment, number]] of entries.entries()) {
    bytes.writeBigUInt64LE(BigInt(segment), headBytes + index * entryBytes);
    bytes.writeBigUInt64LE(BigInt(number), headBytes + index * entryBytes + 8);
  }
  bytes.writeUInt32LE(crc32c(bytes), 20);
  return bytes;
}

/** Undefined when these bytes are none. What is behind the entries is of a longer content before. */
function decodeOrder(file: Buffer): Order | undefined {
  if (file.length < headBytes || !file.subarray(0, 8).equals(magic)) return undefined;
  const end = headBytes + file.readUInt32LE(16) * entryBytes;
  if (file.length < end) return undefined;
  const bytes = Buffer.from(file.subarray(0, end));
  bytes.writeUInt32LE(0, 20);
  if (crc32c(bytes) !== file.readUInt32LE(20)) return undefined;
  const taken = new Map<number, readonly number[]>();
  for (let at = headBytes; at < end; at += entryBytes) {
    const segment = Number(bytes.readBigUInt64LE(at));
    taken.set(segment, [...(taken.get(segment) ?? []), Number(bytes.readBigUInt64LE(at + 8))]);
  }
  return { through: Number(bytes.readBigUInt64LE(8)), taken };
}

/** No number that a server on a data directory has taken is above this one; 0 where there was none. */
export async function orderThrough(dataDir: string): Promise<number> {
  const bytes = await besideLog(join(dataDir, 'wal'), 'order').read();
  return (bytes && decodeOrder(bytes))?.through ?? 0;
}

/** A number for what is stored on a data directory while no server runs on it; it is durable. */
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
  /** Tells numbers of processes that share an engine apart. */
  readonly writer: () => number;
  /** Resolves when a number may be taken, and throws where too much time has passed since: see storage/shared-order.ts. */
  readonly permit?: Permit | undefined;
  readonly nowMs: () => number;
  readonly log: Logger;
  readonly damage: DamageReports;
  /** The newest number that the table has, asked where the file does not tell. */
  newestStored(): Promise<number>;
  /** Whether the log still has the file of a segment, by its name. */
  hasFile(segment: number): boolean;
  /** Segments that an earlier process left. */
  readonly recovered: readonly number[];
}

/**
 * The numbers that segments get in the order of ingest. A segment has none until it is sent, and nobody waits for it
 * until then. The sender takes one for each attempt, which is durable in `wal-order` before the attempt begins:
 *
 *     take ─▶ in flight: the watermark is not above it ─▶ stored, or the table has told what came of the attempt ─▶ over
 *
 * So a number is above each that was taken before it, and not below any watermark that was told, also after a crash or
 * with a clock that is set back: `through` in the file is ahead of both. An entry of the file goes when the segment's
 * own file has gone for good: one that comes back would be sent twice without it.
 */
export class OrderNumbers {
  readonly #options: OrderNumbersOptions;
  readonly #turns = new Mutex();
  readonly #taken: Map<number, readonly number[]>;
  /** Attempts of which it is not known yet what came of them, and the only organization of the segment, if there is one. */
  readonly #inFlight = new Map<number, string | undefined>();
  /** As it is durable. */
  #through = 0;
  /** No number is taken at or below it. */
  #last: number;
  #reserving: Promise<void> | undefined;

  private constructor(options: OrderNumbersOptions, { through, taken }: Order) {
    this.#options = options;
    this.#taken = new Map(taken);
    this.#last = through;
    for (const segment of options.recovered)
      for (const number of this.numbersOf(segment)) this.#inFlight.set(number, undefined);
  }

  /** Rejects with EngineError where the file is missing and the table cannot be asked. */
  static async open(options: OrderNumbersOptions): Promise<OrderNumbers> {
    const { file, damage, log, recovered } = options;
    const bytes = await file.read();
    const order = bytes && decodeOrder(bytes);
    if (order === undefined && (bytes !== undefined || recovered.length > 0)) {
      const state = bytes === undefined ? 'missing' : 'damaged';
      const detail = `wal-order is ${state}: what the log still has is sent as new, though the table may have it`;
      log.error({ segments: recovered.length }, detail);
      damage.report({ kind: 'log_segment', id: 'wal-order', detail });
    }
    const through = order?.through ?? (await options.newestStored());
    const numbers = new OrderNumbers(options, { through, taken: order?.taken ?? new Map() });
    if (order === undefined) await numbers.#begin();
    else numbers.#through = through;
    return numbers;
  }

  /** The newest number of all that were taken. */
  get last(): number {
    return this.#last;
  }

  get isInFlight(): boolean {
    return this.#inFlight.size > 0;
  }

  /** Numbers of earlier attempts to store a segment of the log. */
  numbersOf(segment: number): readonly number[] {
    return this.#taken.get(segment) ?? [];
  }

  /**
   * A number for an attempt to store a segment. Of the earlier ones it is known what came of them: those in `stored` have
   * rows, and no rows come under any other. Rejects when the number could not be made durable.
   */
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
        // Nothing is sent under it; those before it stay in question.
        this.#taken.set(segment, earlier);
        this.#inFlight.delete(number);
        throw error;
      }
      for (const one of earlier) this.#inFlight.delete(one);
      return number;
    });
  }

  /** All that can be stored of a segment is. */
  settle(segment: number): void {
    for (const number of this.numbersOf(segment)) this.#inFlight.delete(number);
  }

  /** From now on numbers are above this one, which another has reached. */
  raise(number: number): void {
    this.#last = Math.max(this.#last, number);
  }

  /**
   * Nothing that comes later is below these. While nothing is in flight they follow the clock, where it is ahead, as far
   * as the file allows; the disk is not waited for.
   */
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

  /** The first content of the file. A disk that is full now lets a start be, as what is stored can be read. */
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
        this.#options.log.debug(errorFacts(error), 'the watermark of the log could not be moved on yet'),
      )
      .finally(() => {
        this.#reserving = undefined;
      });
  }

  /** To be called in turn. */
  async #write(through: number): Promise<void> {
    const ahead = Math.max(this.#through, through);
    await this.#options.file.write(encodeOrder({ through: ahead, taken: this.#taken }));
    this.#through = ahead;
  }
}
