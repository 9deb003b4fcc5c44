import { limits } from '../../read/limits.ts';
import { readFilter, readLimit, readOffset } from '../../read/filter.ts';
import { QueryParameters } from '../../read/parameters.ts';
import type { SourceEventsReader } from '../../read/source-events.ts';
import type { SessionHandler } from '../endpoint.ts';
import { ignoredParameters } from '../read-headers.ts';
import { replyOf } from '../response.ts';

/**
 * GET /api/v1/portal/source-events: audit events as `portal/events` has them, each with what its producer sent. `limit`
 * is 10 when it is not given or invalid, 100 at most.
 */
export function sourceEventsHandler(readSourceEvents: SourceEventsReader): SessionHandler {
  return async (context, { organization }) => {
    const parameters = new QueryParameters(context.query);
    const filter = readFilter(parameters, organization);
    const limit = readLimit(parameters, limits.sourceEventsDefault, limits.sourceEventsMax);
    const offset = readOffset(parameters);
    const body = await readSourceEvents(organization.id, { filter, limit, offset }, context.signal);
    return replyOf(body, ignoredParameters(parameters));
  };
}
