import { Problem } from '../base/errors/problem.ts';
import type { RequestContext } from './request-context.ts';

/**
 * Throws Problem `forbidden` or `unsupported_media` (contract: Sessions): a form has another Content-Type, a script needs a
 * preflight, and browsers send the origin.
 */
export function requireSameOriginJson(context: RequestContext): void {
  const origin = context.header('origin');
  if (origin !== undefined && !isOwnOrigin(origin, context)) {
    throw new Problem('forbidden', 'The Origin differs from the host of this request.');
  }
  const type = (context.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    throw new Problem('unsupported_media', 'Content-Type must be application/json.', {
      headers: { Accept: 'application/json' },
    });
  }
}

/**
 * Throws Problem `forbidden` on a read caused by another site, because it may be recorded in the user's name (contract:
 * Sessions). Browsers send `Sec-Fetch-Site` only over TLS, and old ones never; then the page's own links send a `Referer`.
 * Programs do not accept `text/html`, and pass.
 */
export function requireOwnSite(context: RequestContext): void {
  const site = context.header('sec-fetch-site');
  const source = context.header('origin') ?? parseOrigin(context.header('referer'));
  const isNavigation = (context.header('accept') ?? '').toLowerCase().includes('text/html');
  const isOwn =
    site === undefined
      ? source === undefined
        ? !isNavigation
        : isOwnOrigin(source, context)
      : site === 'same-origin' || site === 'none';
  if (!isOwn) throw new Problem('forbidden', 'A page of another site caused this request.');
}

function parseOrigin(referer: string | undefined): string | undefined {
  if (referer === undefined) return undefined;
  return URL.canParse(referer) ? new URL(referer).origin : 'null';
}

/** A TLS request needs the TLS origin: anybody on the network can forge a plain page. */
function isOwnOrigin(origin: string, context: RequestContext): boolean {
  const [, scheme, host] = /^(https?):\/\/([^/]+)$/.exec(origin.toLowerCase()) ?? [];
  if (host === undefined || (context.head.secure && scheme !== 'https')) return false;
  // Browsers omit the scheme's default port in an origin; proxies may add it to Host.
  const ownPort = scheme === 'https' ? /:443$/ : /:80$/;
  return host.replace(ownPort, '') === context.header('host')?.toLowerCase().replace(ownPort, '');
}
