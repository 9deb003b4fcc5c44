import { type EventActor, userActor } from '../control/change-events.ts';
import type { Decide } from '../control/decision.ts';
import type { EndpointDeps } from './deps.ts';
import type { SessionCaller } from './endpoint.ts';
import type { RequestContext } from './request-context.ts';
import { selfAuditOrigin } from './self-audit.ts';

/**
 * Makes a change on behalf of a user, or of a program. Once this resolves it holds here and its events cannot be lost. Rejects
 * with EngineError where nothing was changed, and with Problem `unavailable` where nobody can tell yet.
 */
export function recordedChange<T>(
  { directory }: Pick<EndpointDeps, 'directory'>,
  context: RequestContext,
  by: Pick<SessionCaller, 'user'> | { readonly actor: EventActor },
  decide: Decide<T>,
): Promise<T> {
  const actor = 'user' in by ? userActor(by.user) : by.actor;
  return directory.change({ actor, origin: selfAuditOrigin(context) }, decide);
}
