import { Problem } from '../../base/problem.ts';
import { type LegacyReader, readLegacyRequest } from '../../read/legacy.ts';
import type { SessionCaller } from '../access.ts';
import type { Reply } from '../response.ts';
import type { RequestContext } from '../router.ts';

/**
 * GET /api/v1/dashboard/organization/get-events-in-org: the organization's events as their producers sent them,
 * newest first, streamed (contract: Endpoints, get-events-in-org). Throws Problem `not_found` where the deployment
 * is self-hosted: the endpoint belongs to the cloud.
 */
export function organizationEventsHandler(readLegacy: LegacyReader, selfHosted: boolean) {
  return async (context: RequestContext, { organization }: SessionCaller): Promise<Reply> => {
    if (selfHosted) throw new Problem('not_found', 'There is nothing at this address.');
    const request = readLegacyRequest((name) => context.first(name));
    return { status: 200, stream: await readLegacy(organization.id, request, context.signal) };
  };
}
