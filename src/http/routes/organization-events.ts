import { type LegacyReader, readLegacyRequest } from '../../read/legacy.ts';
import { QueryParameters } from '../../read/parameters.ts';
import type { SessionHandler } from '../endpoint.ts';
import { ignoredParameters } from '../read-headers.ts';

/**
 * GET /api/v1/dashboard/organization/get-events-in-org: the organization's events as their producers sent them,
 * newest first, streamed (contract: Read, get-events-in-org). A self-hosted deployment does not have it.
 */
export function organizationEventsHandler(readLegacy: LegacyReader): SessionHandler {
  return async (context, { organization }) => {
    const parameters = new QueryParameters(context.query);
    const request = readLegacyRequest(parameters);
    const stream = await readLegacy(organization.id, request, context.signal);
    return { status: 200, headers: ignoredParameters(parameters), stream };
  };
}
