import type { SessionHandler } from '../endpoint.ts';
import { jsonReply } from '../response.ts';
import { settingsView } from '../views.ts';

/** GET /api/v1/portal/settings: name, retention and receipts policy of the organization (contract: portal). */
export function settingsHandler(retentionDays: number | undefined): SessionHandler {
  return (_, { organization }) => jsonReply(200, 'Settings', settingsView(organization, retentionDays));
}
