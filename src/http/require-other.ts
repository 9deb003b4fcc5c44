import { Problem } from '../base/errors/problem.ts';
import type { SessionCaller } from './endpoint.ts';
import type { RequestContext } from './request-context.ts';

/**
 * The id in the path, which must not be the caller's own. Throws Problem `forbidden`: one's own password is changed with
 * the current one, or whoever finds an open session could keep the account.
 */
export function requireOther(context: RequestContext, { user }: Pick<SessionCaller, 'user'>): string {
  const id = context.parameter('id');
  if (id.toLowerCase() !== user.id) return id;
  const detail = 'Your own password is changed with the current one, at /api/v1/portal/password.';
  throw new Problem('forbidden', detail);
}
