import { finished, Readable } from 'node:stream';

/** Receives bytes. Nothing is called after `end` or `failed`. */
export interface ByteSink {
  /**
   * The bytes are valid only during the call. False asks to pause until `resume`; a little more may still
   * come.
   */
  data(piece: Uint8Array): boolean;
  end(): void;
  failed(error: Error): void;
}

/** Bytes at the sink's pace, lent from one reused buffer: hundreds of megabytes a second. */
export interface ByteFlow {
  to(sink: ByteSink): void;
  resume(): void;
  destroy(): void;
  /** Runs once the flow has ended in any way; at once if it already has. */
  onClosed(callback: () => void): void;
  bufferedBytes?(): number;
}

function flowWith(flow: ByteFlow, to: ByteFlow['to']): ByteFlow {
  return {
    to,
    resume: () => flow.resume(),
    destroy: () => flow.destroy(),
    onClosed: (callback) => flow.onClosed(callback),
    bufferedBytes: () => flow.bufferedBytes?.() ?? 0,
  };
}

/** Each piece has its own memory. Destroying one destroys the other. */
export function toReadable(flow: ByteFlow): Readable {
  let begun = false;
  const readable = new Readable({
    highWaterMark: 256 * 1024,
    read() {
      if (begun) return flow.resume();
      begun = true;
      flow.to({
        data: (piece) => readable.push(Buffer.from(piece)),
        end: () => void readable.push(null),
        failed: (error) => void readable.destroy(error),
      });
    },
    destroy(error, done) {
      flow.destroy();
      done(error);
    },
  });
  return readable;
}

/** Whole lines of UTF-8 text without their ends, as they come. */
export async function* linesOf(flow: ByteFlow): AsyncGenerator<string[]> {
  let begun = '';
  for await (const text of toReadable(flow).setEncoding('utf8')) {
    const lines = `${begun}${text}`.split('\n');
    begun = lines.pop() ?? '';
    if (lines.length > 0) yield lines;
  }
  if (begun !== '') yield [begun];
}

/** A stream destroyed before its end has failed. */
export function fromReadable(stream: Readable): ByteFlow {
  let destroyed = false;
  // Before the flow starts and after it is destroyed there is no other listener.
  stream.on('error', () => {});
  return {
    to(sink) {
      stream.on('data', (piece: Uint8Array) => {
        if (!destroyed && !sink.data(piece)) stream.pause();
      });
      finished(stream, { writable: false }, (error) => {
        if (destroyed) return;
        if (error) sink.failed(error);
        else sink.end();
      });
    },
    resume: () => void stream.resume(),
    destroy() {
      destroyed = true;
      stream.destroy();
    },
    onClosed(callback) {
      if (stream.closed) callback();
      else stream.once('close', callback);
    },
  };
}

interface Peeked {
  readonly start: Uint8Array;
  readonly continueWith: (instead: Uint8Array) => ByteFlow;
}

/** The first `bytes` of a flow, or all if shorter. Rejects if the flow fails before. */
export function peekFlow(flow: ByteFlow, bytes: number): Promise<Peeked> {
  return new Promise((resolve, reject) => {
    flow.to(new PeekedFlow(flow, bytes, resolve, reject));
  });
}

class PeekedFlow implements ByteSink {
  readonly #flow: ByteFlow;
  readonly #bytes: number;
  #waiting: { resolve(peeked: Peeked): void; reject(error: Error): void } | undefined;
  #pieces: Uint8Array[] = [];
  #target: ByteSink | undefined;
  #finish: ((sink: ByteSink) => void) | undefined;

  constructor(
    flow: ByteFlow,
    bytes: number,
    resolve: (peeked: Peeked) => void,
    reject: (error: Error) => void,
  ) {
    this.#flow = flow;
    this.#bytes = bytes;
    this.#waiting = { resolve, reject };
  }

  data(piece: Uint8Array): boolean {
    if (this.#target !== undefined) return this.#target.data(piece);
    this.#pieces.push(Uint8Array.from(piece));
    if (this.#waiting === undefined) return false;
    const bufferedBytes = this.#pieces.reduce((sum, { length }) => sum + length, 0);
    if (bufferedBytes < this.#bytes) return true;
    this.#handOut();
    return false;
  }

  end(): void {
    this.#end((sink) => sink.end());
    this.#handOut();
  }

  failed(error: Error): void {
    this.#end((sink) => sink.failed(error));
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }

  #end(finish: (sink: ByteSink) => void): void {
    this.#finish = finish;
    if (this.#target !== undefined) finish(this.#target);
  }

  #handOut(): void {
    const start = Buffer.concat(this.#pieces);
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    this.#pieces = [];
    const continueWith = (instead: Uint8Array): ByteFlow =>
      flowWith(this.#flow, (sink) => this.#continue(instead, sink));
    waiting.resolve({ start, continueWith });
  }

  #continue(instead: Uint8Array, sink: ByteSink): void {
    this.#target = sink;
    let wanted = true;
    for (const piece of [instead, ...this.#pieces.splice(0)])
      if (piece.length > 0) wanted = sink.data(piece) && wanted;
    if (this.#finish !== undefined) this.#finish(sink);
    else if (wanted) this.#flow.resume();
  }
}
