import type { Problem } from '../base/errors/problem.ts';
import { randomUUID } from 'node:crypto';
import { addressText, clientAddress, type HeaderMap } from './client-address.ts';
import type { UwsRequest, UwsResponse } from './uws.ts';

const requestIdCharactersMax = 128;

/** What the request announces of its body. `invalid`: Content-Length is repeated or not a plain number. */
export type BodyAnnouncement =
  | { readonly kind: 'none' }
  | { readonly kind: 'sized'; readonly bytes: number }
  /** `isPlain`: in chunks and in no other coding. */
  | { readonly kind: 'chunked'; readonly isPlain: boolean }
  | { readonly kind: 'invalid' };

/** All of a request but its body, copied out of the library's request object, which dies with the first await. */
export interface RequestHead {
  readonly requestId: string;
  /** As sent, normally upper case. */
  readonly method: string;
  /** Path as sent, without the query string. */
  readonly rawPath: string;
  /** Percent-decoded; the raw path where the encoding is broken. May hold any character. */
  readonly path: string;
  readonly rawQuery: string;
  /** Names in lower case; repeated headers joined with `, ` (but see `separators`). */
  readonly headers: HeaderMap;
  readonly ip: string;
  readonly port: string;
  /** True over TLS, be it ours or, as a trusted proxy says, the one that the client spoke to it. */
  readonly secure: boolean;
  /** The client has shown a certificate of TLS_CLIENT_CA. */
  readonly certified: boolean;
  readonly announcedBody: BodyAnnouncement;
  /** Proxies in front may have gone by another one than we would. */
  readonly hasSeveralHosts: boolean;
}

interface WordedProblem {
  readonly status: number;
  /** Media type of the body. */
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How an error is worded. */
export type ProblemForm = (problem: Problem, head: RequestHead) => WordedProblem;

/** How the connections of a server are to be understood. */
export interface TransportFacts {
  /** Number of proxy hops whose forwarding headers are believed. */
  readonly trustProxy: number;
  /** Connections are TLS. */
  readonly tls?: boolean;
  /** Clients are asked for a certificate. */
  readonly asksCertificate?: boolean;
}

const requestIdPattern = new RegExp(`^[A-Za-z0-9._-]{1,${requestIdCharactersMax}}$`);

function decodePath(rawPath: string): string {
  if (!rawPath.includes('%')) return rawPath;
  try {
    return decodeURIComponent(rawPath);
  } catch (error) {
    if (error instanceof URIError) return rawPath;
    throw error;
  }
}

/** What repeated headers are joined with. No Idempotency-Key can have a line break, so two can be told from one. */
const separators: Readonly<Record<string, string>> = { cookie: '; ', 'idempotency-key': '\n' };

function copyHeaders(req: UwsRequest): { headers: HeaderMap; hasSeveralHosts: boolean } {
  const headers = new Map<string, string>();
  let hasSeveralHosts = false;
  req.forEach((name, value) => {
    const before = headers.get(name);
    if (before !== undefined && name === 'host') hasSeveralHosts = true;
    headers.set(name, before === undefined ? value : `${before}${separators[name] ?? ', '}${value}`);
  });
  return { headers, hasSeveralHosts };
}

function bodyAnnouncement(headers: HeaderMap): BodyAnnouncement {
  const coding = headers.get('transfer-encoding');
  // By letters of ASCII, where `toLowerCase` would know others: a coding must mean the same to all on the way.
  if (coding !== undefined) return { kind: 'chunked', isPlain: /^chunked$/i.test(coding) };
  const text = headers.get('content-length');
  if (text === undefined || text === '0') return { kind: 'none' };
  const bytes = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(bytes)) return { kind: 'invalid' };
  return bytes === 0 ? { kind: 'none' } : { kind: 'sized', bytes };
}

/** Copies a request; call it before anything asynchronous. A usable X-Request-Id of the client is kept. */
export function readHead(res: UwsResponse, req: UwsRequest, facts: TransportFacts): RequestHead {
  const { headers, hasSeveralHosts } = copyHeaders(req);
  const rawPath = req.getUrl();
  const transport = {
    ip: addressText(res.getRemoteAddress()),
    port: res.getRemotePort === undefined ? '0' : String(res.getRemotePort()),
    secure: facts.tls === true,
  };
  const { ip, port, secure } = clientAddress(transport, headers, facts.trustProxy);
  const sentId = headers.get('x-request-id');
  return {
    requestId: sentId !== undefined && requestIdPattern.test(sentId) ? sentId : randomUUID(),
    method: req.getCaseSensitiveMethod(),
    rawPath,
    path: decodePath(rawPath),
    rawQuery: req.getQuery() ?? '',
    headers,
    ip,
    port,
    secure,
    // One that no authority there has issued does not get through the handshake; the library lets in who shows none.
    certified: facts.asksCertificate === true && res.getX509Certificate() !== '',
    announcedBody: bodyAnnouncement(headers),
    hasSeveralHosts,
  };
}
