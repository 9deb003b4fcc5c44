import type { EndpointDeps } from '../deps.ts';
import type { SessionHandler } from '../endpoint.ts';
import { exportReply } from '../export-reply.ts';

/** GET /api/v1/portal/export: what the export by key answers, for a session. */
export function portalExportHandler(deps: EndpointDeps): SessionHandler {
  return (context, { user, organization }) => exportReply(deps, context, { user }, organization);
}
