import { pipeline } from 'node:stream';
import { type ByteFlow, fromReadable, toReadable } from '../base/byte-flow.ts';
import { limits } from './limits.ts';
import { createCompressor, type Encoding } from './encoding.ts';
import { clientGoneStatus, type Exchange } from './exchange.ts';
import { checkHeaders, replyEncoding, type StreamReply, writeHead } from './response.ts';

/** A stream that waits for its reader. */
interface Waiting {
  readonly sinceMs: number;
  /** Hands the socket a little more, so that the library sees that the stream is alive. */
  readonly nudge: () => void;
}

/** Watches streams whose reader stands still. */
export interface StallWatch {
  stalled(exchange: Exchange, nudge: () => void): void;
  moving(exchange: Exchange): void;
  close(): void;
}

/**
 * The library drops a connection 10 s after a write that the socket could not take, which a reader that is merely
 * busy (a pipe into a slow consumer) must survive. Every further write that fails starts those 10 s anew; so the
 * watch lets one chunk out to each waiting stream every limits.streamStallCheckMs, which holds at most
 * streamStallMsMax / streamStallCheckMs chunks, and drops a reader that has stood still for streamStallMsMax.
 */
export function createStallWatch(): StallWatch {
  const waiting = new Map<Exchange, Waiting>();
  const timer = setInterval(() => {
    for (const [exchange, { sinceMs, nudge }] of waiting) {
      if (performance.now() - sinceMs > limits.streamStallMsMax) exchange.abort(clientGoneStatus);
      else nudge();
    }
  }, limits.streamStallCheckMs);
  timer.unref();
  return {
    stalled(exchange, nudge) {
      if (!waiting.has(exchange)) waiting.set(exchange, { sinceMs: performance.now(), nudge });
    },
    moving: (exchange) => void waiting.delete(exchange),
    close: () => clearInterval(timer),
  };
}

/**
 * Written at once, with its framing: what fits into the library's cork buffer of 16 KiB. A larger write loses bytes
 * where the socket fills up at the wrong moment (the library then sends the length of a chunk, not the chunk), and
 * the reader sees broken framing. Small writes suit slow readers as well: the library counts a connection as idle
 * until all that it holds for it has gone out.
 */
const pieceBytes = 15 * 1024;
/** Goes with the head, which a client can make long. */
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
 * most. The body ends cleanly only when the source does (contract: export). A
 * client that goes away destroys the source. Throws, with nothing sent, when a header cannot be sent.
 */
export function sendStream(exchange: Exchange, reply: StreamReply, options: StreamSendOptions): void {
  if (!exchange.open()) return reply.stream.destroy();
  exchange.body?.resume();
  checkHeaders(reply.headers);
  const { res } = exchange;
  const { watch, onEarlyFailure, onLateFailure } = options;
  const encoding = replyEncoding(exchange, reply.headers);
  const source = encoding === undefined ? reply.stream : compressed(reply.stream, encoding);
  let started = false;
  let ended = false;
  let bytesSent = 0;
  /** What the socket has not been offered yet, in small pieces. */
  const held: Uint8Array[] = [];

  const start = (): void => {
    if (!started) writeHead(exchange, reply.status, reply.headers, { encoding });
    started = true;
  };
  const complete = (): void => {
    watch.moving(exchange);
    res.cork(() => {
      start();
      res.end();
    });
    exchange.finish({ status: reply.status, bytesSent });
  };
  /** False when the socket is full: the library holds what did not fit. */
  const write = (piece: Uint8Array): boolean => {
    let taken = false;
    res.cork(() => {
      start();
      taken = res.write(piece);
    });
    bytesSent += piece.length;
    exchange.sent(bytesSent);
    return taken;
  };
  // Only a write that fails starts the library's clock anew, so a nudge writes until one does.
  const nudge = (): void => {
    if (held.length > 0) writeHeld();
    else source.resume();
  };
  const stall = (): void => watch.stalled(exchange, nudge);
  const writeHeld = (): void => {
    let moved = false;
    for (let piece = held.shift(); piece !== undefined; piece = held.shift()) {
      if (write(piece)) {
        moved = true;
        continue;
      }
      if (moved) watch.moving(exchange);
      return stall();
    }
    watch.moving(exchange);
    if (!exchange.open()) return;
    if (ended) complete();
    else source.resume();
  };
  const hold = (piece: Uint8Array): void => {
    for (let at = 0; at < piece.length; at += pieceBytes) {
      held.push(Uint8Array.from(piece.subarray(at, at + pieceBytes)));
    }
  };
  /** The piece is lent: what cannot be written is copied. */
  const take = (piece: Uint8Array): boolean => {
    if (!exchange.open()) return false;
    if (held.length > 0) {
      hold(piece);
      return false;
    }
    for (let at = 0; at < piece.length; ) {
      const next = piece.subarray(at, at + (started ? pieceBytes : firstPieceBytes));
      at += next.length;
      if (write(next)) continue;
      hold(piece.subarray(at));
      stall();
      return false;
    }
    watch.moving(exchange);
    return true;
  };
  res.onWritable(() => {
    writeHeld();
    return true;
  });
  exchange.onGone(() => {
    watch.moving(exchange);
    source.destroy();
  });
  source.to({
    data: take,
    end() {
      if (!exchange.open()) return;
      ended = true;
      if (held.length === 0) complete();
    },
    failed(error) {
      if (!exchange.open()) return;
      watch.moving(exchange);
      if (started) {
        onLateFailure(error);
        exchange.abort(500);
      } else {
        onEarlyFailure(error);
      }
    },
  });
}

/** The outcome of the pipeline reaches its end, where the flow hears of it. */
function compressed(flow: ByteFlow, encoding: Encoding): ByteFlow {
  const source = toReadable(flow);
  const output = pipeline(source, createCompressor(encoding), () => {});
  const packed = fromReadable(output);
  return {
    ...packed,
    destroy() {
      source.destroy();
      packed.destroy();
    },
  };
}
