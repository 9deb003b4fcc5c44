import { type Organization, updateOrganization } from '../../control/organizations.ts';
import { removalView } from '../../control/planned-removals.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { preparedChange } from '../recorded-change.ts';
import { jsonReply } from '../response.ts';
import { settingsView } from '../views.ts';

export function settingsHandler(deps: EndpointDeps): SessionHandler {
  return async (_, { organization }) => jsonReply(200, 'Settings', await settingsReply(deps, organization));
}

async function settingsReply({ retention, config }: EndpointDeps, organization: Organization) {
  const removal = await retention.planned(organization.id);
  return { ...settingsView(organization, config.retentionDays), ...removalView(removal) };
}

export function changeSettingsHandler(deps: EndpointDeps): SessionHandler {
  return async (context, caller) => {
    const { confirm_removal: confirmed, ...settings } = await readJson(context, 'SettingsChange');
    const { id } = caller.organization;
    const { now } = await preparedChange(deps, context, caller, async () =>
      updateOrganization(id, settings, await deps.retention.of(id, settings, confirmed)),
    );
    return jsonReply(200, 'Settings', await settingsReply(deps, now));
  };
}
