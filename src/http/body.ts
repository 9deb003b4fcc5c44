import { buffers } from '../base/buffer-pool.ts';
import { limits } from './limits.ts';
import { Problem } from '../base/problem.ts';
import type { BodyAnnouncement } from './request.ts';

/** A whole request body as received (still compressed). The buffer behind it may be transferred to a worker. */
export interface ReceivedBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Gives the bytes back to the budget; called again it does nothing. The server calls it at the latest. */
  readonly release: () => void;
}

/** Bytes of all bodies in memory, so that many senders together cannot exhaust it. */
export interface BodyBudget {
  /**
   * False, and nothing taken, when the bytes would pass the bound. Large bodies leave a part of it to small ones, so
   * that they cannot keep those out.
   */
  take(bytes: number, isLarge: boolean): boolean;
  give(bytes: number): void;
  used(): number;
}

export function createBodyBudget(bytesMax: number): BodyBudget {
  const largeBytesMax = bytesMax - Math.floor(bytesMax * limits.bodiesInFlightSmallShare);
  let used = 0;
  return {
    take(bytes, isLarge) {
      if (used + bytes > (isLarge ? largeBytesMax : bytesMax)) return false;
      used += bytes;
      return true;
    },
    give(bytes) {
      used -= bytes;
    },
    used: () => used,
  };
}

/** Small bodies get a buffer of their size; large ones are worth using again. */
function newBuffer(bytes: number): ArrayBuffer {
  return bytes < limits.pooledBodyBytesMin ? Buffer.allocUnsafeSlow(bytes).buffer : buffers.take(bytes);
}

/** One growing block: the announced length once the sender has shown that it means it, doubling where none is known. */
function createBlock(announcedBytes: number | undefined) {
  let bytes: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  let length = 0;
  const capacityFor = (needed: number): number => {
    if (announcedBytes === undefined) return Math.max(needed, bytes.length * 2, 16 * 1024);
    const first = Math.min(announcedBytes, limits.bodyFirstAllocationBytes);
    return needed <= first ? first : Math.max(needed, announcedBytes);
  };
  return {
    append(chunk: Uint8Array): void {
      const needed = length + chunk.length;
      if (needed > bytes.length) {
        // Not zeroed: only what was written is ever handed out.
        const larger = new Uint8Array(newBuffer(capacityFor(needed)));
        larger.set(bytes.subarray(0, length));
        buffers.give(bytes.buffer);
        bytes = larger;
      }
      bytes.set(chunk, length);
      length = needed;
    },
    take(): Uint8Array<ArrayBuffer> {
      const content = bytes.subarray(0, length);
      bytes = new Uint8Array(0);
      return content;
    },
  };
}

export interface BodyReceiverOptions {
  readonly announcement: BodyAnnouncement;
  /** Bound of a kept body in bytes as received; 0 keeps nothing. */
  readonly maxBytes: number;
  readonly budget: BodyBudget;
  /** More than the bound of thrown-away bytes arrived: the connection is not worth keeping. */
  readonly onExcess: () => void;
  /** Pauses and resumes receiving. */
  readonly pause: () => void;
  readonly resume: () => void;
}

export interface BodyReceiver {
  /** Before an answer goes out: what is left of the body must come, or the connection has no next request. */
  resume(): void;
  /** To be called with every chunk; the chunk is copied. */
  data(chunk: ArrayBuffer, isLast: boolean): void;
  /** The client went away: a pending read rejects. */
  aborted(): void;
  /**
   * The whole body; to be called once. Rejects with a Problem (too_large, unavailable when all bodies together are
   * too much) as soon as that is certain, or with an Error when the client goes away first.
   */
  read(): Promise<ReceivedBody>;
  /** Throws away what is held and what still comes, up to the bound. `onChunk` hears of every further chunk. */
  discard(bytesMax: number, onChunk?: (isLast: boolean) => void): void;
  /** Releases the memory of a body that was read. */
  release(): void;
  /** Bytes received so far. */
  received(): number;
  /** Bytes still to come; Infinity when the sender did not say. */
  outstanding(): number;
}

const tooLarge = (maxBytes: number): Problem =>
  new Problem('too_large', `The request body is larger than the ${maxBytes} bytes allowed here.`);
const crowded = (): Problem =>
  new Problem('unavailable', 'Too many request bodies are in progress.', { retryAfterSeconds: 1 });
const clientGone = (): Error => new Error('the client went away before its request body was complete');

/** Counts bytes that are thrown away, against a bound that can only be raised. */
function createDiscard(onExcess: () => void) {
  let bytes = 0;
  let bytesMax: number = limits.ignoredBodyBytesMax;
  let heard: ((isLast: boolean) => void) | undefined;
  return {
    allow(max: number, onChunk?: (isLast: boolean) => void): void {
      bytesMax = Math.max(bytesMax, max);
      heard = onChunk;
    },
    add(count: number, isLast: boolean): void {
      bytes += count;
      heard?.(isLast);
      if (bytes > bytesMax) onExcess();
    },
  };
}

/** Receives one body (contract: Errors). Kept bytes are charged to the budget until they are released. */
export function createBodyReceiver(options: BodyReceiverOptions): BodyReceiver {
  const { announcement, maxBytes, budget } = options;
  const announcedBytes = announcement.kind === 'sized' ? announcement.bytes : undefined;
  const block = createBlock(announcedBytes);
  const discarded = createDiscard(options.onExcess);
  let complete = announcement.kind === 'none';
  let received = 0;
  let held = 0;
  let failure: Error | undefined;
  let reading = false;
  let discarding = maxBytes === 0;
  let paused = false;
  let waiting: { resolve(body: ReceivedBody): void; reject(error: Error): void } | undefined;

  /** A body that nobody has asked for yet, such as one whose sender is not known yet, takes little memory. */
  const pauseUnread = (): void => {
    if (reading || paused || complete || held <= limits.unreadBodyBytesMax) return;
    paused = true;
    options.pause();
  };
  const resume = (): void => {
    if (!paused) return;
    paused = false;
    options.resume();
  };

  const release = (): void => {
    budget.give(held);
    held = 0;
  };
  const fail = (error: Error): void => {
    failure ??= error;
    discarding = true;
    discarded.allow(limits.refusedBodyDrainBytesMax);
    block.take();
    release();
    waiting?.reject(failure);
    waiting = undefined;
  };
  const settle = (): void => {
    waiting?.resolve({ bytes: block.take(), release });
    waiting = undefined;
  };
  if (announcedBytes !== undefined && maxBytes > 0 && announcedBytes > maxBytes) fail(tooLarge(maxBytes));

  return {
    data(chunk, isLast) {
      received += chunk.byteLength;
      complete = isLast;
      if (!discarding && received > maxBytes) fail(tooLarge(maxBytes));
      else if (!discarding && !budget.take(chunk.byteLength, received > limits.unreadBodyBytesMax))
        fail(crowded());
      if (discarding) {
        discarded.add(chunk.byteLength, isLast);
        return;
      }
      held += chunk.byteLength;
      block.append(new Uint8Array(chunk));
      if (isLast) settle();
      else pauseUnread();
    },
    aborted() {
      // A complete body stays of use: what was received is worth storing even when nobody waits for the answer.
      if (!complete) fail(clientGone());
    },
    read() {
      if (failure === undefined && (discarding || reading))
        failure = new Error('the body is not kept or was read before');
      reading = true;
      resume();
      return new Promise((resolve, reject) => {
        if (failure !== undefined) return reject(failure);
        waiting = { resolve, reject };
        if (complete) settle();
      });
    },
    discard(bytesMax, onChunk) {
      discarded.allow(bytesMax, onChunk);
      resume();
      if (discarding) return;
      discarding = true;
      block.take();
      release();
    },
    resume,
    release,
    received: () => received,
    outstanding() {
      if (complete) return 0;
      return announcedBytes === undefined ? Number.POSITIVE_INFINITY : announcedBytes - received;
    },
  };
}
