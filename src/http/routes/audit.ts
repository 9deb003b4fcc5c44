import { readPageRequest } from '../../read/filter.ts';
import type { PageReader } from '../../read/page.ts';
import { QueryParameters } from '../../read/parameters.ts';
import type { SharedHandler } from '../endpoint.ts';
import { ignoredParameters, pageLinks } from '../read-headers.ts';
import { replyOf } from '../response.ts';

/**
 * GET /api/v1/audit: a page of the organization's events, newest first (contract: Read, GET audit). GET
 * /api/v1/portal/events answers the same for a session.
 */
export function auditHandler(readPage: PageReader): SharedHandler {
  return async (context, { organization }) => {
    const parameters = new QueryParameters(context.query);
    const request = readPageRequest(parameters, organization);
    const body = await readPage(organization.id, request, context.signal);
    return replyOf(body, { ...ignoredParameters(parameters), ...pageLinks(context, request, body) });
  };
}
