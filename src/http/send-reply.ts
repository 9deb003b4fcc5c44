import { compressBody, type Encoding } from './encoding.ts';
import type { Exchange } from './exchange.ts';
import { limits } from './limits.ts';
import { checkHeaders, type FixedReply, replyEncoding, writeHead } from './response.ts';
import type { StallWatch } from './stall-watch.ts';

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
    const [taken, complete] = res.tryEnd(bytes.subarray(offset), bytes.length);
    if (complete) exchange.finish({ status, bytesSent: bytes.length });
    else exchange.sent(offset);
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
  const quiet = setTimeout(end, limits.refusedBodyQuietMs);
  const last = setTimeout(() => exchange.abort(status), limits.refusedBodyDrainMsMax);
  exchange.onGone(end);
  exchange.body?.discard(limits.refusedBodyDrainBytesMax, (isLast) => {
    if (isLast && !unframed) end();
    else quiet.refresh();
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
  exchange.body?.resume();
  const { res, head } = exchange;
  const outstanding = exchange.body?.outstanding() ?? 0;
  if (outstanding > limits.ignoredBodyBytesMax) return sendClosing(exchange, reply, body);
  const { status } = reply;
  const bodiless = status === 204 || status === 304;
  res.cork(() => {
    writeHead(exchange, status, reply.headers, { encoding, bodiless });
    if (bodiless || head.method === 'HEAD') {
      // Told of a length, the library would wait for that much, and close the connection at the next request.
      if (!bodiless) res.writeHeader('Content-Length', String(byteLength(body)));
      res.endWithoutBody();
      exchange.finish({ status, bytesSent: 0 });
    } else if (typeof body !== 'string' && body.length > wholeAtOnceBytesMax) {
      sendLarge(exchange, body, status, watch);
    } else {
      res.end(body);
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
  const encoding = length > limits.compressBytesMin ? replyEncoding(exchange, reply.headers) : undefined;
  if (encoding === undefined) {
    if (reply.release !== undefined) exchange.onClosed(reply.release);
    sendNow(exchange, reply, watch, length > wholeAtOnceBytesMax ? bytesOf(body) : body);
    return undefined;
  }
  return compressBody(encoding, bytesOf(body))
    .finally(() => reply.release?.())
    .then((small) => {
      if (exchange.open()) sendNow(exchange, reply, watch, small, encoding);
    });
}
