import { readPortalFilter } from '../../read/filter.ts';
import type { HistogramReader } from '../../read/histogram.ts';
import type { SessionHandler } from '../endpoint.ts';
import { jsonReply } from '../response.ts';

/**
 * GET /api/v1/portal/histogram: how many events succeeded and failed over time, under the filters of the
 * portal. `meta.start` and `meta.end` are left out where neither the request nor an event gives them.
 */
export function histogramHandler(readHistogram: HistogramReader): SessionHandler {
  return async (context, { organization }) => {
    const filter = readPortalFilter((name) => context.first(name), organization);
    return jsonReply(200, 'Histogram', await readHistogram(organization.id, filter, context.signal));
  };
}
