import { readColumnFilter } from '../../read/filter.ts';
import type { HistogramReader } from '../../read/histogram.ts';
import { QueryParameters } from '../../read/parameters.ts';
import type { SessionHandler } from '../endpoint.ts';
import { ignoredParameters } from '../read-headers.ts';
import { jsonReply } from '../response.ts';

/**
 * GET /api/v1/portal/histogram: how many events succeeded and failed over time, under the filters of
 * events but for words. `meta.start` and `meta.end` are left out where neither the request nor an event gives them.
 */
export function histogramHandler(readHistogram: HistogramReader): SessionHandler {
  return async (context, { organization }) => {
    const parameters = new QueryParameters(context.query);
    const filter = readColumnFilter(parameters, organization);
    const histogram = await readHistogram(organization.id, filter, context.signal);
    return jsonReply(200, 'Histogram', histogram, ignoredParameters(parameters));
  };
}
