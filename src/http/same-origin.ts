import { Problem } from '../base/errors/problem.ts';
import type { RequestContext } from './request-context.ts';

/**
 * Throws Problem `forbidden` or `unsupported_media` on what a page of another site can send with the cookie: a form
 * has another Content-Type, a script's request is asked about first, and a browser names the origin (contract:
 * Sessions).
 */
export function requireSameOriginJson(context: RequestContext): void {
  const origin = context.header('origin');
  if (origin !== undefined && !isOwnOrigin(origin, context)) {
    throw new Problem('forbidden', 'The Origin of this request is not the host that it is sent to.');
  }
  const type = (context.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    throw new Problem('unsupported_media', 'Content-Type must be application/json.', {
      headers: { Accept: 'application/json' },
    });
  }
}

/**
 * Throws Problem `forbidden` on a read with the cookie that a page of another site has caused: a browser sends the cookie
 * when such a page sends it here, and what is answered may be recorded in the user's name (contract: Sessions).
 *
 * Browsers tell by `Sec-Fetch-Site`, but to hosts without TLS, and old ones, do not. There the page's own links name it as
 * `Referer`; a navigation that names nothing may come from anywhere. Programs ask for no `text/html`, and pass.
 */
export function requireOwnSite(context: RequestContext): void {
  const site = context.header('sec-fetch-site');
  const source = context.header('origin') ?? originOf(context.header('referer'));
  const isNavigation = (context.header('accept') ?? '').toLowerCase().includes('text/html');
  const isOwn =
    site === undefined
      ? source === undefined
        ? !isNavigation
        : isOwnOrigin(source, context)
      : site === 'same-origin' || site === 'none';
  if (!isOwn) throw new Problem('forbidden', 'This request was caused by a page of another site.');
}

/** Where a page is; what is no address is the origin of nothing. */
function originOf(referer: string | undefined): string | undefined {
  if (referer === undefined) return undefined;
  return URL.canParse(referer) ? new URL(referer).origin : 'null';
}

/** A request over TLS must come from the TLS origin: anybody on the way can make a page of the other one. */
function isOwnOrigin(origin: string, context: RequestContext): boolean {
  const [, scheme, host] = /^(https?):\/\/([^/]+)$/.exec(origin.toLowerCase()) ?? [];
  if (host === undefined || (context.head.secure && scheme !== 'https')) return false;
  // Browsers leave the scheme's own port out of an origin; proxies may write it into Host.
  const ownPort = scheme === 'https' ? /:443$/ : /:80$/;
  return host.replace(ownPort, '') === context.header('host')?.toLowerCase().replace(ownPort, '');
}
