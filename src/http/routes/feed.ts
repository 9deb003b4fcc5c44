import { type FeedReader, readFeedRequest } from '../../read/feed.ts';
import { QueryParameters } from '../../read/parameters.ts';
import type { SharedHandler } from '../endpoint.ts';
import { ignoredParameters } from '../read-headers.ts';
import { replyOf } from '../response.ts';

/**
 * GET /api/v1/audit/feed: events in the order of ingest, none missed and none twice (contract: Read, feed). GET
 * /api/v1/portal/feed answers the same for a session.
 */
export function feedHandler(readFeed: FeedReader): SharedHandler {
  return async (context, { organization }) => {
    const parameters = new QueryParameters(context.query);
    const request = readFeedRequest(parameters, organization);
    const body = await readFeed(organization.id, request, context.signal);
    return replyOf(body, ignoredParameters(parameters));
  };
}
