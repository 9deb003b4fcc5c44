import { readFilter } from '../../read/filter.ts';
import { type FeedReader, readFeedRequest } from '../../read/feed.ts';
import type { SharedHandler } from '../endpoint.ts';
import { replyOf } from '../response.ts';

/**
 * GET /api/v1/audit/feed: events in the order of ingest, none missed and none twice (contract: Read, feed). GET
 * /api/v1/portal/feed answers the same for a session, under the filters of the portal.
 */
export function feedHandler(readFeed: FeedReader, filterOf = readFilter): SharedHandler {
  return async (context, { organization }) => {
    const request = readFeedRequest((name) => context.first(name), organization, filterOf);
    return replyOf(await readFeed(organization.id, request, context.signal));
  };
}
