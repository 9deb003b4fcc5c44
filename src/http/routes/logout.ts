import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { trailOrigin } from '../trail.ts';
import { loggedOut } from '../trail-events.ts';

/** POST /api/v1/auth/logout: ends the session and clears the cookie (contract: Sessions). */
export function logoutHandler({ sessions, cookie, trail }: EndpointDeps): SessionHandler {
  return async (context, session) => {
    await sessions.end(session);
    await trail.recordAfter(loggedOut(session.user), trailOrigin(context));
    return { status: 204, headers: { 'Set-Cookie': cookie.clear(context) } };
  };
}
