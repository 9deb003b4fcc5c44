import { limits } from './limits.ts';
import { Problem } from '../base/problem.ts';
import { type Change, eventOfChange, userActor } from '../control/change-events.ts';
import type { Directory } from '../control/directory.ts';
import type { SessionCaller } from './endpoint.ts';
import type { RequestContext } from './router.ts';
import { type Trail, trailOrigin } from './trail.ts';

export interface ChangeDeps {
  readonly trail: Trail;
  readonly directory: Pick<Directory, 'refresh'>;
}

/** What a change came to, and what of it belongs into the organization's audit events: nothing where nothing changed. */
export interface Made<T> {
  readonly result: T;
  readonly changes: readonly Change[];
}

/**
 * Makes a change on behalf of a user. It is refused where changes cannot be recorded; once this resolves it is
 * recorded and holds in this process. Rejects with Problem `unavailable` where it was made and only its record or its
 * effect in this process has to wait: what the change gives access to, such as a new key, is then not handed out.
 */
export async function recordedChange<T>(
  { trail, directory }: ChangeDeps,
  context: RequestContext,
  { user }: Pick<SessionCaller, 'user'>,
  change: () => Promise<Made<T>>,
): Promise<T> {
  await trail.requireRecordable();
  const { result, changes } = await change();
  const origin = trailOrigin(context);
  const outcomes = await Promise.allSettled([
    ...changes.map((one) => trail.recordAfter(eventOfChange(one, userActor(user)), origin)),
    // A change that is not recorded must hold all the same: it may have ended somebody's access.
    takenOver(directory),
  ]);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return result;
}

async function takenOver(directory: ChangeDeps['directory']): Promise<void> {
  try {
    await directory.refresh();
  } catch (cause) {
    const detail = 'This was done and is recorded; it will hold here as soon as the storage answers again.';
    const options = { retryAfterSeconds: limits.engineRetryAfterSeconds, cause };
    throw new Problem('unavailable', detail, options);
  }
}
