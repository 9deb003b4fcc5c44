import { pipeline } from 'node:stream';
import { type ByteFlow, fromReadable, toReadable } from '../base/bytes/byte-flow.ts';
import { createCompressor, type Encoding } from './encoding.ts';
import type { Exchange } from './exchange.ts';
import { checkHeaders, replyEncoding, type StreamReply, writeHead } from './response.ts';
import type { StallWatch } from './stall-watch.ts';
import { writeBytesMax } from './uws.ts';

/** Goes with the head, which a client can make long: both must fit into the library's cork buffer of 16 KiB. */
const firstPieceBytes = 4 * 1024;

export interface StreamSendOptions {
  readonly watch: StallWatch;
  /** The source failed before the first byte: nothing has been sent and the exchange is open. */
  readonly onEarlyFailure: (error: unknown) => void;
  /** The source failed after the first byte: the connection is being broken. */
  readonly onLateFailure: (error: unknown) => void;
}

/**
 * Sends a body while it is being made, with backpressure: what is held here is what one read of the source gave, at
 * most. The body ends cleanly only when the source does (contract: export). A client that goes away destroys the
 * source. Throws, with nothing sent, when a header cannot be sent.
 */
export function sendStream(exchange: Exchange, reply: StreamReply, options: StreamSendOptions): void {
  if (!exchange.open()) return reply.stream.destroy();
  exchange.body?.resume();
  checkHeaders(reply.headers);
  if (!exchange.isLast) {
    exchange.holdRead();
    return new StreamSender(exchange, reply, options).start();
  }
  // By then the library has looked at all that it has read.
  const last = { ...reply, headers: { ...reply.headers, Connection: 'close' } };
  setImmediate(() => {
    if (exchange.open()) new StreamSender(exchange, last, options).start();
    else reply.stream.destroy();
  });
}

class StreamSender {
  readonly #exchange: Exchange;
  readonly #reply: StreamReply;
  readonly #options: StreamSendOptions;
  readonly #encoding: Encoding | undefined;
  readonly #source: ByteFlow;
  /** What the socket has not been offered yet, in small pieces. */
  readonly #held: Uint8Array[] = [];
  #hasHead = false;
  #hasEnded = false;
  #bytesSent = 0;

  constructor(exchange: Exchange, reply: StreamReply, options: StreamSendOptions) {
    this.#exchange = exchange;
    this.#reply = reply;
    this.#options = options;
    this.#encoding = replyEncoding(exchange, reply.headers);
    this.#source = this.#encoding === undefined ? reply.stream : compressed(reply.stream, this.#encoding);
  }

  start(): void {
    this.#exchange.res.onWritable(() => {
      this.#writeHeld();
      return true;
    });
    this.#exchange.onGone(() => {
      this.#moving();
      this.#source.destroy();
    });
    this.#source.to({
      data: (piece) => this.#take(piece),
      end: () => this.#end(),
      failed: (error) => this.#fail(error),
    });
  }

  /** Offers the socket a piece, which is lent: what cannot be written is copied. False asks the source for a pause. */
  #take(piece: Uint8Array): boolean {
    if (!this.#exchange.open()) return false;
    if (this.#held.length > 0) {
      this.#hold(piece);
      return false;
    }
    for (let at = 0; at < piece.length; ) {
      const next = piece.subarray(at, at + (this.#hasHead ? writeBytesMax : firstPieceBytes));
      at += next.length;
      if (this.#write(next)) continue;
      this.#hold(piece.subarray(at));
      this.#stall();
      return false;
    }
    this.#moving();
    return true;
  }

  #end(): void {
    if (!this.#exchange.open()) return;
    this.#hasEnded = true;
    if (this.#held.length === 0) this.#complete();
  }

  #fail(error: Error): void {
    if (!this.#exchange.open()) return;
    this.#moving();
    if (!this.#hasHead) return this.#options.onEarlyFailure(error);
    this.#options.onLateFailure(error);
    this.#exchange.abort(500);
  }

  #hold(piece: Uint8Array): void {
    for (let at = 0; at < piece.length; at += writeBytesMax)
      this.#held.push(Uint8Array.from(piece.subarray(at, at + writeBytesMax)));
  }

  #writeHeld(): void {
    let moved = false;
    for (let piece = this.#held.shift(); piece !== undefined; piece = this.#held.shift()) {
      if (this.#write(piece)) {
        moved = true;
        continue;
      }
      if (moved) this.#moving();
      return this.#stall();
    }
    this.#moving();
    if (!this.#exchange.open()) return;
    if (this.#hasEnded) this.#complete();
    else this.#source.resume();
  }

  /** False when the socket is full: the library holds what did not fit. */
  #write(piece: Uint8Array): boolean {
    const { res } = this.#exchange;
    let taken = false;
    res.cork(() => {
      this.#writeHeadOnce();
      taken = res.write(piece);
    });
    this.#bytesSent += piece.length;
    this.#exchange.sent(this.#bytesSent);
    return taken;
  }

  #complete(): void {
    const { res } = this.#exchange;
    this.#moving();
    if (this.#exchange.isLast) this.#exchange.hold();
    else this.#exchange.letGo();
    res.cork(() => {
      this.#writeHeadOnce();
      res.end();
    });
    this.#exchange.finish({ status: this.#reply.status, bytesSent: this.#bytesSent });
  }

  #writeHeadOnce(): void {
    const { status, headers } = this.#reply;
    if (!this.#hasHead) writeHead(this.#exchange, status, headers, { encoding: this.#encoding });
    this.#hasHead = true;
  }

  #stall(): void {
    const heldBytes = this.#held.reduce((sum, { length }) => sum + length, this.#source.heldBytes?.() ?? 0);
    this.#options.watch.stalled(this.#exchange, heldBytes, () => this.#nudge());
  }

  /** Only a write that fails starts the library's clock anew, so a nudge writes until one does. */
  #nudge(): void {
    if (this.#held.length > 0) this.#writeHeld();
    else this.#source.resume();
  }

  #moving(): void {
    this.#options.watch.moving(this.#exchange);
  }
}

/** The outcome of the pipeline reaches its end, where the flow hears of it. */
function compressed(flow: ByteFlow, encoding: Encoding): ByteFlow {
  const source = toReadable(flow);
  const output = pipeline(source, createCompressor(encoding), () => {});
  const packed = fromReadable(output);
  return {
    ...packed,
    heldBytes: () => flow.heldBytes?.() ?? 0,
    destroy() {
      source.destroy();
      packed.destroy();
    },
  };
}
