import type { SessionHandler } from '../endpoint.ts';
import { type ExportDeps, exportReply } from '../export-reply.ts';

/** GET /api/v1/portal/export: what the export by key answers, for a session. */
export function portalExportHandler(deps: ExportDeps): SessionHandler {
  return (context, { user, organization }) => exportReply(deps, context, { user }, organization);
}
