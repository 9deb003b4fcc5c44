import type { SessionHandler, SharedHandler } from '../endpoint.ts';
import { ignoredParameters, pageLinks } from '../read-headers.ts';
import { jsonReply, fixedReply } from '../response.ts';
import { type FeedReader, readFeedRequest } from '../../read/feed.ts';
import {
  onSide,
  readColumnFilter,
  readFilter,
  readLimit,
  readOffset,
  readPageRequest,
  readPlace,
  readRowsRequest,
} from '../../read/filter.ts';
import type { HistogramReader } from '../../read/histogram.ts';
import { type LegacyReader, readLegacyRequest } from '../../read/legacy.ts';
import type { PageReader } from '../../read/page.ts';
import { QueryParameters } from '../../read/parameters.ts';
import type { RowsReader } from '../../read/rows.ts';
import type { SourceEventsReader } from '../../read/source-events.ts';
import type { TopFilesReader } from '../../read/top-files.ts';
import type { TopValuesReader } from '../../read/top-values.ts';

const topValuesDefault = 10;
const topValuesMax = 100;
const sourceEventsDefault = 10;
const sourceEventsMax = 100;

/** Sessions call it /api/v1/portal/events. */
export function auditHandler(readPage: PageReader): SharedHandler {
  return async (context, { organization }) => {
    const parameters = new QueryParameters(context.query);
    const request = readPageRequest(parameters, organization);
    const body = await readPage(organization.id, request, context.signal);
    return fixedReply(body, { ...ignoredParameters(parameters), ...pageLinks(context, request, body) });
  };
}

export function feedHandler(readFeed: FeedReader): SharedHandler {
  return async (context, { organization }) => {
    const parameters = new QueryParameters(context.query);
    const request = readFeedRequest(parameters, organization);
    const body = await readFeed(organization.id, request, context.signal);
    return fixedReply(body, ignoredParameters(parameters));
  };
}

export function rowsHandler(readRows: RowsReader): SessionHandler {
  return async (context, { organization }) => {
    const parameters = new QueryParameters(context.query);
    const request = readRowsRequest(parameters, organization);
    const rows = await readRows(organization.id, request, context.signal);
    return jsonReply(200, 'Rows', rows, ignoredParameters(parameters));
  };
}

/** `limit` is 10 by default, 100 at most. `from` is a position, as for rows. */
export function sourceEventsHandler(readSourceEvents: SourceEventsReader): SessionHandler {
  return async (context, { organization }) => {
    const parameters = new QueryParameters(context.query);
    const given = readFilter(parameters, organization);
    const from = parameters.read('from', readPlace);
    const filter = from === undefined ? given : onSide(given, from, { isOlder: true, isIn: true });
    const limit = readLimit(parameters, sourceEventsDefault, sourceEventsMax);
    const offset = readOffset(parameters);
    const body = await readSourceEvents(organization.id, { filter, limit, offset }, context.signal);
    return fixedReply(body, ignoredParameters(parameters));
  };
}

/** A self-hosted deployment does not have it (contract: Read, get-events-in-org). */
export function organizationEventsHandler(readLegacy: LegacyReader): SessionHandler {
  return async (context, { organization }) => {
    const parameters = new QueryParameters(context.query);
    const request = readLegacyRequest(parameters);
    const stream = await readLegacy(organization.id, request, context.signal);
    return { status: 200, headers: ignoredParameters(parameters), stream };
  };
}

/**
 * `meta.start` and `meta.end` are absent if neither the request nor an event gives them. `compare=previous` adds the range
 * before.
 */
export function histogramHandler(readHistogram: HistogramReader): SharedHandler {
  return async (context, { organization }) => {
    const parameters = new QueryParameters(context.query);
    const filter = readColumnFilter(parameters, organization);
    const compares = parameters.read('compare', (text) => (text === 'previous' ? true : undefined)) ?? false;
    const histogram = await readHistogram(organization.id, filter, compares, context.signal);
    return jsonReply(200, 'Histogram', histogram, ignoredParameters(parameters));
  };
}

/** `limit` bounds each list: 10 by default, 100 at most. An actor without a display name has no `name`. */
export function topValuesHandler(readTopValues: TopValuesReader): SharedHandler {
  return async (context, { organization }) => {
    const parameters = new QueryParameters(context.query);
    const filter = readColumnFilter(parameters, organization);
    const limit = readLimit(parameters, topValuesDefault, topValuesMax);
    const data = await readTopValues(organization.id, filter, limit, context.signal);
    return jsonReply(200, 'TopValues', { data, meta: { limit } }, ignoredParameters(parameters));
  };
}

/** The sum of the sizes of each file; `limit` as for top-values. */
export function topFilesHandler(readTopFiles: TopFilesReader): SharedHandler {
  return async (context, { organization }) => {
    const parameters = new QueryParameters(context.query);
    const filter = readColumnFilter(parameters, organization);
    const limit = readLimit(parameters, topValuesDefault, topValuesMax);
    const data = await readTopFiles(organization.id, filter, limit, context.signal);
    return jsonReply(200, 'TopFiles', { data, meta: { limit } }, ignoredParameters(parameters));
  };
}
