import { formatMicros } from '../../base/time/timestamp.ts';
import { effectiveRetentionDays } from '../../control/organizations.ts';
import { endSession } from '../../control/sessions.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { recordedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';

/** GET /api/v1/portal/whoami: user, organization and session (contract: Sessions). */
export function whoamiHandler({ config, clock }: EndpointDeps): SessionHandler {
  return (_, { user, organization, expiresMicros }) => {
    const { id, slug, name, receipts } = organization;
    const retention_days = effectiveRetentionDays(organization, config.retentionDays);
    return jsonReply(200, 'Whoami', {
      user: { id: user.id, name: user.name, email: user.email, role: user.role },
      organization: { id, slug, name, receipts, retention_days },
      session: { expires_at: formatMicros(expiresMicros) },
      time: formatMicros(clock()),
    });
  };
}

/** GET /api/v1/auth/token: the token of the session cookie (contract: Sessions). */
export const tokenHandler: SessionHandler = (_, { token }) => jsonReply(200, 'Token', { token });

/** POST /api/v1/auth/logout: ends the session and clears the cookie (contract: Sessions). */
export function logoutHandler(deps: EndpointDeps): SessionHandler {
  const { cookie } = deps;
  return async (context, session) => {
    await recordedChange(deps, context, session, endSession(session));
    return { status: 204, headers: { 'Set-Cookie': cookie.clear(context) } };
  };
}
