import { STATUS_CODES } from 'node:http';
import type { ByteFlow } from '../base/bytes/byte-flow.ts';
import type { Answer, SchemaName } from '../contract/document.ts';
import { stringify } from '../contract/stringify.ts';
import { type Encoding, isCompressible, negotiateEncoding } from './encoding.ts';
import type { Exchange } from './exchange.ts';
import { writeJsonHeaders, writeStandingHeaders } from './standing-headers.ts';

/** An array is sent as several headers of the same name. */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface FixedReply {
  readonly status: number;
  readonly headers?: ReplyHeaders;
  readonly body?: string | Uint8Array;
  readonly release?: () => void;
}

/** The head goes out with the first byte: an earlier failure gives a problem, a later one breaks the connection. */
export interface StreamReply {
  readonly status: number;
  readonly headers?: ReplyHeaders;
  readonly stream: ByteFlow;
}

export type Reply = FixedReply | StreamReply;

export function fixedReply(
  body: { readonly bytes: Uint8Array; readonly release: () => void } | { readonly flow: ByteFlow },
  headers: ReplyHeaders = {},
): Reply {
  if ('flow' in body) return { status: 200, headers, stream: body.flow };
  return { status: 200, headers, body: body.bytes, release: body.release };
}

export const jsonLine = (text: string): string => `${text}\n`;

/** A JSON answer of a schema in the OpenAPI document; undefined members are left out. */
export function jsonReply<Name extends SchemaName>(
  status: number,
  schema: Name,
  value: Answer<Name>,
  headers: ReplyHeaders = {},
): FixedReply {
  return { status, headers, body: jsonLine(stringify(schema, value)) };
}

export function seeOther(location: string, headers: ReplyHeaders = {}): FixedReply {
  const type = 'text/plain; charset=utf-8';
  return { status: 303, headers: { ...headers, Location: location, 'Content-Type': type }, body: '' };
}

/** The words of RFC 9110; some are only in later versions of Node. */
const statusWords = { ...STATUS_CODES, 413: 'Content Too Large', 422: 'Unprocessable Content' };

function headerValue(headers: ReplyHeaders, name: string): string | undefined {
  const key = Object.keys(headers).find((one) => one.toLowerCase() === name);
  return key === undefined ? undefined : String(headers[key]);
}

/** Undefined if the reply is not compressible or already encoded. */
export function replyEncoding(exchange: Exchange, headers: ReplyHeaders = {}): Encoding | undefined {
  if (!variesByEncoding(headers)) return undefined;
  return negotiateEncoding(exchange.head.headers.get('accept-encoding'));
}

function variesByEncoding(headers: ReplyHeaders): boolean {
  if (headerValue(headers, 'content-encoding') !== undefined) return false;
  return isCompressible(headerValue(headers, 'content-type') ?? 'application/json');
}

/** Throws on a header value that could inject headers or a body. */
export function checkHeaders(headers: ReplyHeaders = {}): void {
  for (const [name, value] of Object.entries(headers)) {
    if (/[\r\n\0]/.test(String(value))) throw new Error(`the response header ${name} contains a line break`);
  }
}

export interface HeadOptions {
  readonly encoding?: Encoding | undefined;
  readonly bodiless?: boolean;
  /** The library closes the connection and announces it. */
  readonly libraryCloses?: boolean;
}

/** Status line and headers (already checked). Call it inside `cork`. */
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
