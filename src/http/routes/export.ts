import { type OrganizationLookup, organizationOfReader } from '../authenticate.ts';
import type { KeyHandler } from '../endpoint.ts';
import { type ExportDeps, exportReply } from '../export-reply.ts';

/** GET /api/v1/audit/export: every matching event as one file, streamed (contract: Read, export). */
export function exportHandler(
  deps: ExportDeps & { readonly organizationOf: OrganizationLookup },
): KeyHandler {
  return (context, { key }) =>
    exportReply(deps, context, { key }, organizationOfReader(key, deps.organizationOf));
}
