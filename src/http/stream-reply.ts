import { pipeline } from 'node:stream';
import { type ByteFlow, fromReadable, toReadable } from '../base/bytes/byte-flow.ts';
import { createCompressor, type Encoding } from './encoding.ts';
import type { Exchange } from './exchange.ts';
import { checkHeaders, replyEncoding, type StreamReply, writeHead } from './response.ts';
import type { StallWatch } from './stall-watch.ts';
import { writeBytesMax } from './uws.ts';

/** With the head, which a client can make long, it must fit into the library's cork buffer of 16 KiB. */
const firstPieceBytes = 4 * 1024;

export interface StreamSendOptions {
  readonly watch: StallWatch;
  readonly onEarlyFailure: (error: unknown) => void;
  readonly onLateFailure: (error: unknown) => void;
}

/**
 * Buffers at most one read of the source. Ends cleanly only if the source does (contract: export); a disconnect destroys the
 * source. Throws before sending if a header is invalid.
 */
export function sendStream(exchange: Exchange, reply: StreamReply, options: StreamSendOptions): void {
  if (!exchange.open()) return reply.stream.destroy();
  exchange.body?.resume();
  checkHeaders(reply.headers);
  if (!exchange.isLast) {
    exchange.holdRead();
    return new StreamSender(exchange, reply, options).start();
  }
  // By then the library has processed its input.
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
  readonly #pending: Uint8Array[] = [];
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
      this.#writePending();
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

  /** Copies bytes that the socket does not accept. False asks the source to pause. */
  #take(piece: Uint8Array): boolean {
    if (!this.#exchange.open()) return false;
    if (this.#pending.length > 0) {
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
    if (this.#pending.length === 0) this.#complete();
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
      this.#pending.push(Uint8Array.from(piece.subarray(at, at + writeBytesMax)));
  }

  #writePending(): void {
    let moved = false;
    for (let piece = this.#pending.shift(); piece !== undefined; piece = this.#pending.shift()) {
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

  #write(piece: Uint8Array): boolean {
    const { res } = this.#exchange;
    let accepted = false;
    res.cork(() => {
      this.#writeHeadOnce();
      accepted = res.write(piece);
    });
    this.#bytesSent += piece.length;
    this.#exchange.sent(this.#bytesSent);
    if (!accepted) this.#exchange.partlyWritten();
    return accepted;
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
    const bufferedBytes = this.#pending.reduce(
      (sum, { length }) => sum + length,
      this.#source.bufferedBytes?.() ?? 0,
    );
    this.#options.watch.stalled(this.#exchange, bufferedBytes, () => this.#nudge());
  }

  /** Only a failed write restarts the library's clock, so a nudge writes until one fails. */
  #nudge(): void {
    if (this.#pending.length > 0) this.#writePending();
    else this.#source.resume();
  }

  #moving(): void {
    this.#options.watch.moving(this.#exchange);
  }
}

/** An error of the pipeline reaches the flow through its last stage. */
function compressed(flow: ByteFlow, encoding: Encoding): ByteFlow {
  const source = toReadable(flow);
  const output = pipeline(source, createCompressor(encoding), () => {});
  const packed = fromReadable(output);
  return {
    ...packed,
    bufferedBytes: () => flow.bufferedBytes?.() ?? 0,
    destroy() {
      source.destroy();
      packed.destroy();
    },
  };
}
