import { formatMicros } from '../../base/time/timestamp.ts';
import { effectiveRetentionDays } from '../../control/organizations.ts';
import { endSession } from '../../control/sessions.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { recordedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';

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

export const tokenHandler: SessionHandler = (_, { token }) => jsonReply(200, 'Token', { token });

export function logoutHandler(deps: EndpointDeps): SessionHandler {
  const { cookie } = deps;
  return async (context, session) => {
    await recordedChange(deps, context, session, endSession(session));
    return { status: 204, headers: { 'Set-Cookie': cookie.clear(context) } };
  };
}
