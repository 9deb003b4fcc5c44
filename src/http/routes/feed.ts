import { type FeedReader, readFeedRequest } from '../../read/feed.ts';
import type { KeyCaller } from '../endpoint.ts';
import { unauthorizedKey } from '../authenticate.ts';
import { type Reply, replyOf } from '../response.ts';
import type { RequestContext } from '../router.ts';
import type { OrganizationLookup } from './ingest.ts';

/** GET /api/v1/audit/feed: events in the order of ingest, none missed and none twice (contract: Read, feed). */
export function feedHandler(readFeed: FeedReader, organizationOf: OrganizationLookup) {
  return async (context: RequestContext, { key }: KeyCaller): Promise<Reply> => {
    const organization = organizationOf(key.organizationId ?? '');
    if (organization === undefined) throw unauthorizedKey();
    const request = readFeedRequest((name) => context.first(name), organization);
    return replyOf(await readFeed(organization.id, request, context.signal));
  };
}
