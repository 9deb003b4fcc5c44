import { finished, Readable } from 'node:stream';

/** Where bytes go. Nothing is called after `end` or `failed`. */
export interface ByteSink {
  /** The bytes are good only during the call. False asks for a pause until `resume`; a little more may still come. */
  data(piece: Uint8Array): boolean;
  end(): void;
  failed(error: Error): void;
}

/**
 * Bytes that are made as fast as the sink takes them, and lent to it: hundreds of megabytes a second pass through one
 * buffer.
 */
export interface ByteFlow {
  /** Begins to hand out, to one sink. */
  to(sink: ByteSink): void;
  resume(): void;
  destroy(): void;
  /** Runs once the flow has ended in any way; at once where it has. */
  onClosed(callback: () => void): void;
  bufferedBytes?(): number;
}

/** The same flow, handed out by another `to`. */
function flowWith(flow: ByteFlow, to: ByteFlow['to']): ByteFlow {
  return {
    to,
    resume: () => flow.resume(),
    destroy: () => flow.destroy(),
    onClosed: (callback) => flow.onClosed(callback),
    bufferedBytes: () => flow.bufferedBytes?.() ?? 0,
  };
}

/** The flow as a stream; each piece has memory of its own. Destroying one destroys the other. */
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

/** A stream as a flow. One that is destroyed before its end has failed. */
export function fromReadable(stream: Readable): ByteFlow {
  let destroyed = false;
  // Nobody else listens for errors before it is taken, or once it has been given up.
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

/** The first `bytes` of a flow, or all where it has fewer. Rejects where the flow fails before. */
export function peekFlow(flow: ByteFlow, bytes: number): Promise<Peeked> {
  return new Promise((resolve, reject) => {
    flow.to(new PeekedFlow(flow, bytes, resolve, reject));
  });
}

class PeekedFlow implements ByteSink {
  readonly #flow: ByteFlow;
  readonly #bytes: number;
  #waiting: { resolve(peeked: Peeked): void; reject(error: Error): void } | undefined;
  #held: Uint8Array[] = [];
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
    this.#held.push(Uint8Array.from(piece));
    if (this.#waiting === undefined) return false;
    const heldBytes = this.#held.reduce((sum, { length }) => sum + length, 0);
    if (heldBytes < this.#bytes) return true;
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
    const start = Buffer.concat(this.#held);
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    this.#held = [];
    const continueWith = (instead: Uint8Array): ByteFlow =>
      flowWith(this.#flow, (sink) => this.#continue(instead, sink));
    waiting.resolve({ start, continueWith });
  }

  #continue(instead: Uint8Array, sink: ByteSink): void {
    this.#target = sink;
    let wanted = true;
    for (const piece of [instead, ...this.#held.splice(0)])
      if (piece.length > 0) wanted = sink.data(piece) && wanted;
    if (this.#finish !== undefined) this.#finish(sink);
    else if (wanted) this.#flow.resume();
  }
}
