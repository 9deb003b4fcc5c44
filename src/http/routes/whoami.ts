import { formatMicros } from '../../base/time/timestamp.ts';
import { effectiveRetentionDays } from '../../control/organizations.ts';
import type { SessionHandler } from '../endpoint.ts';
import { jsonReply } from '../response.ts';

/**
 * GET /api/v1/portal/whoami: the signed-in user, its organization and its session (contract: Sessions).
 * `defaultDays` is the service's retention; undefined: events are kept for ever.
 */
export function whoamiHandler(defaultDays: number | undefined): SessionHandler {
  return (_, { user, organization, expiresMicros }) => {
    const { id, slug, name, receipts } = organization;
    const retention_days = effectiveRetentionDays(organization, defaultDays);
    return jsonReply(200, 'Whoami', {
      user: { id: user.id, name: user.name, email: user.email, role: user.role },
      organization: { id, slug, name, receipts, retention_days },
      session: { expires_at: formatMicros(expiresMicros) },
    });
  };
}
