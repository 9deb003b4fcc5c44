import type { Sessions } from '../../control/sessions.ts';
import type { SessionHandler } from '../endpoint.ts';
import type { SessionCookie } from '../session-cookie.ts';
import { type Trail, trailOrigin } from '../trail.ts';
import { loggedOut } from '../trail-events.ts';

export interface LogoutDeps {
  readonly sessions: Sessions;
  readonly cookie: SessionCookie;
  readonly trail: Trail;
}

/** POST /api/v1/auth/logout: ends the session and clears the cookie (contract: Sessions). */
export function logoutHandler({ sessions, cookie, trail }: LogoutDeps): SessionHandler {
  return async (context, session) => {
    await sessions.end(session);
    await trail.recordAfter(loggedOut(session.user), trailOrigin(context));
    return { status: 204, headers: { 'Set-Cookie': cookie.clear(context) } };
  };
}
