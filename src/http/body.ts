import { buffers, type Lease } from '../base/bytes/buffer-pool.ts';
import { limits } from './limits.ts';
import { Problem } from '../base/errors/problem.ts';
import type { BodyAnnouncement } from './request.ts';

/** The share of `bodiesInFlightBytesMax` that is kept for bodies of at most `unreadBodyBytesMax`. */
const bodiesInFlightSmallShare = 1 / 8;
/** Memory for a body at first. What its sender announces beyond that is allocated once this much has come. */
const bodyFirstAllocationBytes = 1024 * 1024;
const pooledBodyBytesMin = 32 * 1024;

/** A whole request body as received (still compressed). The buffer behind it may be transferred to a worker. */
export interface ReceivedBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Releases the bytes of the budget; called again it does nothing. The server calls it at the latest. */
  readonly release: () => void;
}

/** Bytes of all bodies in memory, so that many senders together cannot exhaust it. */
export class BodyBudget {
  readonly #bytesMax: number;
  readonly #largeBytesMax: number;
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#largeBytesMax = bytesMax - Math.floor(bytesMax * bodiesInFlightSmallShare);
  }

  /**
   * False, and nothing acquired, when the bytes would pass the bound. Large bodies leave a part of it to small ones,
   * so that they cannot keep those out.
   */
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

/** One growing block: the announced length once the sender has shown that it means it, doubling where none is known. */
class GrowingBlock {
  readonly #announcedBytes: number | undefined;
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  /** The lease of the memory; undefined for small bodies, which have a buffer of their size. */
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

  /** Not zeroed: only what was written is ever handed out. Large ones are worth using again. */
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

/** Counts bytes that are thrown away, against a bound that can only be raised. */
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

/** Bodies of which something came in this turn of the event loop. One wake serves them all: each costs more than a small body. */
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
  /** Bound of a kept body in bytes as received; 0 keeps nothing. */
  readonly maxBytes: number;
  readonly budget: BodyBudget;
  /** More than the bound of thrown-away bytes arrived: the connection is not worth keeping. */
  readonly onExcess: () => void;
  /** The last byte is here; what the connection brings after it belongs to another request. */
  readonly onLast: () => void;
  /** Pauses and resumes receiving. */
  readonly pause: () => void;
  readonly resume: () => void;
}

interface Reader {
  resolve(body: ReceivedBody): void;
  reject(error: Error): void;
}

/**
 * Receives one body (contract: Errors). Kept bytes are charged to the budget until they are released.
 *
 * A body is whole in the turn of the event loop after its last byte: until then the library may find another request
 * in what it has read, and close the connection.
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
  /** Runs while more of a body that is kept must come. */
  #slow: NodeJS.Timeout | undefined;
  #sinceSlowBytes = 0;
  #failure: Error | undefined;
  #isRead = false;
  /** Waits for the rest of the body. */
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

  /** To be called with every chunk; the chunk is copied. */
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

  /** The library has looked at all that it has read. Most bodies are whole by then, and need no timer. */
  turnEnded(): void {
    if (this.#isComplete) this.#becomeWhole();
    else if (!this.#isDiscarding && !this.#isPaused && this.#slow === undefined) this.#expect();
  }

  /** The client went away: a pending read rejects. */
  aborted(): void {
    // A complete body stays of use: what was received is worth storing even when nobody waits for the answer.
    if (!this.#isWhole) this.#fail(new Error('the client went away before its request body was complete'));
    this.#becomeWhole();
  }

  /** Resolves when the body is whole, or nothing of it is kept any more. */
  ended(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isWhole || this.#failure !== undefined) resolve();
      else this.#onEnded = resolve;
    });
  }

  /**
   * The whole body; to be called once. Rejects with a Problem (too_large, unavailable when all bodies together are
   * too much) as soon as that is certain, or with an Error when the client goes away first.
   */
  read(): Promise<ReceivedBody> {
    if (this.#isDiscarding || this.#isRead)
      this.#failure ??= new Error('the body is not kept or was read before');
    this.#isRead = true;
    this.resume();
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure);
      this.#reader = { resolve, reject };
      if (this.#isWhole) this.#serve();
    });
  }

  /** Throws away what is held and what still comes, up to the bound. `onChunk` hears of every further chunk. */
  discard(bytesMax: number, onChunk?: (isLast: boolean) => void): void {
    this.#discarded.allow(bytesMax, onChunk);
    this.resume();
    if (!this.#isDiscarding) this.#drop();
  }

  /** Before an answer goes out: what is left of the body must come, or the connection has no next request. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (!this.#isDiscarding && !this.#isComplete) this.#expect();
    this.#options.resume();
  }

  /** Releases the memory of a body that was read. */
  release(): void {
    this.#options.budget.release(this.#chargedBytes);
    this.#chargedBytes = 0;
  }

  /** The last byte came in this turn: the library is still looking at what it read behind it. */
  isEnding(): boolean {
    return this.#isComplete && !this.#isWhole;
  }

  /** Bytes received so far. */
  received(): number {
    return this.#received;
  }

  /** Bytes still to come; Infinity when the sender did not say. */
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

  /** A body that nobody has asked for yet, such as one whose sender is not known yet, takes little memory. */
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

/** The library reads the extension of a chunk as a part of its size, so that such a body has no end. */
function tooSlow(): Problem {
  const detail =
    `The rest of the request body did not come within ${limits.bodySlowMsMax / 1000} seconds. ` +
    'The service does not understand chunks with extensions.';
  return new Problem('too_slow', detail);
}

function crowded(): Problem {
  const detail = 'Too many request bodies are in progress.';
  return new Problem('unavailable', detail, { retryAfterSeconds: 1 });
}
