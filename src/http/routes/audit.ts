import { readPageRequest } from '../../read/filter.ts';
import type { PageReader } from '../../read/page.ts';
import type { KeyCaller } from '../access.ts';
import { unauthorizedKey } from '../authenticate.ts';
import { type Reply, replyOf } from '../response.ts';
import type { RequestContext } from '../router.ts';

/** GET /api/v1/audit: a page of the organization's events, newest first (contract: Read, GET audit). */
export function auditHandler(readPage: PageReader) {
  return async (context: RequestContext, { key }: KeyCaller): Promise<Reply> => {
    if (key.organizationId === undefined) throw unauthorizedKey();
    const request = readPageRequest((name) => context.first(name), key.organizationId);
    const page = await readPage(key.organizationId, request, context.signal);
    return replyOf(page);
  };
}
