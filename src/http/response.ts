import { STATUS_CODES } from 'node:http';
import type { ByteFlow } from '../base/byte-flow.ts';
import type { Answer, SchemaName } from '../contract/document.ts';
import { stringify } from '../contract/stringify.ts';
import { limits } from './limits.ts';
import { compressBody, type Encoding, isCompressible, negotiateEncoding } from './encoding.ts';
import type { Exchange } from './exchange.ts';
import { writeStandingHeaders } from './standing-headers.ts';

/** Header values; an array is sent as that many headers of the name. */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>;

/** An answer whose body is at hand. Several pieces are sent as one body. No body with 204. */
export interface FixedReply {
  readonly status: number;
  readonly headers?: ReplyHeaders;
  /** Default type: application/json. */
  readonly body?: string | Uint8Array | readonly Uint8Array[];
  /** Called once when the body is not needed any more, whatever became of the answer. */
  readonly release?: () => void;
}

/**
 * An answer whose body is still being made. Its head goes out with the first byte of the body, so that a source that
 * fails before that is still answered with a problem; one that fails later breaks the connection.
 */
export interface StreamReply {
  readonly status: number;
  readonly headers?: ReplyHeaders;
  readonly stream: ByteFlow;
}

export type Reply = FixedReply | StreamReply;

/** The answer that a read has made, whole or as it comes. */
export function replyOf(
  body: { readonly bytes: Uint8Array; readonly release: () => void } | { readonly flow: ByteFlow },
): Reply {
  if ('flow' in body) return { status: 200, stream: body.flow };
  return { status: 200, body: body.bytes, release: body.release };
}

/** An answer in JSON, of a schema in the OpenAPI document; members that are undefined are left out. */
export function jsonReply<Name extends SchemaName>(
  status: number,
  schema: Name,
  value: Answer<Name>,
  headers: ReplyHeaders = {},
): FixedReply {
  return { status, headers, body: stringify(schema, value) };
}

const statusLines = new Map<number, string>([
  // In the words of RFC 9110, which Node learned only in later versions.
  [413, '413 Content Too Large'],
  [422, '422 Unprocessable Content'],
]);

function statusLine(status: number): string {
  let line = statusLines.get(status);
  if (line === undefined) {
    line = `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
    statusLines.set(status, line);
  }
  return line;
}

function headerValue(headers: ReplyHeaders | undefined, name: string): string | undefined {
  if (headers === undefined) return undefined;
  for (const key of Object.keys(headers)) {
    if (key.toLowerCase() === name) return String(headers[key]);
  }
  return undefined;
}

function contentType(headers: ReplyHeaders | undefined): string {
  return headerValue(headers, 'content-type') ?? 'application/json';
}

/** The encoding for a reply that is worth encoding and that the route has not encoded itself. */
export function replyEncoding(exchange: Exchange, headers: ReplyHeaders | undefined): Encoding | undefined {
  if (!variesByEncoding(headers)) return undefined;
  return negotiateEncoding(exchange.head.headers.get('accept-encoding'));
}

function variesByEncoding(headers: ReplyHeaders | undefined): boolean {
  return headerValue(headers, 'content-encoding') === undefined && isCompressible(contentType(headers));
}

/** Throws on a header that would let the author of its value write headers, or a body, of his own. */
export function checkHeaders(headers: ReplyHeaders | undefined): void {
  for (const name of Object.keys(headers ?? {})) {
    if (/[\r\n\0]/.test(String(headers?.[name])))
      throw new Error(`the response header ${name} holds a line break`);
  }
}

export interface HeadOptions {
  readonly encoding?: Encoding | undefined;
  /** The response has no body, and so no type. */
  readonly bodiless?: boolean;
}

/** Status line and headers (checked before). To be called inside `cork`. */
export function writeHead(
  exchange: Exchange,
  status: number,
  headers: ReplyHeaders | undefined,
  { encoding, bodiless = false }: HeadOptions = {},
): void {
  const { res, head } = exchange;
  res.writeStatus(statusLine(status));
  res.writeHeader('X-Request-Id', head.requestId);
  writeStandingHeaders(res, head, headers);
  if (!bodiless) {
    if (headerValue(headers, 'content-type') === undefined)
      res.writeHeader('Content-Type', 'application/json');
    if (variesByEncoding(headers)) res.writeHeader('Vary', 'Accept-Encoding');
  }
  if (encoding !== undefined) res.writeHeader('Content-Encoding', encoding);
  for (const name of Object.keys(headers ?? {})) {
    const value = headers?.[name] ?? '';
    if (typeof value === 'string') res.writeHeader(name, value);
    else for (const one of value) res.writeHeader(name, one);
  }
}

function oneBody(body: FixedReply['body']): string | Uint8Array {
  if (body === undefined) return '';
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  return body.length === 1 && body[0] !== undefined ? body[0] : Buffer.concat(body);
}

const byteLength = (body: string | Uint8Array): number =>
  typeof body === 'string' ? Buffer.byteLength(body) : body.length;

/**
 * Above this the body stays ours until the socket takes it, so that "finished" means that it is on its way. Head and
 * body must fit into the library's cork buffer of 16 KiB: see `pieceBytes` in stream-reply.ts.
 */
const wholeAtOnceBytesMax = 8 * 1024;

function sendLarge(exchange: Exchange, bytes: Uint8Array, status: number): void {
  const { res } = exchange;
  const push = (offset: number): boolean => {
    const [taken, complete] = res.tryEnd(bytes.subarray(offset), bytes.length);
    if (complete) exchange.finish({ status, bytesSent: bytes.length });
    else exchange.sent(offset);
    return taken;
  };
  if (!push(0) && exchange.open()) res.onWritable(push);
}

/**
 * An answer given while much of the request body is still on its way. Closing at once would make the client's kernel
 * throw the answer away (a reset follows unread data), so the end of the answer waits until the sender pauses or
 * is done; a sender that goes on beyond the bounds loses the connection. The client is told to close, because the
 * library cannot close after a body written in pieces: its flag for that puts a header into the body.
 */
function sendClosing(exchange: Exchange, reply: FixedReply, body: string | Uint8Array): void {
  const { res } = exchange;
  const { status } = reply;
  const bytesSent = exchange.head.method === 'HEAD' ? 0 : byteLength(body);
  res.cork(() => {
    writeHead(exchange, status, { ...reply.headers, Connection: 'close' });
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
  body: string | Uint8Array,
  encoding?: Encoding,
): void {
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
      sendLarge(exchange, body, status);
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
export function sendFixed(exchange: Exchange, reply: FixedReply): Promise<void> | undefined {
  if (!exchange.open()) {
    reply.release?.();
    return undefined;
  }
  checkHeaders(reply.headers);
  const body = oneBody(reply.body);
  const length = byteLength(body);
  const encoding = length > limits.compressBytesMin ? replyEncoding(exchange, reply.headers) : undefined;
  if (encoding === undefined) {
    if (reply.release !== undefined) exchange.onClosed(reply.release);
    sendNow(
      exchange,
      reply,
      length > wholeAtOnceBytesMax && typeof body === 'string' ? Buffer.from(body) : body,
    );
    return undefined;
  }
  return compressBody(encoding, typeof body === 'string' ? Buffer.from(body) : body)
    .finally(() => reply.release?.())
    .then((small) => {
      if (exchange.open()) sendNow(exchange, reply, small, encoding);
    });
}
