import { setImmediate as nextTurn } from 'node:timers/promises';
import { compressBody, type Encoding } from './encoding.ts';
import type { Exchange } from './exchange.ts';
import { limits } from './limits.ts';
import { checkHeaders, type FixedReply, replyEncoding, writeHead } from './response.ts';
import type { StallWatch } from './stall-watch.ts';

const compressBytesMin = 1024;
const refusedBodyDrainMsMax = 10_000;
/** A refused sender that pauses this long has read the answer; one that is cut off while it sends would not see it. */
const refusedBodyQuietMs = 300;

type Body = string | Uint8Array;

const byteLength = (body: Body): number => (typeof body === 'string' ? Buffer.byteLength(body) : body.length);

const bytesOf = (body: Body): Uint8Array => (typeof body === 'string' ? Buffer.from(body) : body);

/**
 * Above this the body stays ours until the socket takes it, so that "finished" means that it is on its way. Head and
 * body must fit into the library's cork buffer of 16 KiB: see `writeBytesMax` in uws.ts.
 */
const wholeAtOnceBytesMax = 8 * 1024;

function sendLarge(exchange: Exchange, bytes: Uint8Array, status: number, watch: StallWatch): void {
  const { res } = exchange;
  const push = (offset: number): boolean => {
    // Once complete, the connection must be read again; it cannot be told so then.
    exchange.letGo();
    const [taken, complete] = res.tryEnd(bytes.subarray(offset), bytes.length);
    if (complete) exchange.finish({ status, bytesSent: bytes.length });
    else {
      exchange.holdRead();
      exchange.sent(offset);
    }
    return taken;
  };
  if (push(0) || !exchange.open()) return;
  exchange.onClosed(() => watch.moving(exchange));
  res.onWritable((offset) => {
    watch.moving(exchange);
    const taken = push(offset);
    if (!taken && exchange.open()) watch.stalled(exchange, bytes.length);
    return taken;
  });
  watch.stalled(exchange, bytes.length);
}

/**
 * An answer given while much of the request body is still on its way. Closing at once would make the client's kernel
 * throw the answer away (a reset follows unread data), so the end of the answer waits until the sender pauses or
 * is done; a sender that goes on beyond the bounds loses the connection. The client is told to close, because the
 * library cannot close after a body written in pieces: its flag for that puts a header into the body.
 */
function sendClosing(exchange: Exchange, { status, headers }: FixedReply, body: Body): void {
  const { res } = exchange;
  const bytesSent = exchange.head.method === 'HEAD' ? 0 : byteLength(body);
  res.cork(() => {
    writeHead(exchange, status, { ...headers, Connection: 'close' });
    if (bytesSent > 0) res.write(body);
  });
  exchange.sent(bytesSent);
  // Where the length is in doubt nothing that follows may be taken for a request: an answer that stays incomplete
  // makes the library refuse it.
  const unframed = exchange.head.announcedBody.kind === 'invalid';
  const end = (): void => {
    clearTimeout(quiet);
    clearTimeout(last);
    if (!exchange.open()) return;
    if (unframed) return exchange.abort(status);
    res.cork(() => res.end());
    exchange.finish({ status, bytesSent });
  };
  const quiet = setTimeout(end, refusedBodyQuietMs);
  const last = setTimeout(() => exchange.abort(status), refusedBodyDrainMsMax);
  exchange.onGone(end);
  exchange.body?.discard(limits.refusedBodyDrainBytesMax, (isLast) => {
    if (isLast && !unframed) end();
    else quiet.refresh();
  });
}

/**
 * Resolves when the last answer of a connection may go: the library has looked at all that it has read, and the sender has
 * sent its body or pauses. One that goes on beyond the bounds loses the connection.
 */
function untilSent(exchange: Exchange, status: number): Promise<void> {
  if (exchange.hasTrailer) {
    exchange.hold();
    return nextTurn();
  }
  return new Promise((resolve) => {
    const { body } = exchange;
    const end = (): void => {
      clearTimeout(quiet);
      clearTimeout(last);
      setImmediate(resolve);
    };
    const quiet = setTimeout(end, refusedBodyQuietMs);
    const last = setTimeout(() => exchange.abort(status), refusedBodyDrainMsMax);
    if (body === undefined || body.outstanding() === 0) return end();
    exchange.onGone(end);
    body.discard(limits.refusedBodyDrainBytesMax, (isLast) => void (isLast ? end() : quiet.refresh()));
  });
}

function sendNow(
  exchange: Exchange,
  reply: FixedReply,
  watch: StallWatch,
  body: Body,
  encoding?: Encoding,
): void {
  exchange.letGo();
  if (exchange.isLast) exchange.hold();
  else {
    exchange.body?.resume();
    const outstanding = exchange.body?.outstanding() ?? 0;
    if (outstanding > limits.ignoredBodyBytesMax) return sendClosing(exchange, reply, body);
  }
  const { res, head, isLast } = exchange;
  const { status } = reply;
  const bodiless = status === 204 || status === 304;
  const isLarge = typeof body !== 'string' && body.length > wholeAtOnceBytesMax && head.method !== 'HEAD';
  // The library closes behind what it is given at once; behind more, the client is told to, and else the idle time does. So
  // it is where a body is not read: to close would take the answer away from its sender.
  const libraryCloses = isLast && !exchange.hasTrailer && (bodiless || !isLarge);
  const headers = isLast && !libraryCloses ? { ...reply.headers, Connection: 'close' } : reply.headers;
  res.cork(() => {
    writeHead(exchange, status, headers, { encoding, bodiless, libraryCloses });
    if (bodiless || head.method === 'HEAD') {
      // Told of a length, the library would wait for that much, and close the connection at the next request.
      if (!bodiless) res.writeHeader('Content-Length', String(byteLength(body)));
      // With any argument the library takes even "no length" for one.
      if (libraryCloses) res.endWithoutBody(undefined, true);
      else res.endWithoutBody();
      exchange.finish({ status, bytesSent: 0 });
    } else if (isLarge) {
      sendLarge(exchange, bytesOf(body), status, watch);
    } else {
      res.end(body, libraryCloses);
      exchange.finish({ status, bytesSent: byteLength(body) });
    }
  });
}

/**
 * Sends a reply whose body is at hand, compressed when that pays. Does nothing once the client is gone. Throws
 * synchronously, with nothing sent, when a header cannot be sent; rejects when the body cannot be compressed.
 */
export function sendFixed(
  exchange: Exchange,
  reply: FixedReply,
  watch: StallWatch,
): Promise<void> | undefined {
  if (!exchange.open()) {
    reply.release?.();
    return undefined;
  }
  checkHeaders(reply.headers);
  const { body = '' } = reply;
  const length = byteLength(body);
  const encoding = length > compressBytesMin ? replyEncoding(exchange, reply.headers) : undefined;
  const { isLast } = exchange;
  if (encoding === undefined) {
    if (reply.release !== undefined) exchange.onClosed(reply.release);
    const whole = length > wholeAtOnceBytesMax ? bytesOf(body) : body;
    if (isLast) return sendLast(exchange, reply, watch, whole);
    sendNow(exchange, reply, watch, whole);
    return undefined;
  }
  exchange.holdRead();
  return compressBody(encoding, bytesOf(body))
    .finally(() => reply.release?.())
    .then((small) => {
      if (isLast) return sendLast(exchange, reply, watch, small, encoding);
      if (exchange.open()) sendNow(exchange, reply, watch, small, encoding);
      return undefined;
    });
}

async function sendLast(
  exchange: Exchange,
  reply: FixedReply,
  watch: StallWatch,
  body: Body,
  encoding?: Encoding,
): Promise<void> {
  if (exchange.open()) await untilSent(exchange, reply.status);
  if (exchange.open()) sendNow(exchange, reply, watch, body, encoding);
}
