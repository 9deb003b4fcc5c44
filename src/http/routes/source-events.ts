import { limits } from '../../read/limits.ts';
import { readLimit, readOffset, readPortalFilter } from '../../read/filter.ts';
import type { PageReader } from '../../read/page.ts';
import type { SessionHandler } from '../endpoint.ts';
import { replyOf } from '../response.ts';

/**
 * GET /api/v1/portal/source-events: audit events as `portal/events` has them, each with what its producer sent. `limit`
 * is 10 when it is not given or invalid, 100 at most.
 */
export function sourceEventsHandler(readSourceEvents: PageReader): SessionHandler {
  return async (context, { organization }) => {
    const filter = readPortalFilter((name) => context.first(name), organization);
    const limit = readLimit(context.first('limit'), limits.sourceEventsDefault, limits.sourceEventsMax);
    const offset = readOffset(context.first('offset'));
    return replyOf(await readSourceEvents(organization.id, { filter, limit, offset }, context.signal));
  };
}
