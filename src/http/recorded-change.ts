import { Problem } from '../base/errors/problem.ts';
import { type Change, type EventActor, eventOfChange, userActor } from '../control/change-events.ts';
import type { EndpointDeps } from './deps.ts';
import type { SessionCaller } from './endpoint.ts';
import { limits } from './limits.ts';
import type { RequestContext } from './request-context.ts';
import { selfAuditOrigin } from './self-audit.ts';

/**
 * Makes a change on behalf of a user, or of a program; `changesOf` tells what of it belongs into the organization's audit events, which
 * is nothing where nothing changed. The change is refused where changes cannot be recorded; once this resolves it is
 * recorded and holds in this process. Rejects with Problem `unavailable` where it was made and only its record or its
 * effect in this process has to wait: what the change gives access to, such as a new key, is then not handed out.
 */
export async function recordedChange<T>(
  { selfAudit, directory }: Pick<EndpointDeps, 'selfAudit' | 'directory'>,
  context: RequestContext,
  by: Pick<SessionCaller, 'user'> | { readonly actor: EventActor },
  change: () => Promise<T>,
  changesOf: (made: T) => readonly Change[],
): Promise<T> {
  await selfAudit.requireRecordable();
  const made = await change();
  const origin = selfAuditOrigin(context);
  const actor = 'user' in by ? userActor(by.user) : by.actor;
  const outcomes = await Promise.allSettled([
    ...changesOf(made).map((one) => selfAudit.recordAfter(eventOfChange(one, actor), origin)),
    // A change that is not recorded must hold all the same: it may have ended somebody's access.
    refresh(directory),
  ]);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return made;
}

async function refresh(directory: EndpointDeps['directory']): Promise<void> {
  try {
    await directory.refresh();
  } catch (cause) {
    const detail = 'This was done and is recorded; it will hold here as soon as the storage answers again.';
    const options = { retryAfterSeconds: limits.engineRetryAfterSeconds, cause };
    throw new Problem('unavailable', detail, options);
  }
}
