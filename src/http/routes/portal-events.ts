import { readPageRequest, readPortalFilter } from '../../read/filter.ts';
import type { PageReader } from '../../read/page.ts';
import type { SessionHandler } from '../endpoint.ts';
import { replyOf } from '../response.ts';

/** GET /api/v1/portal/events: what the audit endpoint answers, for a session and under the filters of the portal. */
export function portalEventsHandler(readPage: PageReader): SessionHandler {
  return async (context, { organization }) => {
    const request = readPageRequest((name) => context.first(name), organization, readPortalFilter);
    return replyOf(await readPage(organization.id, request, context.signal));
  };
}
