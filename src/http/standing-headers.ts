import { limits } from './limits.ts';
import type { RequestHead } from './request.ts';
import type { UwsResponse } from './uws.ts';

const strictTransportSeconds = 365 * 24 * 3600;

/** No caching, framing, execution or loading by other sites. A route that needs another value sets it itself. */
const standing: readonly (readonly [name: string, value: string])[] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  ['Referrer-Policy', 'no-referrer'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  [
    'Permissions-Policy',
    'camera=(), display-capture=(), fullscreen=(), geolocation=(), microphone=(), payment=(), usb=()',
  ],
  ['Cache-Control', 'no-store'],
];
const standingNames = new Set(standing.map(([name]) => name.toLowerCase()));

const strictTransport = `max-age=${strictTransportSeconds}`;
const kept: readonly (readonly [name: string, value: string])[] = [
  ['Connection', 'keep-alive'],
  ['Keep-Alive', `timeout=${limits.keepAliveHintSeconds}`],
];

/** Its value contains the others line by line: nine calls of the library cost 7 % of a small answer's time, one costs 1 %. */
const usualName = 'X-Content-Type-Options';
const usualValue = lines([...standing, ...kept]);
const usualJsonValue = lines([
  ...standing,
  ...kept,
  ['Content-Type', 'application/json'],
  ['Vary', 'Accept-Encoding'],
]);

function lines(headers: readonly (readonly [name: string, value: string])[]): string {
  return headers.map(([name, value]) => (name === usualName ? value : `${name}: ${value}`)).join('\r\n');
}

/** For a JSON answer without its own headers, on a connection that stays open. */
export function writeJsonHeaders(res: UwsResponse, head: RequestHead): boolean {
  if (closes(head)) return false;
  res.writeHeader(usualName, usualJsonValue);
  writeStrictTransport(res, head);
  return true;
}

function closes({ headers }: RequestHead): boolean {
  return headers.get('connection')?.toLowerCase().includes('close') === true;
}

function writeStrictTransport(res: UwsResponse, { secure }: RequestHead): void {
  if (secure) res.writeHeader('Strict-Transport-Security', strictTransport);
}

/**
 * Except those that the reply sets; without the idle time if the library closes the connection
 * (`libraryCloses`).
 */
export function writeStandingHeaders(
  res: UwsResponse,
  head: RequestHead,
  headers: object | undefined,
  libraryCloses: boolean,
): void {
  const own = ownNames(headers);
  const isClosed = closes(head);
  if (own === undefined && !isClosed && !libraryCloses) res.writeHeader(usualName, usualValue);
  else writeOneByOne(res, own ?? new Set(), isClosed, libraryCloses);
  writeStrictTransport(res, head);
}

function writeOneByOne(
  res: UwsResponse,
  own: ReadonlySet<string>,
  closes: boolean,
  libraryCloses: boolean,
): void {
  for (const [name, value] of standing) {
    if (!own.has(name.toLowerCase())) res.writeHeader(name, value);
  }
  if (own.has('connection') || (libraryCloses && !closes)) return;
  for (const [name, value] of closes ? [['Connection', 'close'] as const] : kept)
    res.writeHeader(name, value);
}

/** The reply's own names that would be written here, in lower case; most replies have none. */
function ownNames(headers: object | undefined): ReadonlySet<string> | undefined {
  const names = Object.keys(headers ?? {}).map((name) => name.toLowerCase());
  return names.some((name) => name === 'connection' || standingNames.has(name)) ? new Set(names) : undefined;
}
