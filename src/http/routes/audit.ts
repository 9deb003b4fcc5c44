import { readFilter, readPageRequest } from '../../read/filter.ts';
import type { PageReader } from '../../read/page.ts';
import type { SharedHandler } from '../endpoint.ts';
import { replyOf } from '../response.ts';

/**
 * GET /api/v1/audit: a page of the organization's events, newest first (contract: Read, GET audit). GET
 * /api/v1/portal/events answers the same for a session, under the filters of the portal.
 */
export function auditHandler(readPage: PageReader, filterOf = readFilter): SharedHandler {
  return async (context, { organization }) => {
    const request = readPageRequest((name) => context.first(name), organization, filterOf);
    return replyOf(await readPage(organization.id, request, context.signal));
  };
}
