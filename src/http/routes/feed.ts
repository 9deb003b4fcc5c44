import { type FeedReader, readFeedRequest } from '../../read/feed.ts';
import type { KeyCaller } from '../access.ts';
import { unauthorizedKey } from '../authenticate.ts';
import { type Reply, replyOf } from '../response.ts';
import type { RequestContext } from '../router.ts';

/** GET /api/v1/audit/feed: events in the order of ingest, none missed and none twice (contract: Read, feed). */
export function feedHandler(readFeed: FeedReader) {
  return async (context: RequestContext, { key }: KeyCaller): Promise<Reply> => {
    if (key.organizationId === undefined) throw unauthorizedKey();
    const request = readFeedRequest((name) => context.first(name), key.organizationId);
    return replyOf(await readFeed(key.organizationId, request, context.signal));
  };
}
