import { limits } from './limits.ts';
import type { RequestHead } from './request.ts';
import type { UwsResponse } from './uws.ts';

/** How long browsers are told to use TLS only. */
const strictTransportSeconds = 365 * 24 * 3600;

/**
 * What every answer says to browsers and caches: data of an organization is kept by nobody, shown in no frame, run as
 * nothing and loaded by no other site. A route that needs something else, such as a page, sets the header itself.
 */
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

/**
 * All of them as one header whose value has the others behind it, line by line: what nearly every answer has. Nine
 * calls of the library cost 7 % of what this layer spends on a small answer, one costs 1 %.
 */
const usualName = 'X-Content-Type-Options';
const usualValue = lines([...standing, ...kept]);
/** Those of an answer in JSON that has no headers of its own. */
const usualJsonValue = lines([
  ...standing,
  ...kept,
  ['Content-Type', 'application/json'],
  ['Vary', 'Accept-Encoding'],
]);

function lines(headers: readonly (readonly [name: string, value: string])[]): string {
  return headers.map(([name, value]) => (name === usualName ? value : `${name}: ${value}`)).join('\r\n');
}

/** Writes the headers of an answer in JSON that has none of its own, where its connection stays open. */
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
 * Writes them, but for those that the reply has itself, and says how long the connection may be used again; not where the
 * library says that it closes it (`libraryCloses`).
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

/** Names in lower case, where the reply has one that would else be written here; most have none. */
function ownNames(headers: object | undefined): ReadonlySet<string> | undefined {
  const names = Object.keys(headers ?? {}).map((name) => name.toLowerCase());
  return names.some((name) => name === 'connection' || standingNames.has(name)) ? new Set(names) : undefined;
}
