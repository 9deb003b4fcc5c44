import { limits } from '../limits.ts';
import type { Administration } from '../../control/administration.ts';
import { changeOfOrganization, retentionText } from '../../control/change-events.ts';
import {
  effectiveRetentionDays,
  type Organization,
  type OrganizationSettings,
} from '../../control/organizations.ts';
import type { Endpoint } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { type ChangeDeps, recordedChange } from '../recorded-change.ts';

export interface SettingsDeps extends ChangeDeps {
  readonly administration: Administration;
  /** The service's default; undefined: events are kept for ever. */
  readonly retentionDays: number | undefined;
}

const settingsSchema = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: {
    name: { type: 'string' },
    retention: { type: 'string' },
    receipts: { enum: ['own', 'off'] },
  },
} as const;

const path = '/api/v1/portal/settings';

/** GET and PATCH /api/v1/portal/settings: name, retention and receipts policy of the organization, for its administrators. */
export function settingsEndpoints(deps: SettingsDeps): Endpoint[] {
  const view = (organization: Organization): string => {
    const { id, slug, name, receipts } = organization;
    const retention = retentionText(organization);
    const retention_days = effectiveRetentionDays(organization, deps.retentionDays);
    return JSON.stringify({ id, slug, name, retention, retention_days, receipts });
  };
  return [
    {
      method: 'GET',
      path,
      name: 'settings',
      access: 'session',
      roles: ['admin'],
      handler: (_, { organization }) => ({ status: 200, body: view(organization) }),
    },
    {
      method: 'PATCH',
      path,
      name: 'change settings',
      access: 'session',
      roles: ['admin'],
      changes: true,
      body: { maxBytes: limits.jsonBodyBytesMax },
      handler: async (context, caller) => {
        const settings = await readJson<OrganizationSettings>(context, settingsSchema);
        const changed = await recordedChange(deps, context, caller, async () => {
          const { before, now } = await deps.administration.changeSettings(caller.organization.id, settings);
          const changes = before === now ? [] : [changeOfOrganization(now, 'organizationUpdated', before)];
          return { result: now, changes };
        });
        return { status: 200, body: view(changed) };
      },
    },
  ];
}
