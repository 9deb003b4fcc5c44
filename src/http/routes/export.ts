import { organizationOfReader } from '../authenticate.ts';
import type { EndpointDeps } from '../deps.ts';
import type { KeyHandler } from '../endpoint.ts';
import { exportReply } from '../export-reply.ts';

/** GET /api/v1/audit/export: every matching event as one file, streamed (contract: Read, export). */
export function exportHandler(deps: EndpointDeps): KeyHandler {
  return (context, { key }) =>
    exportReply(deps, context, { key }, organizationOfReader(key, deps.organizationOf));
}
