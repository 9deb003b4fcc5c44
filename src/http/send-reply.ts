import { setImmediate as nextTurn } from 'node:timers/promises';
import { compressBody, type Encoding } from './encoding.ts';
import type { Exchange } from './exchange.ts';
import { limits } from './limits.ts';
import { checkHeaders, type FixedReply, replyEncoding, writeHead } from './response.ts';
import type { StallWatch } from './stall-watch.ts';

const compressBytesMin = 1024;
const refusedBodyDrainMsMax = 10_000;
/** A refused sender that pauses this long has read the answer. */
const refusedBodyQuietMs = 300;

type Body = string | Uint8Array;

const byteLength = (body: Body): number => (typeof body === 'string' ? Buffer.byteLength(body) : body.length);

const toBytes = (body: Body): Uint8Array => (typeof body === 'string' ? Buffer.from(body) : body);

/**
 * A larger body is kept until the socket accepts it, so that "finished" means sent. With the head it must fit into the library's
 * cork buffer: see `writeBytesMax`.
 */
const wholeAtOnceBytesMax = 8 * 1024;

function sendLarge(exchange: Exchange, bytes: Uint8Array, status: number, watch: StallWatch): void {
  const { res } = exchange;
  const push = (offset: number): boolean => {
    const [accepted, complete] = res.tryEnd(bytes.subarray(offset), bytes.length);
    if (complete) exchange.finish({ status, bytesSent: bytes.length });
    else exchange.sent(offset);
    return accepted;
  };
  if (push(0) || !exchange.open()) return;
  exchange.onClosed(() => watch.moving(exchange));
  res.onWritable((offset) => {
    watch.moving(exchange);
    const accepted = push(offset);
    if (!accepted && exchange.open()) watch.stalled(exchange, bytes.length);
    return accepted;
  });
  watch.stalled(exchange, bytes.length);
}

/**
 * Closing at once would reset the connection and lose the answer, so its end waits until the sender pauses or ends. The answer
 * announces the close itself, because the library would write that header into a body sent in pieces.
 */
function sendClosing(exchange: Exchange, { status, headers }: FixedReply, body: Body): void {
  const { res } = exchange;
  const bytesSent = exchange.head.method === 'HEAD' ? 0 : byteLength(body);
  res.cork(() => {
    writeHead(exchange, status, { ...headers, Connection: 'close' });
    if (bytesSent > 0) res.write(body);
  });
  exchange.sent(bytesSent);
  // Without a length the next bytes must not be accepted for a request: the library refuses them while the answer is incomplete.
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

/** The library has processed its input, and the sender has sent its body or pauses. */
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
  // The library closes only after an answer written at once and a body that is read; otherwise the client or the idle timeout
  // does.
  const libraryCloses = isLast && !exchange.hasTrailer && (bodiless || !isLarge);
  const headers = isLast && !libraryCloses ? { ...reply.headers, Connection: 'close' } : reply.headers;
  res.cork(() => {
    writeHead(exchange, status, headers, { encoding, bodiless, libraryCloses });
    if (bodiless || head.method === 'HEAD') {
      // With a length the library would wait for that many bytes, and close the connection at the next
      // request.
      if (!bodiless) res.writeHeader('Content-Length', String(byteLength(body)));
      // Any first argument, even 0, sends a length.
      if (libraryCloses) res.endWithoutBody(undefined, true);
      else res.endWithoutBody();
      exchange.finish({ status, bytesSent: 0 });
    } else if (isLarge) {
      sendLarge(exchange, toBytes(body), status, watch);
    } else {
      res.end(body, libraryCloses);
      exchange.finish({ status, bytesSent: byteLength(body) });
    }
  });
}

/** Compresses if that pays. Throws before sending if a header is invalid; rejects if compression fails. */
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
    const whole = length > wholeAtOnceBytesMax ? toBytes(body) : body;
    if (isLast) return sendLast(exchange, reply, watch, whole);
    sendNow(exchange, reply, watch, whole);
    return undefined;
  }
  exchange.holdRead();
  return compressBody(encoding, toBytes(body))
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
