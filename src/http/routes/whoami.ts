import { formatMicros } from '../../base/timestamp.ts';
import { effectiveRetentionDays } from '../../control/organizations.ts';
import type { Endpoint } from '../endpoint.ts';

/** GET /api/v1/portal/whoami: the signed-in user, its organization and its session (contract: Sessions). */
export function whoamiEndpoints({
  retentionDays,
}: {
  /** The service's default; undefined: events are kept for ever. */
  readonly retentionDays: number | undefined;
}): Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/portal/whoami',
      name: 'whoami',
      access: 'session',
      roles: ['admin', 'auditor', 'member'],
      handler: (_, { user, organization, session }) => ({
        status: 200,
        body: JSON.stringify({
          user: { id: user.id, name: user.name, email: user.email, role: user.role },
          organization: {
            id: organization.id,
            slug: organization.slug,
            name: organization.name,
            receipts: organization.receipts,
            retention_days: effectiveRetentionDays(organization, retentionDays),
          },
          session: { expires_at: formatMicros(session.expiresMicros) },
        }),
      }),
    },
  ];
}
