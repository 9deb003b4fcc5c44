import { readPageRequest } from '../../read/filter.ts';
import type { PageReader } from '../../read/page.ts';
import { type OrganizationLookup, organizationOfReader } from '../authenticate.ts';
import type { KeyHandler } from '../endpoint.ts';
import { replyOf } from '../response.ts';

/** GET /api/v1/audit: a page of the organization's events, newest first (contract: Read, GET audit). */
export function auditHandler(readPage: PageReader, organizationOf: OrganizationLookup): KeyHandler {
  return async (context, { key }) => {
    const organization = organizationOfReader(key, organizationOf);
    const request = readPageRequest((name) => context.first(name), organization);
    return replyOf(await readPage(organization.id, request, context.signal));
  };
}
