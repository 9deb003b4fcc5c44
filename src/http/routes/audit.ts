import type { PageReader } from '../../read/page.ts';
import { readPageRequest } from '../../read/filter.ts';
import { hasScope, type KeyCheck, unauthorizedKey } from '../authenticate.ts';
import type { Handler } from '../router.ts';

/** GET /api/v1/audit: a page of the organization's events, newest first (contract: Endpoints, GET audit). */
export function auditRoute(checkKey: KeyCheck, readPage: PageReader): Handler {
  return async (context) => {
    const key = await checkKey(context);
    const organization = key.organizationId;
    if (organization === undefined || !hasScope(key, 'read')) throw unauthorizedKey();
    const request = readPageRequest((name) => context.first(name), organization);
    const page = await readPage(organization, request, context.signal);
    if (page.body !== undefined) return { status: 200, body: page.body };
    return { status: 200, stream: page.stream };
  };
}
