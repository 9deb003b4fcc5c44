import { type FeedReader, readFeedRequest } from '../../read/feed.ts';
import type { ReadHandler } from '../endpoint.ts';
import { replyOf } from '../response.ts';

/** GET /api/v1/audit/feed: events in the order of ingest, none missed and none twice (contract: Read, feed). */
export function feedHandler(readFeed: FeedReader): ReadHandler {
  return async (context, { organization }) => {
    const request = readFeedRequest((name) => context.first(name), organization);
    return replyOf(await readFeed(organization.id, request, context.signal));
  };
}
