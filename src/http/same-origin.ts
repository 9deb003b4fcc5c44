import { Problem } from '../base/problem.ts';
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

/** Of a request known to be over TLS only the TLS origin counts: anybody on the way can make a page of the other. */
function isOwnOrigin(origin: string, context: RequestContext): boolean {
  const [, scheme, host] = /^(https?):\/\/([^/]+)$/.exec(origin.toLowerCase()) ?? [];
  if (host === undefined || (context.head.secure && scheme !== 'https')) return false;
  // Browsers leave the scheme's own port out of an origin; proxies may write it into Host.
  const ownPort = scheme === 'https' ? /:443$/ : /:80$/;
  return host.replace(ownPort, '') === context.header('host')?.toLowerCase().replace(ownPort, '');
}
