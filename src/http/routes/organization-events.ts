import { type LegacyReader, readLegacyRequest } from '../../read/legacy.ts';
import type { SessionHandler } from '../endpoint.ts';

/**
 * GET /api/v1/dashboard/organization/get-events-in-org: the organization's events as their producers sent them,
 * newest first, streamed (contract: Read, get-events-in-org). A self-hosted deployment does not have it.
 */
export function organizationEventsHandler(readLegacy: LegacyReader): SessionHandler {
  return async (context, { organization }) => {
    const request = readLegacyRequest((name) => context.first(name));
    return { status: 200, stream: await readLegacy(organization.id, request, context.signal) };
  };
}
