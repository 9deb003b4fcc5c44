import { type EventActor, userActor } from '../control/change-events.ts';
import type { Decide } from '../control/decision.ts';
import type { EndpointDeps } from './deps.ts';
import type { SessionCaller } from './endpoint.ts';
import type { RequestContext } from './request-context.ts';
import { selfAuditOrigin } from './self-audit.ts';

/**
 * Once this resolves, the change is in effect and its events are durable. Rejects with EngineError if nothing
 * changed, and with Problem `unavailable` if the result is unknown.
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
