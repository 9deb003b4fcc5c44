import { readPageRequest } from '../../read/filter.ts';
import type { PageReader } from '../../read/page.ts';
import type { KeyCaller } from '../endpoint.ts';
import { unauthorizedKey } from '../authenticate.ts';
import { type Reply, replyOf } from '../response.ts';
import type { RequestContext } from '../router.ts';
import type { OrganizationLookup } from './ingest.ts';

/** GET /api/v1/audit: a page of the organization's events, newest first (contract: Read, GET audit). */
export function auditHandler(readPage: PageReader, organizationOf: OrganizationLookup) {
  return async (context: RequestContext, { key }: KeyCaller): Promise<Reply> => {
    const organization = organizationOf(key.organizationId ?? '');
    if (organization === undefined) throw unauthorizedKey();
    const request = readPageRequest((name) => context.first(name), organization);
    const page = await readPage(organization.id, request, context.signal);
    return replyOf(page);
  };
}
