import { buffers, type Lease } from '../base/bytes/buffer-pool.ts';
import { limits } from './limits.ts';
import { Problem } from '../base/errors/problem.ts';
import type { BodyAnnouncement } from './request.ts';

const bodiesInFlightSmallShare = 1 / 8;
/** The announced rest is allocated once this much has arrived. */
const bodyFirstAllocationBytes = 1024 * 1024;
const pooledBodyBytesMin = 32 * 1024;

/** A whole request body as received (still compressed). Its buffer may be transferred to a worker. */
export interface ReceivedBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly release: () => void;
}

export class BodyBudget {
  readonly #bytesMax: number;
  readonly #largeBytesMax: number;
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#largeBytesMax = bytesMax - Math.floor(bytesMax * bodiesInFlightSmallShare);
  }

  /** A share is kept for small bodies, so that large ones cannot block them. */
  acquire(bytes: number, isLarge: boolean): boolean {
    if (this.#used + bytes > (isLarge ? this.#largeBytesMax : this.#bytesMax)) return false;
    this.#used += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#used -= bytes;
  }

  used(): number {
    return this.#used;
  }
}

/** The announced length once enough has arrived, doubling if the length is unknown. */
class GrowingBlock {
  readonly #announcedBytes: number | undefined;
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #lease: Lease<ArrayBuffer> | undefined;
  #length = 0;

  constructor(announcedBytes: number | undefined) {
    this.#announcedBytes = announcedBytes;
  }

  append(chunk: Uint8Array): void {
    const needed = this.#length + chunk.length;
    if (needed > this.#bytes.length) {
      const before = this.#lease;
      const larger = this.#newBytes(this.#capacityFor(needed));
      larger.set(this.#bytes.subarray(0, this.#length));
      before?.release();
      this.#bytes = larger;
    }
    this.#bytes.set(chunk, this.#length);
    this.#length = needed;
  }

  take(): Uint8Array<ArrayBuffer> {
    const content = this.#bytes.subarray(0, this.#length);
    this.#lease?.handOver();
    this.#lease = undefined;
    this.#bytes = new Uint8Array(0);
    return content;
  }

  /** Not zeroed: only written bytes are returned. Large buffers are reused. */
  #newBytes(bytes: number): Uint8Array<ArrayBuffer> {
    this.#lease = bytes < pooledBodyBytesMin ? undefined : buffers.take(bytes);
    return new Uint8Array(this.#lease?.memory ?? Buffer.allocUnsafeSlow(bytes).buffer);
  }

  #capacityFor(needed: number): number {
    if (this.#announcedBytes === undefined) return Math.max(needed, this.#bytes.length * 2, 16 * 1024);
    const first = Math.min(this.#announcedBytes, bodyFirstAllocationBytes);
    return needed <= first ? first : Math.max(needed, this.#announcedBytes);
  }
}

class DiscardedBytes {
  readonly #onExcess: () => void;
  #bytes = 0;
  #bytesMax: number = limits.ignoredBodyBytesMax;
  #onChunk: ((isLast: boolean) => void) | undefined;

  constructor(onExcess: () => void) {
    this.#onExcess = onExcess;
  }

  allow(bytesMax: number, onChunk?: (isLast: boolean) => void): void {
    this.#bytesMax = Math.max(this.#bytesMax, bytesMax);
    this.#onChunk = onChunk;
  }

  add(bytes: number, isLast: boolean): void {
    this.#bytes += bytes;
    this.#onChunk?.(isLast);
    if (this.#bytes > this.#bytesMax) this.#onExcess();
  }
}

/** One wake serves all bodies of a turn of the event loop: a wake costs more than a small body. */
class Turn {
  #bodies: BodyReceiver[] = [];

  add(body: BodyReceiver): void {
    if (this.#bodies.length === 0) setImmediate(() => this.#end());
    this.#bodies.push(body);
  }

  #end(): void {
    const bodies = this.#bodies;
    this.#bodies = [];
    for (const body of bodies) body.turnEnded();
  }
}

const turn = new Turn();

export interface BodyReceiverOptions {
  readonly announcement: BodyAnnouncement;
  /** As received; 0 keeps nothing. */
  readonly maxBytes: number;
  readonly budget: BodyBudget;
  /** The connection must close. */
  readonly onExcess: () => void;
  readonly onLast: () => void;
  readonly pause: () => void;
  readonly resume: () => void;
}

interface Reader {
  resolve(body: ReceivedBody): void;
  reject(error: Error): void;
}

/**
 * Receives one body (contract: Errors).
 *
 * A body is whole one turn of the event loop after its last byte: until then the library may find another
 * request behind it and close the connection.
 */
export class BodyReceiver {
  readonly #options: BodyReceiverOptions;
  readonly #announcedBytes: number | undefined;
  readonly #block: GrowingBlock;
  readonly #discarded: DiscardedBytes;
  #received = 0;
  #chargedBytes = 0;
  #isComplete: boolean;
  #isWhole: boolean;
  #isDiscarding: boolean;
  #isPaused = false;
  #slow: NodeJS.Timeout | undefined;
  #sinceSlowBytes = 0;
  #failure: Error | undefined;
  #isRead = false;
  #reader: Reader | undefined;
  #onEnded: (() => void) | undefined;

  constructor(options: BodyReceiverOptions) {
    const { announcement, maxBytes } = options;
    this.#options = options;
    this.#announcedBytes = announcement.kind === 'sized' ? announcement.bytes : undefined;
    this.#block = new GrowingBlock(this.#announcedBytes);
    this.#discarded = new DiscardedBytes(options.onExcess);
    this.#isComplete = announcement.kind === 'none';
    this.#isWhole = this.#isComplete;
    this.#isDiscarding = maxBytes === 0;
    if (maxBytes > 0 && (this.#announcedBytes ?? 0) > maxBytes) this.#fail(tooLarge(maxBytes));
    if (!this.#isDiscarding && !this.#isComplete) turn.add(this);
  }

  data(chunk: ArrayBuffer, isLast: boolean): void {
    this.#received += chunk.byteLength;
    this.#isComplete = isLast;
    if (isLast) this.#end();
    else this.#came(chunk.byteLength);
    if (!this.#isDiscarding) this.#charge(chunk.byteLength);
    if (this.#isDiscarding) return this.#discarded.add(chunk.byteLength, isLast);
    this.#block.append(new Uint8Array(chunk));
    if (!isLast) this.#pauseUnread();
  }

  turnEnded(): void {
    if (this.#isComplete) this.#becomeWhole();
    else if (!this.#isDiscarding && !this.#isPaused && this.#slow === undefined) this.#expect();
  }

  /** A pending read rejects. */
  aborted(): void {
    // A complete body is stored even if the client no longer waits.
    if (!this.#isWhole) this.#fail(new Error('the client disconnected before the end of its request body'));
    this.#becomeWhole();
  }

  ended(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isWhole || this.#failure !== undefined) resolve();
      else this.#onEnded = resolve;
    });
  }

  /** Call it once. Rejects with a Problem (too_large, unavailable), or with an Error if the client disconnects. */
  read(): Promise<ReceivedBody> {
    if (this.#isDiscarding || this.#isRead)
      this.#failure ??= new Error('the body was discarded or already read');
    this.#isRead = true;
    this.resume();
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure);
      this.#reader = { resolve, reject };
      if (this.#isWhole) this.#serve();
    });
  }

  /** Discards all bytes, up to the bound; `onChunk` is called for each further chunk. */
  discard(bytesMax: number, onChunk?: (isLast: boolean) => void): void {
    this.#discarded.allow(bytesMax, onChunk);
    this.resume();
    if (!this.#isDiscarding) this.#drop();
  }

  /** Before an answer: the connection needs the rest of the body before its next request. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (!this.#isDiscarding && !this.#isComplete) this.#expect();
    this.#options.resume();
  }

  release(): void {
    this.#options.budget.release(this.#chargedBytes);
    this.#chargedBytes = 0;
  }

  /** The library still processes the bytes behind the last byte of the body. */
  isEnding(): boolean {
    return this.#isComplete && !this.#isWhole;
  }

  received(): number {
    return this.#received;
  }

  outstanding(): number {
    if (this.#isComplete) return 0;
    return (this.#announcedBytes ?? Number.POSITIVE_INFINITY) - this.#received;
  }

  #expect(): void {
    this.#sinceSlowBytes = 0;
    clearTimeout(this.#slow);
    this.#slow = setTimeout(() => this.#fail(tooSlow()), limits.bodySlowMsMax);
  }

  #came(bytes: number): void {
    this.#sinceSlowBytes += bytes;
    const isSlow = this.#sinceSlowBytes * 1000 < limits.bodyBytesPerSecondMin * limits.bodySlowMsMax;
    if (!isSlow && !this.#isDiscarding && !this.#isPaused) this.#expect();
  }

  #end(): void {
    clearTimeout(this.#slow);
    this.#options.onLast();
    turn.add(this);
  }

  #becomeWhole(): void {
    if (this.#isWhole) return;
    this.#isWhole = true;
    this.#serve();
    this.#onEnded?.();
  }

  #charge(bytes: number): void {
    const { maxBytes, budget } = this.#options;
    if (this.#received > maxBytes) this.#fail(tooLarge(maxBytes));
    else if (!budget.acquire(bytes, this.#received > limits.unreadBodyBytesMax)) this.#fail(crowded());
    else this.#chargedBytes += bytes;
  }

  #pauseUnread(): void {
    if (this.#isRead || this.#isPaused || this.#chargedBytes <= limits.unreadBodyBytesMax) return;
    this.#isPaused = true;
    clearTimeout(this.#slow);
    this.#options.pause();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#discarded.allow(limits.refusedBodyDrainBytesMax);
    this.#drop();
    this.#reader?.reject(this.#failure);
    this.#reader = undefined;
    this.#onEnded?.();
  }

  #drop(): void {
    clearTimeout(this.#slow);
    this.#isDiscarding = true;
    this.#block.take();
    this.release();
  }

  #serve(): void {
    this.#reader?.resolve({ bytes: this.#block.take(), release: () => this.release() });
    this.#reader = undefined;
  }
}

function tooLarge(maxBytes: number): Problem {
  return new Problem('too_large', `The request body is larger than the ${maxBytes} bytes allowed here.`);
}

/** The library reads a chunk's extension as its size, so such a body never ends. */
function tooSlow(): Problem {
  const detail =
    `The rest of the request body did not arrive within ${limits.bodySlowMsMax / 1000} seconds. ` +
    'Chunks with extensions are not supported.';
  return new Problem('too_slow', detail);
}

function crowded(): Problem {
  const detail = 'Too many request bodies are in progress.';
  return new Problem('unavailable', detail, { retryAfterSeconds: 1 });
}
