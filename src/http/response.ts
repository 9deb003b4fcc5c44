import { STATUS_CODES } from 'node:http';
import type { ByteFlow } from '../base/bytes/byte-flow.ts';
import type { Answer, SchemaName } from '../contract/document.ts';
import { stringify } from '../contract/stringify.ts';
import { type Encoding, isCompressible, negotiateEncoding } from './encoding.ts';
import type { Exchange } from './exchange.ts';
import { writeJsonHeaders, writeStandingHeaders } from './standing-headers.ts';

/** Header values; an array is sent as that many headers of the name. */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>;

/** An answer whose body is at hand. No body with 204. */
export interface FixedReply {
  readonly status: number;
  readonly headers?: ReplyHeaders;
  /** Default type: application/json. */
  readonly body?: string | Uint8Array;
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
  headers: ReplyHeaders = {},
): Reply {
  if ('flow' in body) return { status: 200, headers, stream: body.flow };
  return { status: 200, headers, body: body.bytes, release: body.release };
}

/** A JSON body. Every JSON answer ends with a line break, so that a terminal's prompt stands on a line of its own. */
export const jsonLine = (text: string): string => `${text}\n`;

/** An answer in JSON, of a schema in the OpenAPI document; members that are undefined are left out. */
export function jsonReply<Name extends SchemaName>(
  status: number,
  schema: Name,
  value: Answer<Name>,
  headers: ReplyHeaders = {},
): FixedReply {
  return { status, headers, body: jsonLine(stringify(schema, value)) };
}

/** Sends a browser on to another address. */
export function seeOther(location: string, headers: ReplyHeaders = {}): FixedReply {
  const type = 'text/plain; charset=utf-8';
  return { status: 303, headers: { ...headers, Location: location, 'Content-Type': type }, body: '' };
}

/** In the words of RFC 9110, some of which Node learned only in later versions. */
const statusWords = { ...STATUS_CODES, 413: 'Content Too Large', 422: 'Unprocessable Content' };

function headerValue(headers: ReplyHeaders, name: string): string | undefined {
  const key = Object.keys(headers).find((one) => one.toLowerCase() === name);
  return key === undefined ? undefined : String(headers[key]);
}

/** The encoding for a reply that is worth encoding and that the route has not encoded itself. */
export function replyEncoding(exchange: Exchange, headers: ReplyHeaders = {}): Encoding | undefined {
  if (!variesByEncoding(headers)) return undefined;
  return negotiateEncoding(exchange.head.headers.get('accept-encoding'));
}

function variesByEncoding(headers: ReplyHeaders): boolean {
  if (headerValue(headers, 'content-encoding') !== undefined) return false;
  return isCompressible(headerValue(headers, 'content-type') ?? 'application/json');
}

/** Throws on a header that would let the author of its value write headers, or a body, of his own. */
export function checkHeaders(headers: ReplyHeaders = {}): void {
  for (const [name, value] of Object.entries(headers)) {
    if (/[\r\n\0]/.test(String(value))) throw new Error(`the response header ${name} holds a line break`);
  }
}

export interface HeadOptions {
  readonly encoding?: Encoding | undefined;
  /** The response has no body, and so no type. */
  readonly bodiless?: boolean;
  /** The library closes the connection behind it, and says so. */
  readonly libraryCloses?: boolean;
}

/** Status line and headers (checked before). To be called inside `cork`. */
export function writeHead(
  { res, head }: Exchange,
  status: number,
  headers: ReplyHeaders = {},
  { encoding, bodiless = false, libraryCloses = false }: HeadOptions = {},
): void {
  res.writeStatus(`${status} ${statusWords[status as keyof typeof statusWords] ?? 'Unknown'}`);
  res.writeHeader('X-Request-Id', head.requestId);
  const isPlain = !bodiless && !libraryCloses && encoding === undefined && Object.keys(headers).length === 0;
  if (isPlain && writeJsonHeaders(res, head)) return;
  writeStandingHeaders(res, head, headers, libraryCloses);
  if (!bodiless) {
    if (headerValue(headers, 'content-type') === undefined)
      res.writeHeader('Content-Type', 'application/json');
    if (variesByEncoding(headers)) res.writeHeader('Vary', 'Accept-Encoding');
  }
  if (encoding !== undefined) res.writeHeader('Content-Encoding', encoding);
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') res.writeHeader(name, value);
    else for (const one of value) res.writeHeader(name, one);
  }
}
