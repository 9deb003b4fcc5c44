import type { Problem } from '../base/errors/problem.ts';
import { randomUUID } from 'node:crypto';
import { addressText, clientAddress, type HeaderMap } from './client-address.ts';
import type { UwsRequest, UwsResponse } from './uws.ts';

const requestIdCharactersMax = 128;

/** Announced body. `invalid`: Content-Length is repeated or not a plain number. */
export type BodyAnnouncement =
  | { readonly kind: 'none' }
  | { readonly kind: 'sized'; readonly bytes: number }
  /** `isPlain`: chunked and no other coding. */
  | { readonly kind: 'chunked'; readonly isPlain: boolean }
  | { readonly kind: 'invalid' };

/** Copied from the library's object, which is invalid after the first await. */
export interface RequestHead {
  readonly requestId: string;
  readonly method: string;
  /** Without the query string. */
  readonly rawPath: string;
  /** Raw if the encoding is broken. May contain any character. */
  readonly path: string;
  readonly rawQuery: string;
  /** Names in lower case; repeated headers joined with `, ` (but see `separators`). */
  readonly headers: HeaderMap;
  readonly ip: string;
  readonly port: string;
  /** True over TLS, ours or a trusted proxy's. */
  readonly secure: boolean;
  /** The client presented a certificate of TLS_CLIENT_CA. */
  readonly certified: boolean;
  readonly announcedBody: BodyAnnouncement;
  /** Proxies in front may have chosen another one. */
  readonly hasSeveralHosts: boolean;
}

interface WordedProblem {
  readonly status: number;
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export type ProblemForm = (problem: Problem, head: RequestHead) => WordedProblem;

export interface TransportFacts {
  /** Number of proxy hops whose forwarding headers are trusted. */
  readonly trustProxy: number;
  readonly tls?: boolean;
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

/** Separators of joined headers. No Idempotency-Key can contain a line break, so two differ from one. */
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
  // ASCII case only (`toLowerCase` maps more letters): every hop must read a coding alike.
  if (coding !== undefined) return { kind: 'chunked', isPlain: /^chunked$/i.test(coding) };
  const text = headers.get('content-length');
  if (text === undefined || text === '0') return { kind: 'none' };
  const bytes = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(bytes)) return { kind: 'invalid' };
  return bytes === 0 ? { kind: 'none' } : { kind: 'sized', bytes };
}

/** Copies a request; call it before any await. A usable X-Request-Id of the client is kept. */
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
    // The handshake rejects a certificate of another authority, but accepts none at all.
    certified: facts.asksCertificate === true && res.getX509Certificate() !== '',
    announcedBody: bodyAnnouncement(headers),
    hasSeveralHosts,
  };
}
