import { limits } from '../limits.ts';
import { readColumnFilter, readLimit } from '../../read/filter.ts';
import type { TopValuesReader } from '../../read/top-values.ts';
import { QueryParameters } from '../../read/parameters.ts';
import type { SessionHandler } from '../endpoint.ts';
import { ignoredParameters } from '../read-headers.ts';
import { jsonReply } from '../response.ts';

/**
 * GET /api/v1/portal/top-values: the most frequent activities, actors and severities, under the filters of the
 * portal. `limit` bounds each list: 10 when it is not given or invalid, 100 at most. An actor without a display
 * name has no `name`.
 */
export function topValuesHandler(readTopValues: TopValuesReader): SessionHandler {
  return async (context, { organization }) => {
    const parameters = new QueryParameters(context.query);
    const filter = readColumnFilter(parameters, organization);
    const limit = readLimit(parameters, limits.topValuesDefault, limits.topValuesMax);
    const data = await readTopValues(organization.id, filter, limit, context.signal);
    return jsonReply(200, 'TopValues', { data, meta: { limit } }, ignoredParameters(parameters));
  };
}
