import { buffers } from '../base/bytes/buffer-pool.ts';
import type { ByteFlow, ByteSink } from '../base/bytes/byte-flow.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import type { ByteReader, Call, Receiver } from './byte-reader.ts';
import { exceptionInTail, refusal, unreachable } from './exception.ts';
import { limits } from './limits.ts';
import type { BytesOptions, HeldBytes } from './storage.ts';

export interface Read {
  readonly target: string;
  readonly query: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  onFailure(error: EngineError): void;
}

/**
 * Resolves when the engine answers 200. From then on `timeoutMs` bounds its silence while bytes are wanted.
 */
export function readFlow(reader: ByteReader, read: Read): Promise<ByteFlow> {
  return new Promise((resolve, reject) => {
    const opened = (flow: ResultFlow): void => {
      flow.limitSilence();
      resolve(flow);
    };
    new ResultFlow(read, opened, reject).start(reader);
  });
}

/** Resolves with the whole result within `timeoutMs`, or with a flow once it exceeds `bytesMax`. */
export function readBytes(
  reader: ByteReader,
  read: Read,
  options: BytesOptions,
): Promise<HeldBytes | ByteFlow> {
  return new Promise((resolve, reject) => {
    const opened = (flow: ResultFlow): void => flow.to(holder(flow, options, resolve, reject));
    new ResultFlow(read, opened, reject).start(reader);
  });
}

/**
 * The result of a read, which ends cleanly only if complete. Its tail is held back until the engine has
 * reported the outcome, so that an exception never appears as rows:
 *
 *     engine ──▶ tail (the last engineTailBytes, a copy) ──▶ sink
 */
class ResultFlow implements ByteFlow, Receiver {
  readonly #read: Read;
  readonly #opened: (flow: ResultFlow) => void;
  readonly #rejected: (error: EngineError) => void;
  readonly #deadline: Deadline;
  readonly #tail = new Tail();
  readonly #closedCallbacks: (() => void)[] = [];
  #call: Call | undefined;
  #failureIn: ((tail: Uint8Array) => EngineError | undefined) | undefined;
  #sink: ByteSink | undefined;
  #early: Uint8Array[] = [];
  #state: 'asked' | 'open' | 'ended' | 'closed' | EngineError = 'asked';

  constructor(read: Read, opened: (flow: ResultFlow) => void, rejected: (error: EngineError) => void) {
    this.#read = read;
    this.#opened = opened;
    this.#rejected = rejected;
    this.#deadline = new Deadline(read.timeoutMs, () =>
      this.#fail(new EngineError('timeout', `No answer within ${read.timeoutMs} ms`)),
    );
  }

  start(reader: ByteReader): void {
    const { signal, target, query } = this.#read;
    if (signal?.aborted === true) return this.#onAbort();
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#call = reader.post(target, query, this);
  }

  /** From now on only silence counts, while bytes are wanted: a slow reader is not the engine's fault. */
  limitSilence(): void {
    this.#deadline.limitSilence();
  }

  head(status: number, headers: ReadonlyMap<string, string>): void {
    if (status === 200) {
      const tag = headers.get('x-clickhouse-exception-tag');
      this.#failureIn = (tail) => exceptionInTail(tail, tag);
      this.#state = 'open';
      this.#opened(this);
    } else {
      const code = headers.get('x-clickhouse-exception-code');
      this.#failureIn = (tail) => refusal(status, code, Buffer.from(tail).toString('utf8'));
    }
  }

  data(piece: Uint8Array): boolean {
    const isWanted = this.#tail.push(piece, this.#hand);
    this.#deadline.progress(isWanted);
    return isWanted;
  }

  end(): void {
    const failure = this.#failureIn?.(this.#tail.bytes);
    if (failure !== undefined) return this.#fail(failure);
    this.#hand(this.#tail.bytes);
    this.#settle('ended');
  }

  failed(error: Error): void {
    const exception = this.#state === 'open' ? this.#failureIn?.(this.#tail.bytes) : undefined;
    this.#fail(exception ?? unreachable(error));
  }

  to(sink: ByteSink): void {
    this.#sink = sink;
    const pieces = this.#early;
    this.#early = [];
    let isWanted = true;
    for (const piece of pieces) isWanted = sink.data(piece) && isWanted;
    this.#reportOutcome();
    if (isWanted) this.resume();
  }

  detach(pieces: readonly Uint8Array[]): void {
    this.#sink = undefined;
    this.#early.push(...pieces);
  }

  resume(): void {
    this.#deadline.resume();
    this.#call?.resume();
  }

  destroy(): void {
    if (this.#state === 'closed') return;
    this.#settle('closed');
    this.#call?.destroy();
    for (const callback of this.#closedCallbacks) callback();
  }

  onClosed(callback: () => void): void {
    if (this.#state === 'closed') callback();
    else this.#closedCallbacks.push(callback);
  }

  readonly #hand = (piece: Uint8Array): boolean => {
    if (piece.length === 0 || this.#state !== 'open') return true;
    if (this.#sink !== undefined) return this.#sink.data(piece);
    this.#early.push(Uint8Array.from(piece));
    return false;
  };

  readonly #onAbort = (): void => this.#fail(new EngineError('aborted', 'The caller ended the request'));

  #fail(error: EngineError): void {
    const wasOpen = this.#state === 'open';
    this.#read.onFailure(error);
    this.#call?.destroy();
    this.#settle(error);
    if (!wasOpen) this.#rejected(error);
  }

  #settle(state: 'ended' | 'closed' | EngineError): void {
    this.#state = state;
    this.#deadline.clear();
    this.#read.signal?.removeEventListener('abort', this.#onAbort);
    this.#reportOutcome();
  }

  #reportOutcome(): void {
    const state = this.#state;
    if (this.#sink === undefined || state === 'asked' || state === 'open' || state === 'closed') return;
    this.#state = 'closed';
    if (state === 'ended') this.#sink.end();
    else this.#sink.failed(state);
    for (const callback of this.#closedCallbacks) callback();
  }
}

class Tail {
  readonly #bytes = Buffer.allocUnsafe(limits.engineTailBytes);
  #length = 0;

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** False if a receiver asked for a pause. */
  push(piece: Uint8Array, hand: (bytes: Uint8Array) => boolean): boolean {
    const over = Math.max(0, this.#length + piece.length - this.#bytes.length);
    const ofTail = Math.min(over, this.#length);
    const ofPiece = over - ofTail;
    const wanted = [hand(this.#bytes.subarray(0, ofTail)), hand(piece.subarray(0, ofPiece))];
    this.#bytes.copyWithin(0, ofTail, this.#length);
    this.#bytes.set(piece.subarray(ofPiece), this.#length - ofTail);
    this.#length += piece.length - over;
    return !wanted.includes(false);
  }
}

class Deadline {
  readonly #timer: NodeJS.Timeout;
  #ofSilence = false;
  #isPaused = false;

  constructor(ms: number, onOver: () => void) {
    this.#timer = setTimeout(() => {
      if (this.#ofSilence && this.#isPaused) this.#timer.refresh();
      else onOver();
    }, ms);
  }

  limitSilence(): void {
    this.#ofSilence = true;
    this.#timer.refresh();
  }

  progress(isWanted: boolean): void {
    if (!isWanted) this.#isPaused = true;
    if (this.#ofSilence) this.#timer.refresh();
  }

  resume(): void {
    if (this.#ofSilence && this.#isPaused) this.#timer.refresh();
    this.#isPaused = false;
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

function holder(
  flow: ResultFlow,
  { headroom, tailroom, bytesMax }: BytesOptions,
  resolve: (result: HeldBytes | ByteFlow) => void,
  reject: (error: Error) => void,
): ByteSink {
  let lease = buffers.take(headroom + tailroom + limits.engineReadBytes);
  let held = new Uint8Array(lease.memory);
  let end = headroom;
  const release = (): void => lease.release();
  const grow = (bytes: number): void => {
    const larger = buffers.take(Math.max(bytes, held.length * 2));
    const copy = new Uint8Array(larger.memory);
    copy.set(held.subarray(0, end));
    release();
    lease = larger;
    held = copy;
  };
  return {
    data(piece) {
      if (end - headroom + piece.length > bytesMax) {
        lease.handOver();
        flow.detach([held.subarray(headroom, end), Uint8Array.from(piece)]);
        flow.limitSilence();
        resolve(flow);
        return false;
      }
      if (end + piece.length + tailroom > held.length) grow(end + piece.length + tailroom);
      held.set(piece, end);
      end += piece.length;
      return true;
    },
    end: () => resolve({ buffer: held, start: headroom, end, release }),
    failed(error) {
      release();
      reject(error);
    },
  };
}
