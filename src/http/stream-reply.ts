import { finished, pipeline, Readable } from 'node:stream';
import { limits } from '../base/limits.ts';
import { createCompressor } from './encoding.ts';
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
      if (performance.now() - sinceMs > limits.streamStallMsMax) exchange.breakOff(clientGoneStatus);
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
 * Written at once. The library counts a connection as idle until all that it holds for it has gone out, so it must
 * hold little: a reader of 100 KB/s takes longer for one large chunk than it would be given.
 */
const pieceBytes = 64 * 1024;

const asReadable = (stream: StreamReply['stream']): Readable =>
  stream instanceof Readable ? stream : Readable.from(stream, { objectMode: false });

/** Ends a source whose bytes nobody will read. */
export function destroyStream(stream: StreamReply['stream']): void {
  const readable = asReadable(stream);
  // Its errors are of no interest any more, but unheard they would end the process.
  readable.on('error', () => {});
  readable.destroy();
}

export interface StreamSendOptions {
  readonly watch: StallWatch;
  /** The source failed before the first byte: nothing has been sent and the exchange is open. */
  readonly onEarlyFailure: (error: unknown) => void;
  /** The source failed after the first byte: the connection is being broken. */
  readonly onLateFailure: (error: unknown) => void;
}

/**
 * Sends a body while it is being made, with backpressure: at most two chunks of the source are held here. The body ends cleanly only when the source does (contract: a failure in mid-stream breaks the connection).
 * A client that goes away destroys the source. Throws, with nothing sent, when a header cannot be sent.
 */
export function sendStream(exchange: Exchange, reply: StreamReply, options: StreamSendOptions): void {
  if (!exchange.open()) return destroyStream(reply.stream);
  exchange.body?.letCome();
  checkHeaders(reply.headers);
  const { res } = exchange;
  const { watch, onEarlyFailure, onLateFailure } = options;
  const source = asReadable(reply.stream);
  const encoding = replyEncoding(exchange, reply.headers, undefined);
  // The outcome of the pipeline reaches the end of it, where `finished` hears of it.
  const output = encoding === undefined ? source : pipeline(source, createCompressor(encoding), () => {});
  let started = false;
  let ended = false;
  let bytesSent = 0;
  /** What the socket has not been offered yet, in small pieces: there is always one left to nudge with. */
  const held: Uint8Array[] = [];

  const start = (): void => {
    if (!started) writeHead(exchange, reply.status, reply.headers, { encoding });
    started = true;
  };
  const complete = (): void => {
    res.cork(() => {
      start();
      res.end();
    });
    exchange.finish({ status: reply.status, bytesSent });
  };
  /** Writes the next piece; false when the socket is full. */
  const writeOne = (): boolean => {
    const piece = held.shift() as Uint8Array;
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
    if (held.length > 0) flow();
    // Reading by hand from the paused stream; `take` hears of what it gives.
    else output.read(Math.min(output.readableLength, pieceBytes));
  };
  const flow = (): void => {
    let moved = false;
    while (held.length > 0 && exchange.open()) {
      if (writeOne()) {
        moved = true;
        continue;
      }
      output.pause();
      if (moved) watch.moving(exchange);
      watch.stalled(exchange, nudge);
      return;
    }
    watch.moving(exchange);
    if (!exchange.open()) return;
    if (ended) complete();
    else output.resume();
  };
  const take = (chunk: Uint8Array): void => {
    const waiting = held.length > 0;
    for (let at = 0; at < chunk.length; at += pieceBytes) held.push(chunk.subarray(at, at + pieceBytes));
    if (!waiting) flow();
  };
  res.onWritable(() => {
    flow();
    return true;
  });
  exchange.onGone(() => {
    watch.moving(exchange);
    source.destroy();
    output.destroy();
  });
  finished(output, { writable: false }, (error) => {
    if (!exchange.open()) return;
    if (!error) {
      ended = true;
      if (held.length === 0) flow();
      return;
    }
    watch.moving(exchange);
    if (started) {
      onLateFailure(error);
      exchange.breakOff(500);
    } else {
      onEarlyFailure(error);
    }
  });
  output.on('data', take);
}
