import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { selfAuditOrigin } from '../self-audit.ts';
import { loggedOut } from '../self-audit-events.ts';

/** POST /api/v1/auth/logout: ends the session and clears the cookie (contract: Sessions). */
export function logoutHandler({ sessions, cookie, selfAudit }: EndpointDeps): SessionHandler {
  return async (context, session) => {
    await sessions.end(session);
    await selfAudit.recordAfter(loggedOut(session.user), selfAuditOrigin(context));
    return { status: 204, headers: { 'Set-Cookie': cookie.clear(context) } };
  };
}
