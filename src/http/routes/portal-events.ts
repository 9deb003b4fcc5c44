import { readPageRequest } from '../../read/filter.ts';
import type { PageReader } from '../../read/page.ts';
import type { SessionCaller } from '../endpoint.ts';
import { type Reply, replyOf } from '../response.ts';
import type { RequestContext } from '../router.ts';

/** GET /api/v1/portal/events: what the audit endpoint answers, for a session instead of a key. */
export function portalEventsHandler(readPage: PageReader) {
  return async (context: RequestContext, { organization }: SessionCaller): Promise<Reply> => {
    const request = readPageRequest((name) => context.first(name), organization);
    const page = await readPage(organization.id, request, context.signal);
    return replyOf(page);
  };
}
