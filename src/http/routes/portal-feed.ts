import { type FeedReader, readFeedRequest } from '../../read/feed.ts';
import { readPortalFilter } from '../../read/filter.ts';
import type { SessionHandler } from '../endpoint.ts';
import { replyOf } from '../response.ts';

/** GET /api/v1/portal/feed: what the feed answers to a key, for a session and under the filters of the portal. */
export function portalFeedHandler(readFeed: FeedReader): SessionHandler {
  return async (context, { organization }) => {
    const request = readFeedRequest((name) => context.first(name), organization, readPortalFilter);
    return replyOf(await readFeed(organization.id, request, context.signal));
  };
}
